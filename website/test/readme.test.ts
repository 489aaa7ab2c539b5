// The README: its generated parts are what the stored results give, and its commands exist.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from 'vitest';
import {stale} from '../readme';
import {claimsText, ROWS, splice, tableText} from '../readme/text';
import type {Claim} from '../src/generated/records';
import type {MatrixRow} from '../src/lib/matrix';

const ROOT = path.resolve(__dirname, '..', '..');
const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');

test('chart, claims and table are those of the stored results: otherwise run make readme', () => {
  expect(stale()).toEqual([]);
});

test('each target of make that the README names exists', () => {
  const makefile = readFileSync(path.join(ROOT, 'Makefile'), 'utf8');
  const targets = [...readme.matchAll(/\bmake ([a-z-]+)/g)].map((match) => match[1]);
  expect(targets.length).toBeGreaterThan(3);
  for (const target of targets) expect(makefile, target).toMatch(new RegExp(`^${target}:`, 'm'));
});

test('the README is short, and has at most eight rows of figures', () => {
  expect(ROWS.length).toBeLessThanOrEqual(8);
  expect(readme.split('\n').length).toBeLessThan(180);
  expect(readme).not.toMatch(/not measured(?! since)|not_measured/);
});

const claim = (key: string, change: Partial<Claim>): Claim =>
  ({key, statement: `What ${key} says.`, verdict: 'holds', version: '0.2.0', ...change}) as Claim;

test('claims come with the version whose runs decide them, an earlier one where the newest has no verdict', () => {
  const earlier = {version: '0.1.0', verdict: 'holds', reason: '', machines: []} as Claim['earlier'];
  const text = claimsText([
    claim('rival-throughput-depth-16', {verdict: 'not_measured', version: undefined, ...(earlier ? {earlier} : {})}),
    claim('durable-mixed', {}),
    claim('memory-per-key-against-redis', {verdict: 'not_measured', version: undefined}),
    claim('some', {verdict: 'fails'}),
    claim('another', {verdict: 'fails'}),
  ]);
  expect(text.split('\n').map((line) => line.split(': ')[0])).toEqual([
    '- **held in 0.1.0, not measured since**',
    '- **holds in 0.2.0**',
    '- **fails in 0.2.0**',
    '',
    '5 claims',
  ]);
});

test('a row names the best rival, by the direction of its metric', () => {
  const cell = (target: string, median: number) => ({
    target,
    title: target,
    trials: [],
    measurement: {metric: 'latency_ns_p50', unit: 'ns', direction: 'lower', median, low: median, high: median, spread: 'range', n: 3} as const,
  });
  const row: MatrixRow = {
    key: 'one-connection',
    table: 'server',
    title: 'One connection',
    point: 'GET 64 B, 1 client',
    origin: {version: '0.1.0', machineKey: 'here', machine: 'A machine', href: '/benchmarks/0.1.0/here/wire-single/'},
    cells: [cell('PlumbKV', 70_000), cell('Slow', 90_000), cell('Quick', 80_000)],
    failed: [],
  };
  expect(tableText([row])).toContain('| 70 | 80 (Quick) |  | 0.1.0, 3 |');
});

test('only the text between the markers is replaced, and a document without them is refused', () => {
  const document = 'a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n';
  const spliced = splice(document, 'x', 'new');
  expect(spliced).toBe('a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb\n');
  expect(splice(spliced, 'x', 'new')).toBe(spliced);
  expect(() => splice(document, 'y', 'new')).toThrow('<!-- y:begin -->');
  expect(() => splice(`${document}${document}`, 'x', 'new')).toThrow();
});
