// Do pages of embedded engines on a disk show what those records have, and pages of older records what they always did?
import {expect, test} from 'vitest';
import type {Measurement} from '../src/generated/records';
import {diskSentence, isDurable, promises, tablesPerLevel} from '../src/lib/durable';
import {findings, headlinePoints} from '../src/lib/finding';
import {checkMetrics, headlineMetrics, resourceMetrics, slimMetrics} from '../src/lib/metrics';
import {type PageScenario, points} from '../src/lib/record';
import {blocks} from '../src/lib/tables';
import {windowFigures} from '../src/lib/windows';
import {fixtureScenario} from './fixture';

const measured = (metric: string, unit: string, median: number): Measurement => ({
  metric,
  unit,
  direction: 'neutral',
  median,
  low: median,
  high: median,
  spread: 'range',
  n: 1,
});

/** The fixture's record as if it were of embedded engines, with some metrics more. */
function embedded(operation: string, more: Measurement[], facts: Record<string, unknown> = {}): ReturnType<typeof fixtureScenario> {
  const {record, run} = fixtureScenario('wire-single');
  const cells = record.cells.map((cell) => ({
    ...cell,
    axes: {...cell.axes, operation},
    measurements: cell.status === 'ok' ? [...cell.measurements, measured('read_bytes_per_op', 'bytes', 2300), ...more] : [],
    trials: cell.trials.map((trial) => ({...trial, facts})),
  }));
  return {record: {...record, cells, scenario: {...record.scenario, kind: 'embedded'}}, run};
}

const heads = (record: PageScenario) => headlineMetrics(record).map(({head}) => head);

test('a record from before the durable store keeps its columns', () => {
  const {record} = embedded('read_random', []);
  expect(isDurable(record)).toBe(false);
  expect(promises(record.cells)).toEqual([]);
  expect(heads(record)).not.toContain('Until settled');
  expect(checkMetrics(record).map(({key}) => key)).toContain('read_bytes_per_op');
});

test('a load shows both rates, its promise and its tables', () => {
  const more = [measured('settled_ops_per_second', '1/s', 250_000), measured('rss_anonymous_bytes', 'bytes', 1e6)];
  const {record, run} = embedded('load', more, {sync_promise: 'survives the process', tables_per_level: [4, 10, 0]});
  expect(isDurable(record)).toBe(true);
  expect(heads(record)).toEqual(expect.arrayContaining(['Throughput', 'Until settled']));
  expect(resourceMetrics(record).map(({head}) => head)).toEqual(expect.arrayContaining(['RSS without files', 'Read per op']));
  expect(checkMetrics(record).map(({key}) => key)).not.toContain('read_bytes_per_op');
  const ok = record.cells.find(({status}) => status === 'ok');
  expect(ok && tablesPerLevel(ok)).toBe('4 in level 0, 10 in level 1');
  expect(promises(record.cells)[0]).toMatchObject({target: 'plumbkv', promise: 'survives the process'});
  expect(blocks(record, run).map(({title, folded}) => [title, folded])).toEqual([['Loads', false]]);
  expect(slimMetrics(record).map(({key}) => key)).toContain('settled_ops_per_second');
});

test('reads have no promise, and what is only loaded for others is folded and represents no scenario', () => {
  const facts = {sync_promise: 'survives the process', tables_per_level: [1]};
  const more = [measured('rss_anonymous_bytes', 'bytes', 1e6)];
  expect(promises(embedded('read_random', more, facts).record.cells)).toEqual([]);
  const {record, run} = embedded('stock', more, facts);
  expect(headlinePoints(points(record, run))).toEqual([]);
  const reads = embedded('read_random', more, facts).record.cells;
  expect(blocks({...record, cells: [...record.cells, ...reads]}, run).map(({title, folded}) => [title, folded])).toEqual([
    ['Reads', false],
    ['Loads of the stored directories', true],
  ]);
});

test('an opening is told by its time', () => {
  const {record, run} = embedded('open', [measured('open_ms', 'ms', 3.2)]);
  const cells = record.cells.map((cell) => ({...cell, measurements: cell.measurements.filter(({metric}) => metric !== 'ops_per_second')}));
  expect(findings({...record, cells}, run).map(({text}) => text).join(' ')).toMatch(/opening time: .*3\.2\d*\sms/);
});

test('memory by the second is drawn without a throughput that nobody counted', () => {
  const {record, run} = embedded('load', [measured('settled_ops_per_second', '1/s', 1)]);
  const windows = [1, 2, 3, 4, 5].map((second) => ({start_ms: (second - 1) * 1000, length_ms: 1000, operations: 0, rss_bytes: second * 1e6}));
  const cells = record.cells.map((cell) => ({...cell, trials: cell.trials.map((trial) => ({...trial, windows}))}));
  expect([...new Set(windowFigures({...record, cells}, run).map(({key}) => key))]).toEqual(['rss']);
});

test('the disk is told where it was measured', () => {
  const {run} = fixtureScenario('wire-single');
  expect(diskSentence(run.environment)).toBeUndefined();
  const told = diskSentence({...run.environment, disk_filesystem: 'ext4', disk_syncs_per_second: 10_234, disk_sync_ns_p50: 88_400});
  expect(told).toMatch(/^10,234 appends per second.*88\sµs, on ext4$/);
});

test('hits of the cache and allocations are columns where they were counted, and a table stays within ten', () => {
  const more = [
    measured('rss_anonymous_bytes', 'bytes', 1e6),
    measured('cache_hit_ratio', 'ratio', 0.5),
    measured('allocations_per_op', 'count', 1.25),
    measured('allocated_bytes_per_op', 'bytes', 300),
    measured('write_amplification_ratio', 'ratio', 1.1),
    measured('disk_bytes', 'bytes', 1e9),
    measured('settled_ops_per_second', '1/s', 1e5),
    measured('settle_ms', 'ms', 12),
  ];
  const {record, run} = embedded('load', more);
  expect(heads(record)).toEqual(expect.arrayContaining(['Block cache hits', 'Allocations per op', 'Allocated per op']));
  expect(heads(record)).toHaveLength(10);
  expect(resourceMetrics(record).map(({head}) => head)).toEqual(expect.arrayContaining(['On disk', 'Peak RSS']));
  const {columns, groups} = blocks(record, run)[0]?.main ?? {columns: [], groups: []};
  const at = columns.findIndex(({head}) => head === 'Block cache hits');
  expect([columns[at]?.unit, groups[0]?.rows[0]?.figures[at]?.value]).toEqual(['%', '50']);
});

test('a second in which a counted load stalls is drawn as nothing, and one without a count is left out', () => {
  const second = (index: number, operations: number) => ({start_ms: index * 1000, length_ms: 1000, operations, rss_bytes: 1e6});
  const figuresOf = (operations: number[]) => {
    const {record, run} = embedded('sustained_write', [measured('rss_anonymous_bytes', 'bytes', 1e6)]);
    const windows = operations.map((count, index) => second(index, count));
    const cells = record.cells.map((cell) => ({...cell, trials: cell.trials.map((trial) => ({...trial, windows}))}));
    return windowFigures({...record, cells}, run);
  };
  const [throughput] = figuresOf([100, 0, 100]);
  expect([throughput?.key, throughput?.series[0]?.points.map(({median}) => median > 0)]).toEqual(['throughput', [true, false, true]]);
  expect(figuresOf([0, 0, 0]).map(({key}) => key)).not.toContain('throughput');
});
