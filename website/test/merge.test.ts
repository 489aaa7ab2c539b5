// Does a later run of some cells leave the others of the page alone? Runs in, and which run each cell of the page is of.
import {expect, test} from 'vitest';
import {byRank, type Measured, mergedScenarios} from '../plugins/benchmarks/merge';
import type {Cell, Mode, Profile, Run, Status, TargetRecord} from '../src/generated/records';
import {pageScenario} from '../src/lib/record';
import {environmentGroups} from '../src/lib/sources';
import {fixtureRun} from './fixture';
import {cell as madeCell, ratio, scenario} from './records';

interface Spec {
  id: string;
  profile: Profile;
  /** Day of its beginning. */
  day: number;
  /** `a`, `b` …: cells of ours, natively; `a@container_host` in another mode; `a=skipped` with a status; `redis:a` of a rival. */
  cells: string;
  revision?: number;
  changeTarget?: (target: TargetRecord) => void;
}

function run({id, profile, day, cells, revision = 1, changeTarget}: Spec): Measured {
  const made = cells.split(' ').map(cellOf);
  const pairs = made.flatMap((above) => made.filter((below) => below !== above && below.label === above.label).map((below) => ratio('rival', 'ops_per_second', above, below, 1.1)));
  const record = {...scenario('wire-single', 'Single requests', made, pairs), run_id: id, profile};
  record.scenario = {...record.scenario, revision};
  const whole = structuredClone(fixtureRun().run);
  whole.targets.forEach((target) => changeTarget?.(target));
  return {run: {...whole, id, profile, started_at: `2026-01-${String(day).padStart(2, '0')}T00:00:00Z`, notes: [`note of ${id}`]}, scenarios: [pageScenario(record)]};
}

function cellOf(spec: string): Cell {
  const [, target = 'plumbkv', name = '', mode = 'native', status = 'ok'] = /^(?:([a-z-]+):)?([a-z]+)(?:@([a-z_]+))?(?:=([a-z]+))?$/.exec(spec) ?? [];
  const made = madeCell({target: target === 'redis' ? 'redis-server' : target, mode: mode as Mode, label: name, axes: {operation: name}, values: {ops_per_second: 1000}});
  return status === 'ok' ? made : {...made, status: status as Status, reason: status, measurements: [], trials: []};
}

/** `a:full-1 b:quick-1`: the cells of the page, each with its run. */
function page(...specs: Spec[]): string {
  const {record} = merge(...specs);
  return record.cells.map(({key, run_id: id}) => `${name(key)}:${id}`).join(' ');
}

function merge(...specs: Spec[]) {
  const merged = mergedScenarios(specs.map(run)).get('wire-single');
  if (!merged) throw new Error('nothing was merged');
  return merged;
}

function name(key: string): string {
  const [target, mode, , operation = ''] = key.split('/');
  return `${target === 'plumbkv' ? '' : `${target}:`}${operation.replace('operation=', '')}${mode === 'native' ? '' : `@${mode}`}`;
}

const quick = (id: string, day: number, cells: string, more: Partial<Spec> = {}): Spec => ({id, profile: 'quick', day, cells, ...more});
const release = (id: string, day: number, cells: string, more: Partial<Spec> = {}): Spec => ({id, profile: 'release', day, cells, ...more});
const full = (id: string, day: number, cells: string, more: Partial<Spec> = {}): Spec => ({id, profile: 'full', day, cells, ...more});

const CASES: [what: string, runs: Spec[], expected: string][] = [
  ['one run is its own page', [quick('q', 1, 'a b')], 'a:q b:q'],
  ['a native full run keeps the container rows of a quick run', [quick('q', 2, 'a a@container_host b'), full('f', 1, 'a b')], 'a:f a@container_host:q b:f'],
  ['also where the full run is the newer', [quick('q', 1, 'a a@container_host b'), full('f', 2, 'a b')], 'a:f a@container_host:q b:f'],
  ['of equally long runs the newest wins, cell by cell', [full('old', 1, 'a b c'), full('new', 2, 'b')], 'a:old b:new c:old'],
  ['smoke < quick < release < full, whatever their days', [full('f', 1, 'a'), release('r', 2, 'a b'), quick('q', 3, 'a b c'), {id: 's', profile: 'smoke', day: 4, cells: 'a b c d'}], 'a:f b:r c:q d:s'],
  ['a failed cell stays: it was tried', [quick('q', 2, 'a b'), full('f', 1, 'a=failed b')], 'a:f b:f'],
  ['a skipped cell displaces none that was measured', [quick('q', 1, 'a b'), full('f', 2, 'a=skipped b')], 'a:q b:f'],
  ['a skipped cell stays where no run has measured it', [quick('q', 1, 'a=skipped'), full('f', 2, 'a=skipped b')], 'a:f b:f'],
  ['an older revision of the scenario is another thing', [full('old', 1, 'a b', {revision: 1}), quick('new', 2, 'a', {revision: 2})], 'a:new'],
  ['the newest revision counts, also where it was measured first', [quick('two', 1, 'a', {revision: 2}), full('one', 2, 'a b', {revision: 1})], 'a:two'],
  ['rows of the shorter run stand where they stood', [full('f', 1, 'a d'), quick('q', 2, 'a b c d e')], 'a:f b:q c:q d:f e:q'],
];

for (const [what, runs, expected] of CASES) {
  test(what, () => {
    expect(page(...runs)).toBe(expected);
    // The order in which the index lists them says nothing.
    expect(page(...[...runs].reverse())).toBe(expected);
  });
}

