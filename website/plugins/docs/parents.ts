// Parent routes of the documents. With addresses below two folders Docusaurus gives them one parent at the
// site's base, which would match every other page as well; here each folder has a parent of its own.
import type {RouteConfig} from '@docusaurus/types';

/** Folders that the documents are in. */
const FOLDERS = ['docs/', 'benchmarks/method/'];

/** The parent at `baseUrl` as one parent for each folder; any other route as it is. */
export function parents(route: RouteConfig, baseUrl: string): RouteConfig[] {
  if (route.path !== baseUrl || !route.routes) return [route];
  return FOLDERS.map((folder) => below(route, `${baseUrl}${folder}`));
}

function below(route: RouteConfig, path: string): RouteConfig {
  const routes = route.routes?.flatMap((inner) => {
    if (inner.routes) return [below(inner, path)];
    return inner.path.startsWith(path) ? [inner] : [];
  });
  return {...route, path, ...(routes ? {routes} : {})};
}
