// Tables hold what the record holds, failures included, in units that can be read, without empty columns.
import {describe, expect, test} from 'vitest';
import {earlyKeys, refusal, survival} from '../src/lib/cap';
import {lineFigures, percentileFigures, percentileRange} from '../src/lib/figures';
import {fixed} from '../src/lib/format';
import {headlineMetrics, MOST_COLUMNS, resourceMetrics, slimMetrics} from '../src/lib/metrics';
import {partsOf} from '../src/lib/parts';
import {measurement, type PageScenario} from '../src/lib/record';
import {allocatorNote, blocks, checksTable, percentilesAt, spreadNote, type Table} from '../src/lib/tables';
import {isWithinReach} from '../src/lib/units';
import type {Run} from '../src/generated/records';
import {fixtureScenario, withGeneratorBusy} from './fixture';
import {storedScenarios} from './stored';

const main = (record: PageScenario, run: Run): Table => {
  const [block] = blocks(record, run);
  if (!block) throw new Error('no table');
  return block.main;
};

test('every cell of the record has a row, in groups by point', () => {
  const {record, run} = fixtureScenario('wire-single');
  const {groups, columns} = main(record, run);
  expect(groups.flatMap((group) => group.rows)).toHaveLength(record.cells.length);
  expect(columns[0]).toMatchObject({head: 'Throughput', unit: 'k\u00a0ops/s'});
  for (const row of groups.flatMap((group) => group.rows)) if (!row.failure) expect(row.figures).toHaveLength(columns.length);
});

test('no table of a stored version has a column twice', () => {
  for (const {name, record} of storedScenarios())
    for (const metrics of [headlineMetrics(record), resourceMetrics(record), slimMetrics(record)]) {
      const keys = metrics.map(({key}) => key);
      expect(keys, name).toEqual([...new Set(keys)]);
    }
});

test('a row shows the median that is stored', () => {
  const {record, run} = fixtureScenario('wire-single');
  const stored = record.cells.find((cell) => cell.status === 'ok' && cell.target === 'plumbkv' && cell.mode === 'native');
  const median = stored && measurement(stored, 'ops_per_second')?.median;
  const row = main(record, run).groups[0]?.rows[0];
  const shown = Number(row?.figures[0]?.value);
  expect(Math.abs(shown * 1000 - (median ?? 0)) / (median ?? 1)).toBeLessThan(0.05);
});

test('a failed or skipped cell is a row with its reason', () => {
  const {record, run} = fixtureScenario('wire-mixed');
  const cells = record.cells.map((cell, index) => (index === 0 ? {...cell, status: 'skipped' as const, reason: 'no runtime', measurements: []} : cell));
  const rows = main({...record, cells}, run).groups.flatMap((group) => group.rows);
  expect(rows[0]).toMatchObject({failure: 'skipped: no runtime', figures: []});
});

test('the operations of a mix have rows of their own', () => {
  const {record, run} = fixtureScenario('wire-mixed');
  const labels = main(record, run).groups[0]?.rows.map((row) => row.label);
  expect(labels).toContain('… its GETs');
  expect(labels).toContain('… its SETs');
});

test('a generator at its ceiling marks servers, never the ceiling itself', () => {
  const {record, run} = fixtureScenario('wire-single');
  const rows = main(withGeneratorBusy(record, 0.99), run).groups.flatMap((group) => group.rows);
  expect(rows.filter((row) => row.look === 'ours').every((row) => row.atCeiling)).toBe(true);
  expect(rows.filter((row) => row.look === 'ceiling').some((row) => row.atCeiling)).toBe(false);
});

test('the note says range or interval, with how many trials, of fresh what', () => {
  expect(spreadNote({spread: 'range', trials: [3, 3]})).toMatch(/3 trials, each a fresh process.*range/);
  expect(spreadNote({spread: 'interval', trials: [9, 9]}, 'server process')).toMatch(/9 trials, each a fresh server process.*interval.*95/);
  expect(spreadNote({spread: 'interval', trials: [3, 9]})).toMatch(/3 to 9 trials.*below six trials their range/);
  expect(spreadNote({spread: 'range', trials: [1, 1]})).toMatch(/no spread/);
});

test('the checks count replies, hits, misses and errors of all trials', () => {
  const {record, run} = fixtureScenario('wire-single');
  const {columns, groups} = checksTable(record, run);
  expect(columns.slice(0, 6).map(({head}) => head)).toEqual(['Trials', 'Measured', 'Replies checked', 'Hits', 'Misses', 'Errors']);
  const cell = record.cells[0];
  const operations = cell?.trials.reduce((sum, trial) => sum + trial.counts.operations, 0) ?? 0;
  expect(groups[0]?.rows[0]?.figures[2]?.value).toBe(fixed(operations, 0));
});

