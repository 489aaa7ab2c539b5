// The matrix: which stored figure answers a question, and what its factor says.
import {expect, test} from 'vitest';
import {frontPage, matrixPage, published, versionPage} from '../plugins/benchmarks/overview/data';
import {matrix, type Source} from '../plugins/benchmarks/overview/matrix';
import {answers, QUESTIONS} from '../plugins/benchmarks/overview/questions';
import type {Measurement, Ratio} from '../src/generated/records';
import {decided, type Factor, factorText, type MatrixRow, quantityOf, scaleOf, sizeOf, tally, valueOf} from '../src/lib/matrix';
import type {PageScenario} from '../src/lib/record';
import {fixtureRun} from './fixture';

interface Change {
  started?: string;
  only?: string[];
  /** Trials of every figure: an interval from six on. */
  n?: number;
  change?: (record: PageScenario) => void;
}

/** The fixture's run under another version. */
function source(version: string, {started = '2026-01-01T00:00:00Z', only, n, change}: Change = {}): Source {
  const loaded = fixtureRun();
  const scenarios = loaded.scenarios.filter(({scenario}) => only?.includes(scenario.key) ?? true).map((record) => structuredClone(record));
  for (const record of scenarios) {
    if (n !== undefined) for (const figure of figuresOf(record)) Object.assign(figure, {n, spread: n < 6 ? 'range' : 'interval'});
    change?.(record);
  }
  return {...loaded, version, scenarios, run: {...loaded.run, started_at: started}};
}

function figuresOf(record: PageScenario): (Measurement | Ratio)[] {
  return [...record.cells.flatMap((cell) => cell.measurements), ...record.ratios];
}

/** Sets how busy the load generator was in the cells of these targets. */
function busy(share: number, ...targets: string[]): (record: PageScenario) => void {
  return ({cells}) => {
    for (const {measurements} of cells.filter(({target}) => targets.includes(target))) {
      for (const figure of measurements) if (figure.metric === 'generator_busy') figure.median = share;
    }
  };
}

function row(key: string, ...sources: Source[]): MatrixRow {
  const found = matrix(sources)
    .flatMap(({rows}) => rows)
    .find((one) => one.key === key);
  if (!found) throw new Error(`no row ${key}`);
  return found;
}

function rival(found: MatrixRow, target: string): MatrixRow['cells'][number] {
  const cell = found.cells.find((one) => one.target === target);
  if (!cell) throw new Error(`${found.key} has no ${target}`);
  return cell;
}

test('a question is answered by the newest version that has the figure, with its rivals', () => {
  const newer = source('0.2.0', {only: ['startup']});
  expect(row('startup', source('0.1.0'), newer).origin).toMatchObject({version: '0.2.0', href: '/benchmarks/0.2.0/fixture-machine/startup/'});
  const single = row('one-connection', source('0.1.0'), newer);
  expect(single.origin.version).toBe('0.1.0');
  expect(single.cells.map(({target}) => target)).toEqual(['plumbkv', 'redis-server']);
  expect(single.cells[0]?.trials).toHaveLength(3);
});

test('in one series intervals come before newness, between series newness comes first', () => {
  const long = source('0.1.0', {n: 9});
  expect(row('one-connection', long, source('0.1.1', {n: 3})).origin.version).toBe('0.1.0');
  expect(row('one-connection', long, source('0.1.1', {n: 9})).origin.version).toBe('0.1.1');
  expect(row('one-connection', long, source('0.2.0', {n: 3})).origin.version).toBe('0.2.0');
});

test('of two runs of a version the newer one answers', () => {
  const change = (record: PageScenario) => record.cells.forEach((cell) => (cell.label += ' later'));
  const found = row('one-connection', source('0.1.0', {started: '2026-02-01T00:00:00Z', change}), source('0.1.0'));
  expect(found.point).toMatch(/ later$/);
});

