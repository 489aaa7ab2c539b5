// Pivots and paired ratios: the same rule as the runner's, on the cells that are stored.
import {expect, test} from 'vitest';
import {pivots} from '../src/lib/pivots';
import {intervalRank, pairedRatio} from '../src/lib/paired';
import {pageScenario} from '../src/lib/record';
import {fixtureRun} from './fixture';
import {cell, scenario} from './records';
import {storedScenarios} from './stored';

const {run} = fixtureRun();

test('the interval of a median has the ranks of the runner', () => {
  expect([1, 3, 5, 6, 9, 16, 50].map(intervalRank)).toEqual([undefined, undefined, undefined, 1, 2, 4, 18]);
});

test('ratios of stored cells are those that the runner stored', () => {
  let compared = 0;
  for (const {name, record} of storedScenarios()) {
    for (const stored of record.ratios.filter(({operation}) => operation === undefined).slice(0, 40)) {
      const [above, below] = [stored.numerator, stored.denominator].map((key) => record.cells.find((one) => one.key === key));
      const made = above && below && pairedRatio(above, below, stored.metric);
      if (!made) continue;
      compared += 1;
      expect([name, made.n, made.spread]).toEqual([name, stored.n, stored.spread]);
      for (const end of ['median', 'low', 'high'] as const) expect(made[end] / stored[end], `${name} ${stored.metric}`).toBeCloseTo(1, 6);
    }
  }
  expect(compared).toBeGreaterThan(50);
});

const read = (cache: number, ops: number) =>
  cell({
    target: 'plumbkv',
    label: `Random reads, ${cache} cache`,
    axes: {operation: 'read_random', keys: 1000, cache_bytes: cache},
    values: {ops_per_second: ops, latency_ns_mean: 1e9 / ops, rss_anonymous_bytes: 1},
  });

test('caches are beside each other with their speed-up over the smallest', () => {
  const record = pageScenario(scenario('read-random', 'Reads', [read(0, 100_000), read(2 ** 26, 150_000), read(2 ** 28, 300_000)], [], 'embedded'));
  const [pivot] = pivots(record, run);
  expect(pivot?.table.columns.map(({head, unit}) => `${head} ${unit}`)).toEqual(['Throughput k\u00a0ops/s', 'Mean µs', 'Speed-up ×']);
  expect(pivot?.table.groups[0]?.rows.map(({label, figures}) => [label, figures.at(-1)?.value])).toEqual([
    ['no cache', undefined],
    ['64\u00a0MiB cache', '1.50'],
    ['256\u00a0MiB cache', '3.00'],
  ]);
});

test('reads before and after a compaction are one row per engine', () => {
  const at = (operation: string, values: Record<string, number>) => cell({target: 'plumbkv', label: operation, axes: {operation, keys: 1000}, values: {...values, rss_anonymous_bytes: 1}});
  const cells = [at('read_before', {ops_per_second: 100_000}), at('compact', {compact_ms: 1200}), at('read_after', {ops_per_second: 130_000})];
  const [pivot] = pivots(pageScenario(scenario('compaction', 'Compaction', cells, [], 'embedded')), run);
  expect(pivot?.table.columns.map(({head}) => head)).toEqual(['Before', 'After', 'After to before', 'Compaction']);
  expect(pivot?.table.groups[0]?.rows[0]?.figures.map((one) => one?.value)).toEqual(['100', '130', '1.30', '1.20']);
});

test('reads with keys of five families are beside the same reads with keys of one', () => {
  const at = (cpu: number, more: Record<string, unknown>) =>
    cell({target: 'plumbkv', label: 'Random reads', axes: {operation: 'read_random', keys: 1000, ...more}, values: {server_cpu_ns_per_op: cpu, rss_anonymous_bytes: 1}});
  const alone = at(3000, {key_schema: 'five_families', cache_bytes: 1});
  const record = pageScenario(scenario('read-families', 'Families', [at(1000, {}), at(1200, {key_schema: 'five_families'}), alone], [], 'embedded'));
  const [pivot] = pivots(record, run);
  expect(pivot?.id).toBe('key-families');
  expect(pivot?.table.columns.map(({head}) => head)).toEqual(['CPU per read, one family', 'CPU per read, five families', 'Five to one']);
  expect(pivot?.table.groups.flatMap(({rows}) => rows.map(({figures}) => figures.map((one) => one?.value)))).toEqual([['1.00', '1.20', '1.20']]);
});
