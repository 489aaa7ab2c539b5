// Which pages follow from the stored results, and which data does each need? Pure: nothing is read or written.
import type {Profile, Run, RunState} from '../../src/generated/records';
import type {PageScenario} from '../../src/lib/record';
import {HISTOGRAMS, isScenario} from '../../src/lib/record-files';
import {claimsData, compareData} from './beyond';
import {breakable} from './breakable';
import {gateData} from './gate';
import {latestPages, measuredBefore, type MeasuredGroup} from './latest';
import type {LoadedRun, Results} from './load';
import {byAge, type Merged, mergedScenarios, scenarioKeys} from './merge';
import {frontPage, matrixPage, versionEntries, versionPage} from './overview/data';
import {trends} from './trends';

/** A kind of page; `src/document/pages.ts` has the component of each. */
export type PageName = 'home' | 'overview' | 'versionOverview' | 'version' | 'scenario' | 'components' | 'claims' | 'compare' | 'gate' | 'trend' | 'trendList' | 'latest';

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
  /** Set on the pages of one run, which never change; absent where newer runs are merged in. */
  runId?: string;
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

/** A run that a page is made of. */
export interface SourceLink extends RunLink {
  /** Cells of the page that are of this run. */
  cells: number;
}

export interface ScenarioCard {
  href: string;
  record: PageScenario;
  /** The run that the page of the scenario is of, with the targets of all where it is merged from several. */
  run: Run;
  sources: SourceLink[];
}

/** Data of the page of a scenario, beside its record and its run. */
export interface ScenarioSources {
  links: SourceLink[];
  /** In the order of the links. */
  runs: Run[];
}

/** Data of a version's page (or of one run's). */
export interface VersionData {
  place: Place;
  run: Run;
  scenarios: ScenarioCard[];
  runs: RunLink[];
  /** Scenarios that were measured before, or on another machine; of a run nothing. */
  before: MeasuredGroup[];
}

/** Data of the list that the version picker fetches. */
export interface PickerEntry {
  version: string;
  machine: string;
  title: string;
  href: string;
  /** Keys of its scenarios; `components` where it has that page. */
  scenarios: string[];
}

/** Plans the front page and every page below `/benchmarks/`. Paths begin without the site's base. */
export function routes(results: Results): Plan {
  const plan: Plan = {routes: [], data: new Map()};
  put(plan, '/', 'home', {front: ['front', () => frontPage(results)]});
  put(plan, '/benchmarks/claims/', 'claims', {claims: ['claims', () => claimsData(results)]});
  put(plan, '/benchmarks/compare/', 'compare', {compare: ['compare', () => compareData(results)]});
  put(plan, '/benchmarks/gate/', 'gate', {gate: ['gate', () => gateData(results)]});
  for (const page of latestPages(results)) put(plan, `/benchmarks/latest/${page.key}/`, 'latest', {latest: [`latest/${page.key}`, () => page]});
  const series = trends(results);
  put(plan, '/benchmarks/trends/', 'trendList', {list: ['trends', () => series.map(({key, title}) => ({key, title}))]});
  for (const trend of series) put(plan, `/benchmarks/trends/${trend.key}/`, 'trend', {trend: [`trends/${trend.key}`, () => trend]});
  const database = results.database ? {database: databaseLink(results.database)} : {};
  put(plan, '/benchmarks/', 'overview', {overview: ['overview', () => ({...matrixPage(results), ...database})]});
  for (const {version, href} of versionEntries(results)) {
    put(plan, href, 'versionOverview', {overview: [`overview/${version}`, () => versionPage(results, version)]});
  }
  for (const {version, machines} of results.versions) {
    for (const machine of machines) planMachine(plan, results, version, machine.key, byAge(machine.runs));
  }
  return plan;
}

/** What the version picker shows, newest version first. */
export function pickerEntries(results: Results): PickerEntry[] {
  const runsOf = (version: string, machine: string) => results.versions.find((one) => one.version === version)?.machines.find(({key}) => key === machine)?.runs ?? [];
  return versionEntries(results).flatMap(({version, machines}) =>
    machines.map(({key, title, href}) => {
      const runs = runsOf(version, key);
      const hasComponents = runs.some(({run}) => run.components.length > 0);
      return {version, machine: key, title, href, scenarios: [...scenarioKeys(runs), ...(hasComponents ? ['components'] : [])]};
    }),
  );
}

