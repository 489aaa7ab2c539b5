// Is an accepted loss drawn where it belongs, with its reason, until it expires?
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {createElement} from 'react';
import {renderToStaticMarkup} from 'react-dom/server';
import {expect, test} from 'vitest';
import {concerns, loadBlessings} from '../plugins/benchmarks/blessings';
import type {LoadedRun, Results} from '../plugins/benchmarks/load';
import {trends} from '../plugins/benchmarks/trends';
import {Validator} from '../plugins/benchmarks/validate';
import LineChart from '../src/charts/LineChart';
import type {Blessing} from '../src/generated/records';
import Blessings, {marks} from '../src/routes/trend/Blessings';
import {fixtureResults, fixtureRun} from './fixture';

const validator = new Validator(path.resolve(__dirname, '..', '..', 'bench-runner', 'schema'));

const BLESSING: Blessing = {
  scenario: 'plumbkv/native/apart/set-64B-c50-p1-r40000-poisson',
  label: 'SET 64 B, 50 clients, Poisson at 40k/s',
  metric: 'server_cpu_ns_per_op',
  ratio: 1.098,
  gate: '2026-12-01T000000Z-gate-0001',
  machine_key: 'somewhere',
  commit: '2'.repeat(40),
  pull: 7,
  reason: 'every SET is logged now <script>',
  blessed_on: '2026-12-01',
  expires_on: '2027-03-01',
};

function version(name: string, startedAt: string): Results['versions'][number] {
  const loaded: LoadedRun = structuredClone(fixtureRun());
  Object.assign(loaded, {version: name});
  Object.assign(loaded.run, {id: `later-${name}`, started_at: startedAt});
  return {version: name, machines: [{key: loaded.machineKey, runs: [loaded]}]};
}

function figures(blessings: Blessing[], newest: string) {
  const versions = [...fixtureResults().versions, version('0.0.2', '2027-01-05T00:00:00Z'), version('0.0.3', newest)];
  const trend = trends({versions, blessings}).find(({key}) => key === 'wire-single');
  if (!trend) throw new Error('the fixture has no such trend');
  return {trend, figures: trend.machines[0]?.figures ?? []};
}

test('a loss stands at the first version after it, at its own request, length and metric', () => {
  const found = figures([BLESSING], '2027-02-28T00:00:00Z').figures.filter(({blessings}) => blessings.length > 0);
  expect(found.length).toBeGreaterThan(0);
  for (const {label, metric, blessings} of found) {
    expect(metric).toBe('server_cpu_ns_per_op');
    expect(label).toMatch(/SET 64 B/);
    expect(blessings).toEqual([{...BLESSING, version: '0.0.2', expired: false}]);
  }
  for (const other of [{metric: 'ops_per_second'}, {scenario: BLESSING.scenario.replace('64B', '65B')}, {scenario: BLESSING.scenario.replace('p1-', 'p16-')}, {scenario: 'nonsense'}]) {
    const drawn = figures([{...BLESSING, ...other}], '2027-02-28T00:00:00Z').figures.flatMap(({metric, blessings}) => (metric === 'server_cpu_ns_per_op' ? blessings : []));
    expect(drawn, JSON.stringify(other)).toEqual([]);
  }
});

test('it concerns the cells that do the same work, and no other mix', () => {
  const lost = {...BLESSING, scenario: 'plumbkv/native/apart/mixed-64B-s10-c20-p1-r20000-poisson'};
  const drawnOn = (key: string) => concerns(lost, {key}, lost.metric);
  expect(drawnOn('plumbkv/native/apart/mixed-64B-s10-c50-p1')).toBe(true);
  for (const key of ['mixed-64B-s50-c50-p1', 'mixed-32B-s10-c50-p1', 'mixed-64B-s10-c50-p16', 'get-64B-c50-p1']) {
    expect(drawnOn(`plumbkv/native/apart/${key}`), key).toBe(false);
  }
  expect(concerns({...lost, scenario: 'counted/get-64B'}, {key: 'plumbkv/native/apart/get-64B-c50-p1'}, lost.metric)).toBe(false);
});

test('from the day of its end on it excuses nothing, and stays as history', () => {
  const drawn = figures([BLESSING], '2027-03-01T00:00:00Z').figures.flatMap(({blessings}) => blessings);
  expect(drawn[0]).toMatchObject({version: '0.0.2', expired: true});
  const before = figures([{...BLESSING, blessed_on: '2027-02-01'}], '2027-01-20T00:00:00Z').figures.flatMap(({blessings}) => blessings);
  expect(before[0]?.version).toBeUndefined();
});

test('a person sees a line in the chart and the reason beneath it, whatever it holds', () => {
  const page = (newest: string) => {
    const {trend, figures: all} = figures([BLESSING], newest);
    const versions = trend.machines[0]?.versions ?? [];
    const {blessings} = all.find((figure) => figure.blessings.length > 0) ?? {blessings: []};
    const chart = createElement(LineChart, {id: 'a', title: 't', desc: 'd', series: [], xs: [0, 1, 2], xUnit: 'version', yUnit: 'ns', yMax: 1, marks: marks(blessings, versions)});
    return renderToStaticMarkup(createElement('div', {}, chart, createElement(Blessings, {blessings})));
  };
  const holding = page('2027-02-28T00:00:00Z');
  expect(holding).toMatch(/<line class="event"/);
  expect(holding).toContain('Accepted on 2026-12-01 until 2027-03-01, from version 0.0.2 on: +9.8 % in SET 64 B, 50 clients, Poisson at 40k/s (#7): every SET is logged now &lt;script&gt;');
  const expired = page('2027-03-02T00:00:00Z');
  expect(expired).toMatch(/<line class="event faded"/);
  expect(expired).toContain('expired on 2027-03-01 and excuses nothing any more');
  expect(marks(figures([{...BLESSING, blessed_on: '2027-02-28'}], '2027-01-20T00:00:00Z').figures[0]?.blessings ?? [], [])).toEqual([]);
});

test('a file that is none, or has no reason or no dates, is refused by name', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'blessings-'));
  const read = (change: Partial<Blessing>) => {
    const record = {schema: 'plumbkv.blessings', schema_version: 1, tool: {name: 'bench-runner', version: '0.0.1'}, blessings: [{...BLESSING, ...change}]};
    writeFileSync(path.join(root, 'blessings.json'), JSON.stringify(record));
    return loadBlessings(root, validator);
  };
  try {
    expect(loadBlessings(root, validator)).toEqual([]);
    expect(read({})).toEqual([BLESSING]);
    expect(() => read({reason: ' '})).toThrow(/has no reason/);
    expect(() => read({expires_on: '2026-12-01'})).toThrow(/ends before it begins/);
    expect(() => read({blessed_on: 'yesterday'})).toThrow(/has a date that is none/);
    expect(() => read({ratio: 0})).toThrow(/has a ratio that is none/);
  } finally {
    rmSync(root, {recursive: true});
  }
});
