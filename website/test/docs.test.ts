// Documents of the repository as pages: which files, which links, which code.
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {describe, expect, it} from 'vitest';
import {ENTRIES} from '../plugins/docs/catalogue';
import {headings} from '../plugins/docs/headings';
import {target} from '../plugins/docs/links';
import {snippet} from '../plugins/docs/snippets';

const ROOT = path.resolve(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

describe('the catalogue', () => {
  it('lists files that exist, each once, at addresses of their own', () => {
    for (const {file} of ENTRIES) expect(existsSync(path.join(ROOT, file)), file).toBe(true);
    expect(new Set(ENTRIES.map(({file}) => file)).size).toBe(ENTRIES.length);
    expect(new Set(ENTRIES.map(({slug}) => slug)).size).toBe(ENTRIES.length);
    for (const {slug} of ENTRIES) expect(slug).toMatch(/^\/(docs|docs\/commands|benchmarks\/method)\/([a-z-]+\/)?$/);
  });

  it('leaves no document of the documented folders out', () => {
    const folders = ['bench-runner/docs', 'engine/server/docs', 'engine/store/docs', 'website/docs'];
    const found = folders.flatMap((folder) => readdirSync(path.join(ROOT, folder)).map((name) => `${folder}/${name}`));
    const listed = ENTRIES.map(({file}) => file);
    expect(found.filter((file) => /\.mdx?$/.test(file) && !listed.includes(file))).toEqual([]);
  });

  it('keeps the addresses of earlier versions', () => {
    const slugs = ENTRIES.map(({slug}) => slug);
    const guides = ['getting-started', 'reading-the-numbers', 'what-is-measured', 'how-it-is-measured'];
    const method = ['', 'scenarios/', 'statistics/', 'bias/', 'claims/', 'guarding/', 'machines/', 'database/', 'glossary/'];
    expect(slugs).toEqual(expect.arrayContaining([...guides.map((name) => `/docs/${name}/`), ...method.map((name) => `/benchmarks/method/${name}`)]));
  });
});

describe('a link of a document', () => {
  const options = {repository: 'https://example.org/r', site: 'https://pages.example.org/r/'};
  it.each([
    ['statistics.md#blocks', 'bench-runner/docs', 'statistics.md#blocks'],
    ['../drivers/README.md', 'bench-runner/docs', '../drivers/README.md'],
    ['../scenarios', 'bench-runner/docs', 'https://example.org/r/tree/main/bench-runner/scenarios'],
    ['../gate.toml#L3', 'bench-runner/docs', 'https://example.org/r/blob/main/bench-runner/gate.toml#L3'],
    ['../../.github/workflows/ci.yml', 'bench-runner/docs', 'https://example.org/r/blob/main/.github/workflows/ci.yml'],
    ['CONTRIBUTING.md', '.', 'https://example.org/r/blob/main/CONTRIBUTING.md'],
    ['https://pages.example.org/r/benchmarks/trends/', 'bench-runner/docs', '/benchmarks/trends/'],
    ['https://example.com/x.md', 'bench-runner/docs', 'https://example.com/x.md'],
    ['/benchmarks/', 'website/docs', '/benchmarks/'],
    ['#limits', 'engine/server', '#limits'],
    ['mailto:a@example.org', 'engine/server', 'mailto:a@example.org'],
  ])('%s in %s leads to %s', (url, folder, expected) => {
    expect(target(url, folder, options)).toBe(expected);
  });
});

it('has no gap between its title and its sections', () => {
  const tree = (depths: number[]) => ({type: 'root', children: depths.map((depth) => ({type: 'heading', depth}))});
  const after = (depths: number[]) => {
    const document = tree(depths);
    headings()(document);
    return document.children.map(({depth}) => depth);
  };
  expect(after([1, 3, 3, 4])).toEqual([1, 2, 2, 3]);
  expect(after([1, 2, 3, 3])).toEqual([1, 2, 3, 3]);
  expect(after([1])).toEqual([1]);
});

describe('code from the repository', () => {
  it('is the block of that number, without hidden lines of doc comments', () => {
    const rust = ['//! ```', '//! # fn main() {', '//! let a = 1;', '//! # }', '//! ```', '//! ```text', '//! not this', '//! ```', '//! ```', '//! two', '//! ```'].join('\n');
    expect(snippet(rust, 'rust', 1, 'lib.rs')).toBe('let a = 1;');
    expect(snippet(rust, 'rust', 2, 'lib.rs')).toBe('two');
    expect(snippet('```rust\nfn main() {}\n# no comment\n```\n', 'rust', 1, 'README.md')).toBe('fn main() {}\n# no comment');
    expect(() => snippet('no code', 'rust', 1, 'README.md')).toThrow('0 blocks of rust');
  });

  it('exists wherever a document takes it from', () => {
    const wanted = ENTRIES.flatMap(({file}) => [...read(file).matchAll(/^```(\w+) from=(\S+)#(\d+)/gm)]);
    expect(wanted.length).toBeGreaterThan(1);
    for (const [, lang = '', from = '', number] of wanted) expect(snippet(read(from), lang, Number(number), from)).toContain('Database::open');
  });
});

it('explains columns that tables have, under the very heads of the tables', () => {
  const heads = read('website/src/lib/metrics.ts');
  const explained = [...read('website/docs/reading-the-numbers.mdx').matchAll(/<MetricTable[^/]*columns=\{\{([^}]*)\}\}/g)].flatMap(([, columns = '']) =>
    [...columns.matchAll(/'?([\w ]+?)'?: '(\w+)'/g)].map(([, head = '', key]) => `{key: '${key}', head: '${head.trim()}'`),
  );
  expect(explained.length).toBeGreaterThan(15);
  expect(explained.filter((entry) => !heads.includes(entry))).toEqual([]);
});