test('a row of an embedded engine that a longer run measured with more data, for every engine, is left to the page of its own run', () => {
  // `a:2`: row `a` with two keys, measured by us; `fjall/a:2`: the same by a rival.
  const sized = (id: string, profile: Profile, kind: string, cells: string): Measured => {
    const made = cells.split(' ').map((spec) => {
      const [, target = 'plumbkv', name = '', keys = ''] = /^(?:([a-z-]+)\/)?([a-z]+):([0-9]+)$/.exec(spec) ?? [];
      return madeCell({target, label: `${name} of ${keys}`, axes: {operation: name, keys: Number(keys)}, values: {ops_per_second: 1000}});
    });
    const record = {...scenario('read-random', 'Random reads', made, [], kind), run_id: id, profile};
    return {run: {...structuredClone(fixtureRun().run), id, profile}, scenarios: [pageScenario(record)]};
  };
  const page = (kind: string, quickCells: string, fullCells: string) =>
    mergedScenarios([sized('q', 'quick', kind, quickCells), sized('f', 'full', kind, fullCells)])
      .get('read-random')
      ?.record.cells.map(({target, axes, run_id: id}) => `${target === 'plumbkv' ? '' : `${target}/`}${axes.operation}:${axes.keys}:${id}`)
      .join(' ');
  expect(page('embedded', 'a:2 fjall/a:2', 'a:24 fjall/a:24')).toBe('a:24:f fjall/a:24:f');
  expect(page('embedded', 'a:2 b:2', 'a:24 a:5')).toBe('a:24:f a:5:f b:2:q');
  expect(page('embedded', 'a:2 sqlite/a:2', 'a:24')).toBe('a:24:f a:2:q sqlite/a:2:q');
  expect(page('embedded', 'a:24', 'a:2 b:2')).toBe('a:2:f b:2:f');
  expect(page('wire', 'a:2', 'a:24')).toBe('a:24:f a:2:q');
});

test('ratios are of two cells of one run: none of cells of two runs, none of a displaced cell', () => {
  const {record} = merge(full('f', 1, 'a redis:a b'), quick('q', 2, 'a redis:a b redis:b c redis:c'));
  const runOf = new Map(record.cells.map(({key, run_id: id}) => [key, id]));
  expect(record.ratios.map(({numerator, denominator}) => `${name(numerator)} ${name(denominator)}`)).toEqual(['a redis-server:a', 'redis-server:a a', 'c redis-server:c', 'redis-server:c c']);
  for (const {numerator, denominator} of record.ratios) expect(runOf.get(numerator)).toBe(runOf.get(denominator));
});

test('the page names the runs that it is made of, with the number of their cells, and no other', () => {
  const {sources, record, run: shown} = merge(full('old', 1, 'a'), full('new', 2, 'a b'), quick('q', 3, 'a b c'));
  expect(sources.map(({loaded, cells}) => [loaded.run.id, cells])).toEqual([['new', 2], ['q', 1]]);
  expect([record.run_id, record.profile, shown.id]).toEqual(['new', 'full', 'new']);
  expect(shown.notes).toEqual(['note of new', 'note of q']);
});

test('another version of a rival in another run is another target, under its own name', () => {
  const newer = (target: TargetRecord) => {
    if (target.key === 'redis-server') Object.assign(target, {title: 'Redis 8.0.0', version: '8.0.0'});
  };
  const {record, run: shown} = merge(full('f', 1, 'a redis:a'), quick('q', 2, 'redis:b', {changeTarget: newer}));
  const titleOf = (label: string) => {
    const target = record.cells.find((cell) => cell.label === label && cell.target !== 'plumbkv')?.target;
    return shown.targets.find(({key}) => key === target)?.title;
  };
  expect(titleOf('b')).toBe('Redis 8.0.0');
  expect(titleOf('a')).not.toBe('Redis 8.0.0');
  expect(new Set(shown.targets.map(({key}) => key)).size).toBe(shown.targets.length);
});

test('a rival that was missing in one run alone is not missing', () => {
  const missing = (target: TargetRecord) => {
    if (target.key === 'redis-server') Object.assign(target, {available: false, title: 'Redis not found', version: '', reason: 'not installed'});
  };
  const {record, run: shown} = merge(full('f', 2, 'a redis:a=skipped redis:b=skipped', {changeTarget: missing}), quick('q', 1, 'a redis:a'));
  expect(record.cells.map(({key, run_id: id}) => `${name(key)}:${id}`)).toEqual(['a:f', 'redis-server:a:q']);
  expect(shown.targets.filter(({key}) => key === 'redis-server').map(({available}) => available)).toEqual([true]);
});

test('runs are ranked by the length of their profile, then by their age', () => {
  const ranked = byRank([quick('a', 9, 'x'), full('b', 1, 'x'), release('c', 5, 'x'), full('d', 2, 'x')].map(run));
  expect(ranked.map(({run: {id}}) => id)).toEqual(['d', 'b', 'c', 'a']);
});

test('runs under the same conditions share one environment; another source has its own', () => {
  const groups = (change: (run: Run) => void) => {
    const specs = [full('f', 1, 'a redis:a'), quick('q', 2, 'b redis:b')].map(run);
    if (specs[1]) change(specs[1].run);
    const {record, sources} = mergedScenarios(specs).get('wire-single') ?? {record: undefined, sources: []};
    if (!record) throw new Error('nothing was merged');
    return environmentGroups(record, sources.map(({loaded}) => loaded.run)).map(({run: first, others, record: own}) => [first.id, ...others.map(({id}) => id), own.cells.length]);
  };
  expect(groups(({environment}) => (environment.load_average_start = 7))).toEqual([['f', 'q', 4]]);
  expect(groups(({source}) => (source.commit = '9'.repeat(40)))).toEqual([['f', 2], ['q', 2]]);
});