test('a rival of another run keeps its origin, and its factor is of that run', () => {
  const without = source('0.1.1', {change: (record) => (record.cells = record.cells.filter(({target}) => target !== 'redis-server'))});
  const found = row('one-connection', source('0.1.0'), without);
  expect(found.origin.version).toBe('0.1.1');
  expect(rival(found, 'redis-server').origin?.version).toBe('0.1.0');
  expect(rival(found, 'redis-server').factor?.median).toBeCloseTo(rival(row('one-connection', source('0.1.0')), 'redis-server').factor?.median ?? 0);
});

test('above one ours is better, whichever way the metric goes', () => {
  const set = (record: PageScenario) => {
    busy(0.5, 'plumbkv', 'redis-server')(record);
    record.ratios.forEach((ratio) => Object.assign(ratio, {median: 2, low: 1.6, high: 2.5}));
  };
  const sources = source('0.1.0', {n: 9, change: set});
  expect(rival(row('pipelined-reads', sources), 'redis-server').factor).toMatchObject({median: 2, low: 1.6, high: 2.5});
  expect(rival(row('one-connection', sources), 'redis-server').factor).toMatchObject({median: 0.5, low: 0.4, high: 1 / 1.6});
});

test('where the load generator held ours back the factor is a bound, and decides nothing', () => {
  const change = (target: string) => (record: PageScenario) => {
    busy(0.5, 'plumbkv', 'redis-server')(record);
    record.ratios.forEach((ratio) => Object.assign(ratio, {median: 2, low: 1.6, high: 2.5}));
    busy(0.99, target)(record);
  };
  const bound = rival(row('many-connections', source('0.1.0', {n: 9, change: change('plumbkv')})), 'redis-server').factor;
  expect(bound).toMatchObject({median: 2, isLowerBound: true});
  expect(decided(bound)).toBeUndefined();
  expect(rival(row('many-connections', source('0.1.0', {n: 9, change: change('redis-server')})), 'redis-server').factor).toBeUndefined();
  expect(decided(rival(row('many-connections', source('0.1.0', {n: 9, change: change('null')})), 'redis-server').factor)).toBe('ours');
});

test('a rival that failed is named, and has no figure', () => {
  const change = (record: PageScenario) =>
    record.cells.filter(({target}) => target === 'redis-server').forEach((cell) => Object.assign(cell, {status: 'failed', measurements: []}));
  const found = row('one-connection', source('0.1.0', {change}));
  expect(found.cells.map(({target}) => target)).toEqual(['plumbkv']);
  expect(found.failed).toEqual(['redis-server']);
  // What another run of it has is shown instead.
  expect(row('one-connection', source('0.1.0'), source('0.1.1', {change})).failed).toEqual([]);
});

test('a factor decides with six trials and an interval that leaves 1 out', () => {
  const factor = (change: Partial<Factor>): Factor => ({median: 2, low: 1.5, high: 2.5, spread: 'interval', n: 9, ...change});
  expect(decided(factor({}))).toBe('ours');
  expect(decided(factor({median: 0.5, low: 0.4, high: 0.6}))).toBe('theirs');
  expect(decided(factor({low: 0.9}))).toBeUndefined();
  expect(decided(factor({n: 5}))).toBeUndefined();
  expect(decided(factor({spread: 'range'}))).toBeUndefined();
  expect(decided(undefined)).toBeUndefined();
});

test('factors have the digits that tell them apart', () => {
  const text = (median: number, isLowerBound = false) => factorText({median, low: median, high: median, spread: 'interval', n: 9, isLowerBound});
  expect([47.7, 14.96, 3.7, 1.436, 0.914, 0.13, 0.00392].map((median) => text(median))).toEqual([
    '48×',
    '15×',
    '3.7×',
    '1.44×',
    '0.91×',
    '0.13×',
    '0.0039×',
  ]);
  expect(text(1.4, true)).toBe('≥1.40×');
});

test('a cell answers a question only where no axis makes it another one', () => {
  const [question] = QUESTIONS.filter(({key}) => key === 'many-connections');
  if (!question) throw new Error('no such question');
  const axes = {operation: 'get', clients: 50, pipeline: 1, value_bytes: 64};
  const native = {mode: 'native', placement: 'apart'} as const;
  expect(answers(question, {axes, ...native})).toBe(true);
  expect(answers(question, {axes: {...axes, client_program: 'redis-benchmark'}, ...native})).toBe(false);
  expect(answers(question, {axes: {...axes, variant: 'io=epoll'}, ...native})).toBe(false);
  expect(answers(question, {axes: {...axes, clients: 51}, ...native})).toBe(false);
  expect(answers(question, {axes, mode: 'container_host', placement: 'apart'})).toBe(false);
  expect(answers(question, {axes, mode: 'native', placement: 'together'})).toBe(false);
});

