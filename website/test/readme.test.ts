// The README: its generated parts are what the stored results give, and its commands exist.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from 'vitest';
import {stale} from '../readme';
import {claimsText, ROWS, splice, tableText} from '../readme/text';
import type {Claim} from '../src/generated/records';
import type {MatrixCell, MatrixRow} from '../src/lib/matrix';

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
  // What is not measured has the verdict of an earlier version beside it.
  const told = readme.replaceAll(/(held|failed) in \d+\.\d+\.\d+, not measured since\*\*/g, '').replace('; not measured since an earlier version: ', '');
  expect(told).not.toMatch(/not measured|not_measured/);
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
  const verdict = (factor: MatrixCell['factor'], origin?: MatrixCell['origin']) => {
    const [ours, , quick] = row.cells as [MatrixCell, MatrixCell, MatrixCell];
    return tableText([{...row, cells: [ours, {...quick, ...(factor ? {factor} : {}), ...(origin ? {origin} : {})}]}]).split('\n')[2]?.split(' | ')[3];
  };
  const factor = {median: 1.14, low: 1.1, high: 1.2, spread: 'interval', n: 9} as const;
  expect(verdict(factor)).toBe('**1.14×**');
  expect(verdict({...factor, isLowerBound: true})).toBe('≥1.14×');
  expect(verdict({...factor, low: 0.9})).toBe('undecided');
  expect(verdict({...factor, low: 0.9, isLowerBound: true})).toBe('undecided');
  expect(verdict({...factor, spread: 'range', n: 1})).toBe('no verdict');
  // A figure of another run is no rival.
  expect(verdict(factor, {...row.origin, version: '0.0.9'})).toBe('');
});

test('only the text between the markers is replaced, and a document without them is refused', () => {
  const document = 'a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n';
  const spliced = splice(document, 'x', 'new');
  expect(spliced).toBe('a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb\n');
  expect(splice(spliced, 'x', 'new')).toBe(spliced);
  expect(() => splice(document, 'y', 'new')).toThrow('<!-- y:begin -->');
  expect(() => splice(`${document}${document}`, 'x', 'new')).toThrow();
});
