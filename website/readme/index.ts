// Writes the generated parts of the README from the stored results: `npm run readme`, or `npm run readme -- --check`.
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {loadResults} from '../plugins/benchmarks/load';
import {frontPage, published} from '../plugins/benchmarks/overview/data';
import {matrix} from '../plugins/benchmarks/overview/matrix';
import {Validator} from '../plugins/benchmarks/validate';
import {chart, type Panel, type Scheme} from './chart';
import {captionText, claimsText, splice, tableText} from './text';

const ROOT = path.resolve(__dirname, '..', '..');
const SCHEMES: Scheme[] = ['light', 'dark'];

/** Every generated file by its path from the root of the repository. */
export function generated(): Map<string, string> {
  const results = loadResults(path.join(ROOT, 'results'), new Validator(path.join(ROOT, 'bench-runner', 'schema')));
  const {server, store} = frontPage(results);
  const panels: Panel[] = [
    ...(server ? [{title: 'Server: pipelined requests', row: server}] : []),
    ...(store ? [{title: 'Embedded store: reads and writes', row: store}] : []),
  ];
  const rows = matrix(published(results)).flatMap((table) => table.rows);
  const files = new Map(SCHEMES.map((scheme) => [fileOf(scheme), chart(panels, scheme)]));
  const parts: [string, string][] = [
    ['chart', picture(captionText(panels))],
    ['claims', claimsText(results.claims?.claims ?? [])],
    ['figures', tableText(rows)],
  ];
  const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  files.set('README.md', parts.reduce((text, [name, part]) => splice(text, name, part), readme));
  return files;
}

function fileOf(scheme: Scheme): string {
  return `.github/readme/chart-${scheme}.svg`;
}

function picture(alt: string): string {
  return `<picture>
  <source media="(prefers-color-scheme: dark)" srcset="${fileOf('dark')}">
  <img src="${fileOf('light')}" alt="${alt}">
</picture>`;
}

/** Files that differ from what the stored results give. */
export function stale(): string[] {
  return [...generated()].filter(([file, text]) => !existsSync(path.join(ROOT, file)) || readFileSync(path.join(ROOT, file), 'utf8') !== text).map(([file]) => file);
}

function main(isCheck: boolean): void {
  const files = stale();
  if (isCheck) {
    for (const file of files) process.stderr.write(`readme: ${file} is not what the stored results give: run 'make readme'\n`);
    process.exitCode = files.length > 0 ? 1 : 0;
    return;
  }
  for (const [file, text] of generated()) {
    if (!files.includes(file)) continue;
    mkdirSync(path.dirname(path.join(ROOT, file)), {recursive: true});
    writeFileSync(path.join(ROOT, file), text);
    process.stdout.write(`wrote ${file}\n`);
  }
}

if (require.main === module) main(process.argv.includes('--check'));
