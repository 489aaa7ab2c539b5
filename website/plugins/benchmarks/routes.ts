// Which pages follow from the stored results, and which data does each need? Pure: nothing is read or written.
import type {Profile, Run, RunState} from '../../src/generated/records';
import type {PageScenario} from '../../src/lib/record';
import {claimsData, compareData} from './beyond';
import {breakable} from './breakable';
import {byAge, chosenByScenario} from './chosen';
import {gateData} from './gate';
import type {LoadedRun, Results} from './load';
import {frontPage, matrixPage, versionEntries, versionPage} from './overview/data';
import {trends} from './trends';

/** A kind of page; `src/document/pages.ts` has the component of each. */
export type PageName = 'home' | 'overview' | 'versionOverview' | 'version' | 'scenario' | 'components' | 'claims' | 'compare' | 'gate' | 'trend' | 'trendList';

/** A page to be made; `data` names its data sets by the property that takes them. */
export interface PlannedRoute {
  path: string;
  page: PageName;
  data: Record<string, string>;
}

export interface Plan {
  routes: PlannedRoute[];
  /** Data sets by name, made when they are wanted; a page's bytes follow from its own sets alone. */
  data: Map<string, () => unknown>;
}

/** A raw file that a page offers. */
export interface RawLink {
  name: string;
  sitePath: string;
  bytes: number;
  sha256: string;
}

/** Where a page stands. */
export interface Place {
  version: string;
  machineKey: string;
  runId: string;
  /** True on the page that moves on with newer runs. */
  newest: boolean;
  /** Scenarios of the version on this machine, in catalogue order, for the way from page to page. */
  siblings: {key: string; title: string; href: string}[];
  hasComponents: boolean;
  raw: RawLink[];
}

/** A run in a list. */
export interface RunLink {
  id: string;
  startedAt: string;
  profile: Profile;
  state: RunState;
  commit: string;
  href: string;
}

export interface ScenarioCard {
  href: string;
  record: PageScenario;
  /** The run it is from, where that is not the page's. */
  otherRun?: Run;
}

/** Data of a version's page (or of one run's). */
export interface VersionData {
  place: Place;
  run: Run;
  scenarios: ScenarioCard[];
  runs: RunLink[];
}

/** Data of the list that the version picker fetches. */
export interface PickerEntry {
  version: string;
  machine: string;
  title: string;
  href: string;
}

/** Plans the front page and every page below `/benchmarks/`. Paths begin without the site's base. */
export function routes(results: Results): Plan {
  const plan: Plan = {routes: [], data: new Map()};
  put(plan, '/', 'home', {front: ['front', () => frontPage(results)]});
  put(plan, '/benchmarks/claims/', 'claims', {claims: ['claims', () => claimsData(results)]});
  put(plan, '/benchmarks/compare/', 'compare', {compare: ['compare', () => compareData(results)]});
  put(plan, '/benchmarks/gate/', 'gate', {gate: ['gate', () => gateData(results)]});
  const series = trends(results);
  put(plan, '/benchmarks/trends/', 'trendList', {list: ['trends', () => series.map(({key, title}) => ({key, title}))]});
  for (const trend of series) put(plan, `/benchmarks/trends/${trend.key}/`, 'trend', {trend: [`trends/${trend.key}`, () => trend]});
  const database = results.database ? {database: databaseLink(results.database)} : {};
  put(plan, '/benchmarks/', 'overview', {overview: ['overview', () => ({...matrixPage(results), ...database})]});
  for (const {version, href} of versionEntries(results)) {
    put(plan, href, 'versionOverview', {overview: [`overview/${version}`, () => versionPage(results, version)]});
  }
  for (const {version, machines} of results.versions) {
    for (const machine of machines) planMachine(plan, version, machine.key, byAge(machine.runs));
  }
  return plan;
}

/** What the version picker shows, newest version first. */
export function pickerEntries(results: Results): PickerEntry[] {
  return versionEntries(results).flatMap(({version, machines}) => machines.map(({key, title, href}) => ({version, machine: key, title, href})));
}

