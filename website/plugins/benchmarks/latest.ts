// Where each scenario was measured last: over all versions for `/benchmarks/latest/`, and before a version for the
// scenarios that it lacks. Pure.
import type {Profile, Run} from '../../src/generated/records';
import catalogue from '../../src/generated/scenarios.json';
import type {LoadedRun, Results} from './load';
import {byAge, byRank, mergedScenarios} from './merge';

/** The page of a scenario of a version on a machine. */
export interface MeasuredPage {
  key: string;
  title: string;
  version: string;
  machineKey: string;
  machine: string;
  /** The longest of its runs. */
  profile: Profile;
  href: string;
}

export interface MeasuredGroup {
  title: string;
  pages: MeasuredPage[];
}

/** Of each scenario the newest version that has it, on the machine with the longest profile there, then with the newest run. */
export function latestPages({versions}: Results): MeasuredPage[] {
  // What was measured in this checkout alone is never the latest of what was published.
  const local = versions.filter(({version}) => version === 'local');
  return newestOf([...local, ...versions.filter(({version}) => version !== 'local')]);
}

/** Scenarios that `version` lacks on a machine (on all of its machines without one), and where they were measured last, by group. */
export function measuredBefore({versions}: Results, version: string, machineKey?: string): MeasuredGroup[] {
  const until = versions.slice(0, versions.findIndex((one) => one.version === version) + 1);
  const own = until.at(-1)?.machines.filter(({key}) => machineKey === undefined || key === machineKey) ?? [];
  const here = new Set(own.flatMap(({runs}) => candidatesOf(runs).map(({key}) => key)));
  return grouped(newestOf(until).filter(({key}) => !here.has(key)));
}

/** The page of criterion's estimates, which is looked for like a scenario. */
const COMPONENTS = {key: 'components', title: 'Components'};

// Versions come oldest first.
function newestOf(versions: Results['versions']): MeasuredPage[] {
  const found = new Map<string, MeasuredPage>();
  for (const {version, machines} of [...versions].reverse()) {
    const candidates = machines.flatMap(({key: machineKey, runs}) => candidatesOf(runs).map((one) => ({...one, machineKey})));
    for (const {key, title, machineKey, run} of byRank(candidates)) {
      if (found.has(key)) continue;
      const {profile, machine} = run;
      found.set(key, {key, title, version, machineKey, machine: machine.title || machineKey, profile, href: `/benchmarks/${version}/${machineKey}/${key}/`});
    }
  }
  return inOrder([...found.values()]);
}

/** What a version has on a machine, each with the longest profile and the newest start of its runs. */
function candidatesOf(runs: LoadedRun[]): {key: string; title: string; run: Run}[] {
  const withComponents = byAge(runs).findLast(({run}) => run.components.length > 0);
  const scenarios = [...mergedScenarios(runs)].map(([key, {record, run, sources}]) => {
    const newest = byAge(sources.map(({loaded}) => loaded)).at(-1)?.run ?? run;
    return {key, title: record.scenario.title, run: {...run, started_at: newest.started_at}};
  });
  return [...scenarios, ...(withComponents ? [{...COMPONENTS, run: withComponents.run}] : [])];
}

/** As the catalogue of scenarios orders them; those that it no longer has come last. */
function inOrder(pages: MeasuredPage[]): MeasuredPage[] {
  const keys = catalogue.scenarios.map(({key}) => key);
  const place = ({key}: MeasuredPage) => (keys.includes(key) ? keys.indexOf(key) : keys.length);
  return pages.sort((a, b) => place(a) - place(b) || a.key.localeCompare(b.key));
}

function grouped(pages: MeasuredPage[]): MeasuredGroup[] {
  const groupOf = new Map(catalogue.scenarios.map(({key, group}) => [key, group]));
  const groups = [...catalogue.groups, {key: undefined, title: 'Other scenarios'}];
  return groups
    .map(({key, title}) => ({title, pages: pages.filter((page) => groupOf.get(page.key) === key)}))
    .filter((group) => group.pages.length > 0);
}
