// Do trends, comparisons, claims and histograms say what is stored, and refuse what cannot be compared?
import {expect, test} from 'vitest';
import {claimsData, compareData} from '../plugins/benchmarks/beyond';
import {breakable, WORD_MOST} from '../plugins/benchmarks/breakable';
import type {LoadedRun, Results} from '../plugins/benchmarks/load';
import {trends} from '../plugins/benchmarks/trends';
import type {Measurement} from '../src/generated/records';
import {compareRecords, findRun, refusal, verdict} from '../src/lib/compare';
import {histogramLog, histogramName, percentileList} from '../src/lib/histograms';
import {fixtureResults, fixtureRun, storedScenario} from './fixture';

function later(version: string, change: (loaded: LoadedRun) => void = () => undefined): Results['versions'][number] {
  const loaded = structuredClone(fixtureRun());
  Object.assign(loaded, {version});
  Object.assign(loaded.run, {id: `later-${version}`, started_at: '2027-01-01T00:00:00Z'});
  change(loaded);
  return {version, machines: [{key: loaded.machineKey, runs: [loaded]}]};
}

test('a server keeps its line from version to version, and a new definition begins another', () => {
  const {versions} = fixtureResults();
  const renamed = later('0.0.2', ({run}) => run.targets.forEach((target) => (target.title = target.title.replace('0.0.1', '0.0.2'))));
  const revised = later('0.0.3', ({scenarios}) => scenarios.forEach(({scenario}) => (scenario.revision = 2)));
  const trend = trends({versions: [...versions, renamed, revised]}).find(({key}) => key === 'wire-single');
  const machine = trend?.machines[0];
  expect(machine?.versions).toEqual(['0.0.1', '0.0.2', '0.0.3']);
  const figure = machine?.figures.find(({metric}) => metric === 'ops_per_second');
  const ours = figure?.series.filter(({look}) => look === 'ours');
  expect(ours?.map(({label, revision, values}) => [label, revision, values.map((value) => value.version)])).toEqual([
    ['PlumbKV', 2, ['0.0.3']],
    ['PlumbKV', 1, ['0.0.1', '0.0.2']],
  ]);
});

test('runs are found by id, by version, and by version and machine', () => {
  const runs = compareData({versions: [...fixtureResults().versions, later('0.0.2')]});
  expect(runs.map(({version}) => version)).toEqual(['0.0.2', '0.0.1']);
  expect(findRun(runs, '0.0.1')?.id).toBe(fixtureRun().run.id);
  expect(findRun(runs, 'later-0.0.2')?.version).toBe('0.0.2');
  expect(findRun(runs, '0.0.2/fixture-machine')?.version).toBe('0.0.2');
  expect(findRun(runs, 'javascript:alert(1)')).toBeUndefined();
});

test('runs of different machines are refused', () => {
  const [a] = compareData(fixtureResults());
  if (!a) throw new Error('no run');
  expect(refusal(a, a)).toBeUndefined();
  expect(refusal(a, {...a, cpuModel: 'another'})).toMatch(/different machines/);
});

const measured = (low: number, median: number, high: number, more: Partial<Measurement> = {}): Measurement => ({
  metric: 'ops_per_second',
  unit: '1/s',
  direction: 'higher',
  spread: 'interval',
  n: 9,
  low,
  median,
  high,
  ...more,
});

test('a verdict needs intervals that separate, and knows which way is better', () => {
  expect(verdict(measured(1, 2, 3), measured(4, 5, 6))).toBe('better');
  expect(verdict(measured(4, 5, 6, {direction: 'lower'}), measured(1, 2, 3, {direction: 'lower'}))).toBe('better');
  expect(verdict(measured(4, 5, 6), measured(1, 2, 3))).toBe('worse');
  expect(verdict(measured(1, 2, 4), measured(3, 5, 6))).toBe('undecided');
  expect(verdict(measured(1, 2, 3), measured(4, 5, 6, {spread: 'range', n: 3}))).toBe('undecided: ranges of 3 trials');
});

test('the same record compared with itself differs by nothing', () => {
  const record = storedScenario('wire-single');
  const {rows, note} = compareRecords(record, record);
  expect(rows.length).toBeGreaterThan(0);
  expect(rows.every((row) => row.a === row.b && row.ratio.startsWith('1.0'))).toBe(true);
  expect(note).toBeUndefined();
  expect(compareRecords(record, {...record, scenario: {...record.scenario, params_sha256: 'other'}}).note).toMatch(/definition/);
});

test('a cell that was measured beside something else is left out and said', () => {
  const record = storedScenario('wire-single');
  const beside = {...record, cells: record.cells.map((cell) => ({...cell, trials: cell.trials.map((trial) => ({...trial, os: trial.os && {...trial.os, foreign_cpu_cores: 1.8}}))}))};
  const {rows, note} = compareRecords(record, beside);
  expect(rows).toEqual([]);
  expect(note).toMatch(/^Left out: \d+ cells? in which others used more than 0.25 CPUs/);
});

test('evidence is linked where its run is stored; without judged claims none is made up', () => {
  const {claims, evidence} = claimsData(fixtureResults());
  expect(claims).toBeUndefined();
  expect(evidence[`fixture-machine/${fixtureRun().run.id}/wire-single`]).toBe(`/benchmarks/0.0.1/fixture-machine/run/${fixtureRun().run.id}/wire-single/`);
});

test('a histogram log holds every trial as HdrHistogram writes it, and the list rises', () => {
  const cell = storedScenario('wire-single').cells.find(({status}) => status === 'ok');
  if (!cell) throw new Error('no cell');
  const log = histogramLog(cell)?.trimEnd().split('\n') ?? [];
  expect(log[0]).toBe('#[Histogram log format version 1.3]');
  const lines = log.filter((line) => line.startsWith('Tag='));
  expect(lines).toHaveLength(cell.trials.flatMap(({histograms}) => histograms).length);
  // The first bytes of a compressed HDR histogram of version 2, in base64.
  for (const line of lines) expect(line).toMatch(/^Tag=[\w-]+,[\d.]+,[\d.]+,[\d.]+,HISTF/);
  const values = percentileList(cell)
    .split('\n')
    .filter((line) => /^ *[\d.]+ +[01]\./.test(line))
    .map((line) => Number(line.trim().split(/ +/)[0]));
  expect(values.length).toBeGreaterThan(5);
  expect(values).toEqual([...values].sort((a, b) => a - b));
  expect(histogramLog({...cell, trials: []})).toBeUndefined();
});

test('a file of histograms has a name that is safe and unique', () => {
  expect(histogramName(7, 'plumbkv/native/apart/../<img>')).toMatch(/^007-[A-Za-z0-9.-]+$/);
  expect(histogramName(1, 'a/b')).not.toBe(histogramName(2, 'a-b'));
});

test('a word that no screen holds is cut, whatever holds it; everything else stays', () => {
  const long = 'x'.repeat(10_000);
  const cut = `${'x'.repeat(WORD_MOST)}…`;
  expect(breakable({a: [long, `short ${long}`], n: 1, none: null})).toEqual({a: [cut, `short ${cut}`], n: 1, none: null});
  expect(breakable('a '.repeat(5000))).toBe('a '.repeat(5000));
});