test('figures of a row share a unit, and say what they are', () => {
  const pipelined = row('pipelined-reads', source('0.1.0'));
  expect(quantityOf(pipelined)).toBe('k\u00a0ops/s');
  expect(quantityOf(row('one-connection', source('0.1.0')))).toBe('p50, µs');
  const scale = scaleOf(pipelined);
  expect(pipelined.cells.map((cell) => valueOf(cell, scale)).every((text) => /^[\d,.]+$/.test(text))).toBe(true);
  expect(sizeOf({point: 'Random reads of 24M × 100 B, 64 MiB cache'})).toBe('24M × 100 B');
  expect(sizeOf({point: 'GET 64 B, 50 clients'})).toBe('');
});

test('local runs count only where nothing is published', () => {
  const runs = [fixtureRun()];
  const local = {version: 'local', machines: [{key: 'here', runs: [{...fixtureRun(), version: 'local'}]}]};
  const both = {versions: [{version: '0.1.0', machines: [{key: 'fixture-machine', runs}]}, local]};
  expect(new Set(published(both).map(({version}) => version))).toEqual(new Set(['0.0.1']));
  expect(published({versions: [local]})).toHaveLength(1);
  expect(matrixPage(both).versions.map(({version}) => version)).toEqual(['local', '0.1.0']);
});

test('every stored scenario is in a row, or listed beside the tables with its newest page', () => {
  const {tables, others} = matrixPage({versions: [{version: '0.0.1', machines: [{key: 'fixture-machine', runs: [fixtureRun()]}]}]});
  const rows = tables.flatMap((table) => table.rows.map(({origin}) => origin.href.split('/').at(-2)));
  expect(new Set([...rows, ...others.map(({key}) => key)])).toEqual(new Set(fixtureRun().scenarios.map(({scenario}) => scenario.key)));
  expect(others.find(({key}) => key === 'wire-mixed')?.href).toBe('/benchmarks/0.0.1/fixture-machine/wire-mixed/');
});

test('the page of a version has its own rows alone', () => {
  const results = {
    versions: [
      {version: '0.1.0', machines: [{key: 'fixture-machine', runs: [{...fixtureRun(), version: '0.1.0'}]}]},
      {version: '0.2.0', machines: [{key: 'fixture-machine', runs: [{...fixtureRun(), version: '0.2.0'}]}]},
    ],
  };
  const [machine] = versionPage(results, '0.1.0').machines;
  const origins = machine?.tables.flatMap(({rows}) => rows.map(({origin}) => origin.version));
  expect(new Set(origins)).toEqual(new Set(['0.1.0']));
  expect(machine?.scenarios.length).toBe(fixtureRun().scenarios.length);
});

test('the landing page shows the row that is lost by most, and counts all comparisons', () => {
  const results = (change: (record: PageScenario) => void) => ({
    versions: [{version: '0.1.0', machines: [{key: 'fixture-machine', runs: [{...fixtureRun(), ...source('0.1.0', {n: 9, change})}]}]}],
  });
  const set = (key: string, median: number) => (record: PageScenario) => {
    if (record.scenario.key !== key) return;
    record.ratios.forEach((ratio) => Object.assign(ratio, {median, low: median * 0.9, high: median * 1.1}));
  };
  const lost = frontPage(
    results((record) => {
      set('startup', 5)(record);
      set('one-connection', 2)(record);
    }),
  );
  expect(lost.loss?.key).toBe('startup');
  expect(lost.server?.key).toBe('pipelined-reads');
  expect(lost.tally).toEqual(tally(matrix(published(results((record) => set('startup', 5)(record))))));
  expect(lost.tally.worse).toBeGreaterThan(0);
});
