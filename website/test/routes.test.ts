// Do the right pages follow from the stored results, and do they stay what they are when results are added?
import {expect, test} from 'vitest';
import type {LoadedRun} from '../plugins/benchmarks/load';
import {pickerEntries, type Place, type Plan, routes, type ScenarioSources} from '../plugins/benchmarks/routes';
import type {PageScenario} from '../src/lib/record';
import {calibrations, loadedCalibration} from './calibrations';
import {fixtureResults, fixtureRun} from './fixture';

const HOME = '/benchmarks/0.0.1/fixture-machine/';

/** The fixture's run as another one. */
function runAs(id: string, started: string, only?: string[]): LoadedRun {
  const loaded = fixtureRun();
  const scenarios = loaded.scenarios
    .filter(({scenario}) => only?.includes(scenario.key) ?? true)
    .map((record) => ({...record, run_id: id, cells: record.cells.map((cell) => ({...cell, run_id: id}))}));
  return {...loaded, scenarios, run: {...loaded.run, id, started_at: started}};
}

function pages(plan: Plan): Map<string, string> {
  return new Map(
    plan.routes.map(({path, page, data}) => [
      path,
      JSON.stringify([page, ...Object.entries(data).map(([prop, name]) => [prop, plan.data.get(name)?.()])]),
    ]),
  );
}

/** Ids of the runs that the page of a scenario is made of. */
function sources(plan: Plan, path: string): string[] {
  const route = plan.routes.find((candidate) => candidate.path === path);
  const {links} = plan.data.get(route?.data.sources ?? '')?.() as ScenarioSources;
  return links.map(({id}) => id);
}

test('without results there are the front page and a list of nothing', () => {
  const plan = routes({versions: []});
  expect(plan.routes.map(({path}) => path)).toEqual([
    '/',
    '/benchmarks/claims/',
    '/benchmarks/compare/',
    '/benchmarks/gate/',
    '/benchmarks/trends/',
    '/benchmarks/',
  ]);
  expect(plan.data.get('overview')?.()).toEqual({tables: [], others: [], versions: []});
  expect(plan.data.get('front')?.()).toEqual({tally: {better: 0, worse: 0, undecided: 0}});
  expect(plan.data.get('gate')?.()).toEqual({machines: [], earlier: [], examples: []});
});

test('a run gives pages of its version, its machine, its scenarios and itself', () => {
  const run = fixtureRun();
  const paths = routes(fixtureResults()).routes.map(({path}) => path);
  expect(paths).toContain('/benchmarks/0.0.1/');
  expect(paths).toContain(HOME);
  for (const {scenario} of run.scenarios) {
    expect(paths).toContain(`${HOME}${scenario.key}/`);
    expect(paths).toContain(`${HOME}run/${run.run.id}/${scenario.key}/`);
  }
  expect(paths).toContain(`${HOME}components/`);
  expect(new Set(paths).size).toBe(paths.length);
});

test('every data set that a route names exists, and none is left over', () => {
  const plan = routes(fixtureResults());
  const named = new Set(plan.routes.flatMap(({data}) => Object.values(data)));
  expect([...named].sort()).toEqual([...plan.data.keys()].sort());
});

test('the page of a scenario is of the run that was chosen, and names it', () => {
  const full = runAs('20980101T000000Z-full-beef', '2098-01-01T00:00:00Z', ['wire-single']);
  full.run.profile = 'full';
  const newer = runAs('20990101T000000Z-quick-beef', '2099-01-01T00:00:00Z', ['wire-single', 'wire-mixed']);
  const plan = routes({versions: [{version: '0.0.1', machines: [{key: 'fixture-machine', runs: [newer, full, fixtureRun()]}]}]});
  expect(sources(plan, `${HOME}wire-single/`)).toEqual([full.run.id]);
  expect(sources(plan, `${HOME}wire-mixed/`)).toEqual([newer.run.id]);
  expect(sources(plan, `${HOME}startup/`)).toEqual([fixtureRun().run.id]);
  expect(sources(plan, `${HOME}run/${newer.run.id}/wire-single/`)).toEqual([newer.run.id]);
});

