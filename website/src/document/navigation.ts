// Links to documents load the page: a document is HTML of its own, and no script here could make it. A client module, so
// that it holds for every link of the site, whoever wrote it.
import ExecutionEnvironment from '@docusaurus/ExecutionEnvironment';
import {matchPath} from '@docusaurus/router';
import routes from '@generated/routes';

/** Whether the path is that of a document: its route is marked by `plugins/benchmarks/bundles.ts`. */
function isDocument(pathname: string): boolean {
  const route = routes.find(({path, exact = false}) => matchPath(pathname, {path, exact}));
  return route !== undefined && 'isDocument' in route;
}

function onClick(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null;
  if (!link || link.origin !== window.location.origin) return;
  const isWithinPage = link.pathname === window.location.pathname && link.hash !== '';
  // React listens further in, and never hears of it; the browser follows the link.
  if (!isWithinPage && isDocument(link.pathname)) event.stopPropagation();
}

if (ExecutionEnvironment.canUseDOM) document.addEventListener('click', onClick, true);
