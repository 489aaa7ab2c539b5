// Do the tables hold what the record holds, failures included?
import {expect, test} from 'vitest';
import {earlyKeys, refusal, survival} from '../src/lib/cap';
import {lineFigures, percentileFigures, percentileRange} from '../src/lib/figures';
import {fixed} from '../src/lib/format';
import {measurement} from '../src/lib/record';
import {spreadNote, table} from '../src/lib/tables';
import {fixtureScenario, withGeneratorBusy} from './fixture';

test('every cell of the record has a row, in groups by point', () => {
  const {record, run} = fixtureScenario('wire-single');
  const {groups, columns} = table(record, run, 'headline');
  expect(groups.flatMap((group) => group.rows)).toHaveLength(record.cells.length);
  expect(columns[0]).toMatchObject({head: 'Throughput', unit: 'k\u00a0ops/s'});
  for (const row of groups.flatMap((group) => group.rows)) if (!row.failure) expect(row.figures).toHaveLength(columns.length);
});

test('a row shows the median that is stored', () => {
  const {record, run} = fixtureScenario('wire-single');
  const stored = record.cells.find((cell) => cell.status === 'ok' && cell.target === 'plumbkv' && cell.mode === 'native');
  const median = stored && measurement(stored, 'ops_per_second')?.median;
  const row = table(record, run, 'headline').groups[0]?.rows[0];
  const shown = Number(row?.figures[0]?.value);
  expect(Math.abs(shown * 1000 - (median ?? 0)) / (median ?? 1)).toBeLessThan(0.05);
});

test('a failed or skipped cell is a row with its reason', () => {
  const {record, run} = fixtureScenario('wire-mixed');
  const cells = record.cells.map((cell, index) => (index === 0 ? {...cell, status: 'skipped' as const, reason: 'no runtime', measurements: []} : cell));
  const rows = table({...record, cells}, run, 'headline').groups.flatMap((group) => group.rows);
  expect(rows[0]).toMatchObject({failure: 'skipped: no runtime', figures: []});
});

test('the operations of a mix have rows of their own', () => {
  const {record, run} = fixtureScenario('wire-mixed');
  const labels = table(record, run, 'headline').groups[0]?.rows.map((row) => row.label);
  expect(labels).toContain('… its GETs');
  expect(labels).toContain('… its SETs');
});

test('a generator at its ceiling marks servers, never the ceiling itself', () => {
  const {record, run} = fixtureScenario('wire-single');
  const rows = table(withGeneratorBusy(record, 0.99), run, 'headline').groups.flatMap((group) => group.rows);
  expect(rows.filter((row) => row.look === 'ours').every((row) => row.atCeiling)).toBe(true);
  expect(rows.filter((row) => row.look === 'ceiling').some((row) => row.atCeiling)).toBe(false);
});

test('the note says range or interval, and with how many trials', () => {
  expect(spreadNote({spread: 'range', trials: 3})).toMatch(/3 trials.*range/);
  expect(spreadNote({spread: 'interval', trials: 9})).toMatch(/9 trials.*interval.*95/);
  expect(spreadNote({spread: 'range', trials: 1})).toMatch(/no spread/);
});

test('the checks count replies, hits, misses and errors of all trials', () => {
  const {record, run} = fixtureScenario('wire-single');
  const {columns, groups} = table(record, run, 'checks');
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