test('a page merged from two runs names both, and offers the raw files of both', () => {
  const full = runAs('20980101T000000Z-full-beef', '2098-01-01T00:00:00Z', ['wire-single']);
  full.run.profile = 'full';
  // As with `--mode native`.
  full.scenarios.forEach((record) => (record.cells = record.cells.filter(({mode}) => mode === 'native')));
  const plan = routes({versions: [{version: '0.0.1', machines: [{key: 'fixture-machine', runs: [full, fixtureRun()]}]}]});
  const at = `${HOME}wire-single/`;
  expect(sources(plan, at)).toEqual([full.run.id, fixtureRun().run.id]);
  const data = plan.routes.find(({path}) => path === at)?.data;
  const record = plan.data.get(data?.record ?? '')?.() as PageScenario;
  expect(new Set(record.cells.map(({mode, run_id: id}) => `${mode === 'native' ? 'native' : 'container'} ${id}`))).toEqual(
    new Set([`native ${full.run.id}`, `container ${fixtureRun().run.id}`]),
  );
  const {raw} = plan.data.get(data?.place ?? '')?.() as Place;
  expect(raw.map(({name}) => name)).toEqual([full, fixtureRun()].flatMap(({run: {id}}) => [`${id}/run.json`, `${id}/wire-single.json`]));
});

test('pages of a version stay the same when another version is added', () => {
  const before = pages(routes(fixtureResults()));
  const added = runAs('20990101T000000Z-full-beef', '2099-01-01T00:00:00Z');
  const after = pages(
    routes({versions: [...fixtureResults().versions, {version: '9.9.9', machines: [{key: 'fixture-machine', runs: [{...added, version: '9.9.9'}]}]}]}),
  );
  const own = [...before].filter(([path]) => path.startsWith('/benchmarks/0.0.1/'));
  expect(own.length).toBeGreaterThan(5);
  for (const [path, page] of own) expect(after.get(path), path).toBe(page);
  expect(after.size).toBeGreaterThan(before.size);
});

test('a calibration changes the page of the gate and no other', () => {
  const before = pages(routes(fixtureResults()));
  const after = pages(routes({...fixtureResults(), calibrations: calibrations().map(loadedCalibration)}));
  expect([...after.keys()]).toEqual([...before.keys()]);
  expect([...before].filter(([path, page]) => after.get(path) !== page).map(([path]) => path)).toEqual(['/benchmarks/gate/']);
});

test('pages of a run stay the same when a run of the same version is added', () => {
  const before = pages(routes(fixtureResults()));
  const runs = [fixtureRun(), runAs('20990101T000000Z-full-beef', '2099-01-01T00:00:00Z')];
  const after = pages(routes({versions: [{version: '0.0.1', machines: [{key: 'fixture-machine', runs}]}]}));
  const own = [...before].filter(([path]) => path.includes('/run/'));
  expect(own.length).toBeGreaterThan(0);
  for (const [path, page] of own) expect(after.get(path), path).toBe(page);
});

test('no page carries histograms or windows: they stay in the raw file', () => {
  const plan = routes(fixtureResults());
  expect(JSON.stringify([...plan.data.values()].map((make) => make()))).not.toMatch(/hdr_v2_deflate_base64|"windows"/);
});

test('the picker lists every version and machine, newest version first', () => {
  const {versions} = fixtureResults();
  const other = {version: '0.0.2', machines: versions[0]?.machines ?? []};
  expect(pickerEntries({versions: [...versions, other]}).map(({version, href}) => [version, href])).toEqual([
    ['0.0.2', '/benchmarks/0.0.2/fixture-machine/'],
    ['0.0.1', HOME],
  ]);
});
