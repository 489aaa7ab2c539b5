// Code of a document that is taken from the repository: "```rust from=PATH#N" is the N-th block of that
// language in PATH, a Markdown file or the doc comments of a Rust file, which the tests compile.
import {readFileSync} from 'node:fs';
import path from 'node:path';

interface Node {
  type: string;
  lang?: string | null;
  meta?: string | null;
  value?: string;
  children?: Node[];
}

/** Remark plugin: fills the blocks that name their source. */
export function snippets({root}: {root: string}) {
  return (tree: Node): void => fill(tree, (file) => readFileSync(path.join(root, file), 'utf8'));
}

function fill(node: Node, read: (file: string) => string): void {
  const [, file, number] = /(?:^|\s)from=([^\s#]+)#(\d+)/.exec(node.meta ?? '') ?? [];
  if (node.type === 'code' && file !== undefined) node.value = snippet(read(file), node.lang ?? '', Number(number), file);
  for (const child of node.children ?? []) fill(child, read);
}

/** The `number`-th block of `lang` in a text, counted from 1. */
export function snippet(text: string, lang: string, number: number, file: string): string {
  const lines = text.split('\n');
  // In doc comments a block without a language is Rust, and lines that begin with `# ` are hidden.
  const inComments = file.endsWith('.rs');
  const plain = inComments ? lines.filter((line) => /^\s*\/\/[!/]/.test(line)).map((line) => line.replace(/^\s*\/\/[!/] ?/, '')) : lines;
  const blocks: string[][] = [];
  let block: string[] | undefined;
  let wanted = false;
  for (const line of plain) {
    const [, fence] = /^```(.*)$/.exec(line) ?? [];
    if (fence === undefined) {
      if (wanted && !(inComments && /^#( |$)/.test(line))) block?.push(line);
    } else if (block) {
      if (wanted) blocks.push(block);
      block = undefined;
    } else {
      block = [];
      wanted = fence.trim() === lang || (inComments && fence === '');
    }
  }
  const found = blocks[number - 1];
  if (!found) throw new Error(`${file} has ${blocks.length} blocks of ${lang}, and a document wants number ${number}`);
  return found.join('\n').trim();
}