function planMachine(plan: Plan, version: string, machineKey: string, runs: LoadedRun[]): void {
  const base = `/benchmarks/${version}/${machineKey}/`;
  const newest = runs.at(-1);
  if (!newest) return;
  for (const loaded of runs) planRun(plan, `${base}run/${loaded.run.id}/`, loaded);

  const chosen = chosenByScenario(runs);
  const withComponents = runs.findLast((loaded) => loaded.run.components.length > 0);
  const siblings = [...chosen].map(([key, loaded]) => ({key, title: recordOf(loaded, key).scenario.title, href: `${base}${key}/`}));
  const place = (loaded: LoadedRun, only?: string): Place => ({
    version,
    machineKey,
    runId: loaded.run.id,
    newest: true,
    siblings,
    hasComponents: withComponents !== undefined,
    raw: rawLinks(loaded, only),
  });

  const links = runs.map((loaded) => runLink(base, loaded)).reverse();
  const data = (): VersionData => ({
    place: place(newest),
    run: newest.run,
    scenarios: [...chosen].map(([key, loaded]) => card(loaded, key, `${base}${key}/`, newest)),
    runs: links,
  });
  put(plan, base, 'version', {version: [`version/${version}/${machineKey}`, data]});
  for (const [key, loaded] of chosen) {
    putScenario(plan, `${base}${key}/`, loaded, key, () => place(loaded, key), `place/${version}/${machineKey}/${key}`);
  }
  if (withComponents) {
    put(plan, `${base}components/`, 'components', {
      run: runData(withComponents),
      place: [`place/${version}/${machineKey}/components`, () => place(withComponents, 'run')],
    });
  }
}

// The pages of one run: they depend on nothing that can be added later.
function planRun(plan: Plan, base: string, loaded: LoadedRun): void {
  const {version, machineKey, run} = loaded;
  const siblings = loaded.scenarios.map(({scenario}) => ({key: scenario.key, title: scenario.title, href: `${base}${scenario.key}/`}));
  const place = (only?: string): Place => ({
    version,
    machineKey,
    runId: run.id,
    newest: false,
    siblings,
    hasComponents: false,
    raw: rawLinks(loaded, only),
  });
  const data = (): VersionData => ({
    place: place(),
    run,
    scenarios: loaded.scenarios.map(({scenario}) => card(loaded, scenario.key, `${base}${scenario.key}/`, loaded)),
    runs: [],
  });
  put(plan, base, 'version', {version: [`run-page/${version}/${machineKey}/${run.id}`, data]});
  for (const {scenario} of loaded.scenarios) {
    putScenario(plan, `${base}${scenario.key}/`, loaded, scenario.key, () => place(scenario.key), `place/${version}/${machineKey}/${run.id}/${scenario.key}`);
  }
}

type DataSet = [name: string, value: () => unknown];

function put(plan: Plan, path: string, page: PageName, sets: Record<string, DataSet>): void {
  const data: Record<string, string> = {};
  for (const [prop, [name, value]] of Object.entries(sets)) {
    plan.data.set(name, () => breakable(value()));
    data[prop] = name;
  }
  plan.routes.push({path, page, data});
}

function putScenario(plan: Plan, path: string, loaded: LoadedRun, key: string, place: () => Place, placeName: string): void {
  put(plan, path, 'scenario', {
    record: [`scenario/${loaded.version}/${loaded.machineKey}/${loaded.run.id}/${key}`, () => recordOf(loaded, key)],
    run: runData(loaded),
    place: [placeName, place],
  });
}

function runData(loaded: LoadedRun): DataSet {
  return [`run/${loaded.version}/${loaded.machineKey}/${loaded.run.id}`, () => loaded.run];
}

function card(loaded: LoadedRun, key: string, href: string, page: LoadedRun): ScenarioCard {
  // A card needs the figures, not the trials behind them.
  const record = recordOf(loaded, key);
  const cells = record.cells.map((cell) => ({...cell, trials: [], distributions: []}));
  return {href, record: {...record, cells, processes: []}, ...(loaded === page ? {} : {otherRun: loaded.run})};
}

function recordOf(loaded: LoadedRun, key: string): PageScenario {
  const record = loaded.scenarios.find((candidate) => candidate.scenario.key === key);
  if (!record) throw new Error(`run ${loaded.run.id} holds no scenario ${key}`);
  return record;
}

function runLink(base: string, {run}: LoadedRun): RunLink {
  return {
    id: run.id,
    startedAt: run.started_at,
    profile: run.profile,
    state: run.state,
    commit: run.source.commit,
    href: `${base}run/${run.id}/`,
  };
}

function databaseLink({name, sitePath, bytes, sha256}: RawLink): RawLink {
  return {name, sitePath, bytes, sha256};
}

function rawLinks(loaded: LoadedRun, only?: string): RawLink[] {
  return loaded.files
    .filter(({name}) => only === undefined || name === 'run.json' || name === `${only}.json`)
    .map(({name, sitePath, bytes, sha256}) => ({name, sitePath, bytes, sha256}));
}