test('throughput lines run along the axis that varies, with every trial', () => {
  const {record, run} = fixtureScenario('wire-concurrency');
  const [first] = lineFigures(record, run);
  expect(first?.axis).toBe('clients');
  expect(first?.xs).toEqual([1, 50, 1000]);
  expect(first?.series[0]).toMatchObject({look: 'ours'});
  expect(first?.series[0]?.points.every((point) => point.trials.length === 3)).toBe(true);
  expect(lineFigures(fixtureScenario('wire-pipeline').record, run)[0]?.axis).toBe('pipeline');
  expect(lineFigures(fixtureScenario('wire-single').record, run)).toEqual([]);
});

test('response-time charts share axes that hold every curve', () => {
  const {record, run} = fixtureScenario('wire-mixed');
  const figures = percentileFigures(record, run);
  const {minUs, maxUs} = percentileRange(figures);
  const drawn = figures.flatMap(({series}) => series.flatMap((s) => s.trials.map((t) => t.us)));
  expect(drawn.length).toBeGreaterThan(0);
  expect(drawn.every((us) => us >= minUs && us <= maxUs)).toBe(true);
});

test('a memory-cap cell tells survival, early keys and the refusal', () => {
  const {record} = fixtureScenario('memory-cap');
  const cell = record.cells.find((candidate) => candidate.axes.operation === 'fill' && candidate.status === 'ok');
  if (!cell) throw new Error('the fixture holds no filled cell');
  expect(survival(cell)[0]).toHaveLength(40);
  expect(earlyKeys(cell).map(({key}) => key)).toEqual(['1', '2', '3', '10', '50', '100']);
  expect(earlyKeys(cell).every(({gone, looked}) => gone <= looked && looked === 3)).toBe(true);
  expect(refusal(cell)).toMatchObject({reply: expect.stringContaining('OOM')});
});

test('allocators are said once, not in every row', () => {
  const {run} = fixtureScenario('wire-single');
  const [first] = run.targets;
  if (!first) throw new Error('no target');
  const target = (title: string, allocator: string) => ({...first, title, allocator});
  expect(allocatorNote([target('A 1', 'libc'), target('B 2', 'libc')])).toBe('Allocator of all: libc.');
  expect(allocatorNote([target('A 1 (x)', 'libc'), target('B 2', 'jemalloc')])).toBe('Allocators: libc (A 1); jemalloc (B 2).');
  expect(main(fixtureScenario('wire-single').record, run).groups[0]?.rows[0]).not.toHaveProperty('detail');
});

test('percentiles at 50 and 100 clients need both', () => {
  const {record, run} = fixtureScenario('wire-concurrency');
  expect(percentilesAt(record, run, [50, 100])).toBeUndefined();
  expect(percentilesAt(record, run, [50, 1000])?.columns.map(({head}) => head)).toEqual(['mean', 'p50', 'p90', 'p95', 'p99', 'p99.9', 'max']);
});

describe('over every stored scenario of the newest version', () => {
  const stored = storedScenarios().flatMap(({name, record, run}) => {
    const {closed} = partsOf(record, run);
    const own = {...record, cells: closed};
    const told = blocks(own, run).flatMap(({title, main: first, more}) => [
      {name: `${name}: ${title}`, isMain: true, table: first},
      ...more.map((one) => ({name: `${name}: ${title}, ${one.title}`, isMain: false, table: one.table})),
    ]);
    return [...told, {name: `${name}: checks`, isMain: false, table: checksTable(record, run)}];
  });
  const columnsOf = (table: Table) => table.columns.map((column, index) => ({column, figures: table.groups.flatMap(({rows}) => rows.flatMap((row) => row.figures[index] ?? []))}));

  test('no column is empty', () => {
    for (const {name, table} of stored) {
      for (const {column, figures} of columnsOf(table)) {
        if (table.groups.some(({rows}) => rows.some(({failure}) => failure === undefined))) expect(figures.length, `${name}: ${column.head}`).toBeGreaterThan(0);
      }
    }
  });

  test('a table that is shown unfolded has ten columns of figures at most', () => {
    for (const {name, isMain, table} of stored) if (isMain) expect(table.columns.length, name).toBeLessThanOrEqual(MOST_COLUMNS);
  });

  test('figures are within three orders of magnitude of their unit', () => {
    for (const {name, table} of stored) {
      for (const {column, figures} of columnsOf(table)) {
        // Replies, hits and misses are counted one by one, to the last.
        if (['Measured', 'Replies checked', 'Hits', 'Misses', 'Errors'].includes(column.head) && column.unit === '') continue;
        for (const {value} of figures) expect([name, column.head, value, isWithinReach(Number(value.replace(/[,<]/g, '').replace('−', '-')))]).toEqual([name, column.head, value, true]);
      }
    }
  });

  test('loads and reads share no table', () => {
    for (const {name, table} of stored) {
      const labels = table.groups.map(({label}) => label);
      if (name.endsWith(': Reads')) expect(labels.filter((label) => /^(Random|Sequential) load/.test(label)), name).toEqual([]);
    }
  });
});
