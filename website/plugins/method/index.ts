// How do the runner's own documents become pages? As they are: links that leave their folder lead to the repository, and
// the methodology stands at the front.
import path from 'node:path';
import type {ParseFrontMatter} from '@docusaurus/types';

const DOCS = path.join('bench-runner', 'docs');

/** The methodology is the first page of its folder; nothing in the file needs to know. */
export const methodFrontMatter: ParseFrontMatter = async (params) => {
  const parsed = await params.defaultParseFrontMatter(params);
  const first = params.filePath.endsWith(path.join(DOCS, 'methodology.md'));
  return first ? {...parsed, frontMatter: {...parsed.frontMatter, slug: '/'}} : parsed;
};

interface Node {
  type: string;
  url?: string;
  children?: Node[];
}

/** Remark: a relative link to anything but a document of the folder leads to that file in the repository. */
export function repositoryLinks({repository}: {repository: string}) {
  return (tree: Node, file: {path?: string}): void => {
    const at = file.path ?? '';
    const root = at.slice(0, at.lastIndexOf(DOCS));
    visit(tree, (node) => {
      if (!node.url || !/^\.{0,2}[\w./-]+$/.test(node.url) || node.url.startsWith('/')) return;
      const wanted = path.resolve(path.dirname(at), node.url);
      if (wanted.endsWith('.md') && path.dirname(wanted) === path.join(root, DOCS)) return;
      node.url = `${repository}/blob/main/${path.relative(root, wanted).replaceAll(path.sep, '/')}`;
    });
  };
}

function visit(node: Node, use: (node: Node) => void): void {
  if (node.type === 'link' || node.type === 'definition') use(node);
  for (const child of node.children ?? []) visit(child, use);
}