function planMachine(plan: Plan, results: Results, version: string, machineKey: string, runs: LoadedRun[]): void {
  const base = `/benchmarks/${version}/${machineKey}/`;
  const newest = runs.at(-1);
  if (!newest) return;
  for (const loaded of runs) planRun(plan, base, loaded);

  const merged = mergedScenarios(runs);
  const withComponents = runs.findLast((loaded) => loaded.run.components.length > 0);
  const siblings = [...merged].map(([key, {record}]) => ({key, title: record.scenario.title, href: `${base}${key}/`}));
  const place = (of: LoadedRun[], only?: string): Place => ({
    version,
    machineKey,
    siblings,
    hasComponents: withComponents !== undefined,
    // Files of several runs have the same names.
    raw: of.flatMap((loaded) => rawLinks(loaded, only).map((link) => (of.length > 1 ? {...link, name: `${loaded.run.id}/${link.name}`} : link))),
  });

  const links = runs.map((loaded) => runLink(base, loaded)).reverse();
  const data = (): VersionData => ({
    place: place([newest]),
    run: newest.run,
    scenarios: [...merged].map(([key, one]) => card(one, base, key)),
    runs: links,
    before: measuredBefore(results, version, machineKey),
  });
  put(plan, base, 'version', {version: [`version/${version}/${machineKey}`, data]});
  for (const [key, one] of merged) {
    putScenario(plan, base, key, one, `${version}/${machineKey}`, () => place(one.sources.map(({loaded}) => loaded), key));
  }
  if (withComponents) {
    put(plan, `${base}components/`, 'components', {
      run: [`run/${version}/${machineKey}/${withComponents.run.id}`, () => withComponents.run],
      place: [`place/${version}/${machineKey}/components`, () => place([withComponents], 'run')],
    });
  }
}

// The pages of one run: they depend on nothing that can be added later.
function planRun(plan: Plan, home: string, loaded: LoadedRun): void {
  const {version, machineKey, run} = loaded;
  const base = `${home}run/${run.id}/`;
  const siblings = loaded.scenarios.map(({scenario}) => ({key: scenario.key, title: scenario.title, href: `${base}${scenario.key}/`}));
  const place = (only?: string): Place => ({version, machineKey, runId: run.id, siblings, hasComponents: false, raw: rawLinks(loaded, only)});
  const alone = mergedScenarios([loaded]);
  const data = (): VersionData => ({place: place(), run, scenarios: [...alone].map(([key, one]) => ({...card(one, home, key), href: `${base}${key}/`})), runs: [], before: []});
  put(plan, base, 'version', {version: [`run-page/${version}/${machineKey}/${run.id}`, data]});
  for (const [key, one] of alone) putScenario(plan, base, key, one, `${version}/${machineKey}/${run.id}`, () => place(key), home);
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

/** The page of a scenario below `base`; `home` is the page of the version, below which are those of its runs. */
function putScenario(plan: Plan, base: string, key: string, {record, run, sources}: Merged<LoadedRun>, name: string, place: () => Place, home = base): void {
  put(plan, `${base}${key}/`, 'scenario', {
    record: [`scenario/${name}/${key}`, () => record],
    run: [`run/${name}/${key}`, () => withoutComponents(run)],
    sources: [`sources/${name}/${key}`, (): ScenarioSources => ({links: sourceLinks(home, key, sources), runs: sources.map(({loaded}) => withoutComponents(loaded.run))})],
    place: [`place/${name}/${key}`, place],
  });
}

/** Components have a page of their own. */
function withoutComponents(run: Run): Run {
  return {...run, components: []};
}

function card({record, run, sources}: Merged<LoadedRun>, base: string, key: string): ScenarioCard {
  // A card needs the figures, not the trials behind them.
  const cells = record.cells.map((cell) => ({...cell, trials: [], distributions: []}));
  return {href: `${base}${key}/`, record: {...record, cells, processes: []}, run: withoutComponents(run), sources: sourceLinks(base, key, sources)};
}

function sourceLinks(home: string, key: string, sources: Merged<LoadedRun>['sources']): SourceLink[] {
  return sources.map(({loaded, cells}) => {
    const link = runLink(home, loaded);
    return {...link, href: `${link.href}${key}/`, cells};
  });
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
    .filter(({name}) => only === undefined || name === 'run.json' || name === HISTOGRAMS || isScenario(name, only))
    .map(({name, sitePath, bytes, sha256}) => ({name, sitePath, bytes, sha256}));
}
