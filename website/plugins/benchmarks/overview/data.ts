// Data of `/benchmarks/`, of `/benchmarks/<version>/` and of the landing page: matrices and ways to every page. Pure.
import {decided, type MatrixRow, type MatrixTable, ofOneRun, type Tally, tally} from '../../../src/lib/matrix';
import {measuredBefore, type MeasuredGroup} from '../latest';
import type {Results} from '../load';
import {byAge, mergedScenarios} from '../merge';
import {matrix, type Source} from './matrix';

/** A link to a page of results. */
export interface PageLink {
  /** Key of the scenario. */
  key: string;
  title: string;
  href: string;
}

/** A machine of one version. */
export interface MachineEntry {
  key: string;
  title: string;
  href: string;
}

export interface VersionEntry {
  version: string;
  href: string;
  machines: MachineEntry[];
}

/** Data of `/benchmarks/`. */
export interface MatrixPageData {
  tables: MatrixTable[];
  /** Newest page of each scenario that no row is about. */
  others: PageLink[];
  /** Newest first. */
  versions: VersionEntry[];
}

/** Data of `/benchmarks/<version>/`: it never changes when other versions are added. */
export interface VersionPageData {
  version: string;
  machines: (MachineEntry & {tables: MatrixTable[]; scenarios: PageLink[]})[];
  /** Scenarios that were measured before alone. */
  before: MeasuredGroup[];
}

/** Data of the landing page. Absent rows: no stored run has them. */
export interface FrontData {
  /** CPUs of the largest machine that anything was measured on. */
  threads?: number;
  server?: MatrixRow;
  store?: MatrixRow;
  /** The decided comparison that we lose by most. */
  loss?: MatrixRow;
  /** How all comparisons of the matrix came out. */
  tally: Tally;
}

/** Rows of the landing page: the first that is stored is taken. */
const SERVER_HEADLINES = ['pipelined-reads', 'many-connections', 'one-connection'];
const STORE_HEADLINES = ['mixed', 'random-reads', 'load'];

/** All runs of published versions, oldest version first; those of this checkout alone where nothing is published. */
export function published({versions}: Results): Source[] {
  const committed = versions.filter(({version}) => version !== 'local');
  return (committed.length > 0 ? committed : versions).flatMap(({machines}) => machines.flatMap(({runs}) => runs));
}

export function matrixPage(results: Results): MatrixPageData {
  const tables = matrix(published(results));
  return {tables, others: otherScenarios(results, tables), versions: versionEntries(results)};
}

export function versionPage(results: Results, version: string): VersionPageData {
  const found = results.versions.find((one) => one.version === version);
  const machines = (found?.machines ?? []).filter(({runs}) => runs.length > 0);
  return {
    version,
    before: measuredBefore(results, version),
    machines: machines.map((machine) => {
      const entry = machineEntry(version, machine);
      const scenarios = [...mergedScenarios(machine.runs)].map(([key, {record}]) => ({key, title: record.scenario.title, href: `${entry.href}${key}/`}));
      return {...entry, tables: matrix(machine.runs), scenarios};
    }),
  };
}

/** Versions with their machines, newest first. */
export function versionEntries({versions}: Results): VersionEntry[] {
  const entries = versions.flatMap(({version, machines}) => {
    const listed = machines.filter(({runs}) => runs.length > 0).map((machine) => machineEntry(version, machine));
    return listed.length > 0 ? [{version, href: `/benchmarks/${version}/`, machines: listed}] : [];
  });
  return entries.reverse();
}

function machineEntry(version: string, {key, runs}: Results['versions'][number]['machines'][number]): MachineEntry {
  const title = byAge(runs).at(-1)?.run.machine.title;
  return {key, title: title || key, href: `/benchmarks/${version}/${key}/`};
}

function otherScenarios(results: Results, tables: MatrixTable[]): PageLink[] {
  const shown = new Set(tables.flatMap(({rows}) => rows.map(({origin}) => origin.href.split('/').at(-2))));
  const newest = new Map<string, PageLink>();
  for (const {version, machineKey, scenarios} of published(results)) {
    for (const {scenario: {key, title}} of scenarios) {
      if (!shown.has(key)) newest.set(key, {key, title, href: `/benchmarks/${version}/${machineKey}/${key}/`});
    }
  }
  return [...newest.values()].sort((a, b) => a.key.localeCompare(b.key));
}

export function frontPage(results: Results): FrontData {
  const sources = published(results);
  const tables = matrix(sources);
  // A bar alone compares nothing.
  const rows = tables.flatMap((table) => table.rows).map(ofOneRun).filter(({cells}) => cells.length > 1);
  const named = (keys: string[]) => keys.flatMap((key) => rows.find((row) => row.key === key) ?? [])[0];
  const [server, store] = [named(SERVER_HEADLINES), named(STORE_HEADLINES)];
  const loss = worstLoss(rows);
  return {
    ...(sources.length > 0 ? {threads: Math.max(...sources.map(({run}) => run.machine.threads))} : {}),
    ...(server ? {server} : {}),
    ...(store ? {store} : {}),
    ...(loss ? {loss} : {}),
    tally: tally(tables),
  };
}

/** The row with the smallest decided factor. */
function worstLoss(rows: MatrixRow[]): MatrixRow | undefined {
  const worst = (row: MatrixRow) => Math.min(...row.cells.flatMap(({factor}) => (factor && decided(factor) === 'theirs' ? [factor.median] : [])));
  const lost = rows.filter((row) => worst(row) < 1);
  return lost.sort((a, b) => worst(a) - worst(b))[0];
}
