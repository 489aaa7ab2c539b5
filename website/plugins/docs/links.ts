// Links of a document: to another document as they are, to any other file to its place on GitHub, and
// from the site's public address to the page of this very build.
import path from 'node:path';
import {entryOf} from './catalogue';

interface Node {
  type: string;
  url?: string;
  children?: Node[];
}

interface Options {
  /** Address of the repository on GitHub. */
  repository: string;
  /** Root of the checkout. */
  root: string;
  /** Where the site is published, with a slash at the end. */
  site: string;
}

/** Remark plugin: relative links that leave the catalogue lead to `main` in the repository. */
export function repositoryLinks({repository, root, site}: Options) {
  return (tree: Node, file: {path?: string}): void => {
    const folder = path.dirname(path.relative(root, file.path ?? root));
    visit(tree, (node) => {
      if (node.url) node.url = target(node.url, folder, {repository, site});
    });
  };
}

/** Where a link of a document in `folder` leads: unchanged if it leads to a document or to another site. */
export function target(url: string, folder: string, {repository, site}: Omit<Options, 'root'>): string {
  if (url.startsWith(site)) return `/${url.slice(site.length)}`;
  const [, relative = '', anchor = ''] = /^((?![a-z]+:|\/|#)[^#?]*)(#.*)?$/i.exec(url) ?? [];
  if (relative === '') return url;
  const wanted = path.posix.normalize(path.posix.join(folder.replaceAll(path.sep, '/'), relative)).replace(/\/$/, '');
  if (entryOf(wanted)) return url;
  // A folder has no extension; GitHub redirects where this guess is wrong.
  const kind = path.posix.extname(wanted) === '' ? 'tree' : 'blob';
  return `${repository}/${kind}/main/${wanted}${anchor}`;
}

function visit(node: Node, use: (node: Node) => void): void {
  if (node.type === 'link' || node.type === 'definition') use(node);
  for (const child of node.children ?? []) visit(child, use);
}
