// The page of a scenario of one version on one machine, merged cell by cell from all runs that have it. Pure.
//
// Per cell the run of the longest profile wins, of those the newest: chosen by that alone, never by figures. A cell that was
// skipped was not measured, so it displaces none that was; a cell that failed was tried, and stays. Revisions of a scenario
// are different things: only the newest counts. A ratio is of two cells of one run, so it stays where both come from it.
import type {Profile, Run, ScenarioInfo, TargetRecord} from '../../src/generated/records';
import type {PageCell, PageScenario} from '../../src/lib/record';
import {plainKey} from '../../src/lib/sources';

/** As much of a stored run as merging needs. */
export interface Measured {
  run: Run;
  scenarios: PageScenario[];
}

/** A scenario's page, and the runs that it is made of. */
export interface Merged<L extends Measured = Measured> {
  record: PageScenario;
  /** What the page says of its run: that of the longest profile, with the targets and the notes of all. */
  run: Run;
  /** Runs with a cell on the page: longest profile first, of those the newest. */
  sources: Source<L>[];
}

export interface Source<L extends Measured = Measured> {
  loaded: L;
  cells: number;
}

const LENGTH: Record<Profile, number> = {smoke: 0, quick: 1, release: 2, full: 3};

/** Oldest first. */
export function byAge<L extends {run: Pick<Run, 'id' | 'started_at'>}>(runs: L[]): L[] {
  return [...runs].sort((a, b) => a.run.started_at.localeCompare(b.run.started_at) || a.run.id.localeCompare(b.run.id));
}

/** Longest profile first, of those the newest. */
export function byRank<L extends {run: Pick<Run, 'id' | 'started_at' | 'profile'>}>(runs: L[]): L[] {
  return byAge(runs)
    .reverse()
    .sort((a, b) => LENGTH[b.run.profile] - LENGTH[a.run.profile]);
}

/** Keys of the scenarios that the runs have, in the order of the newest run that has each. */
export function scenarioKeys(runs: {run: Pick<Run, 'id' | 'started_at'>; scenarios: {scenario: Pick<ScenarioInfo, 'key'>}[]}[]): string[] {
  return [...new Set(byAge(runs).reverse().flatMap(({scenarios}) => scenarios.map(({scenario}) => scenario.key)))];
}

/** Every scenario of the runs of one version on one machine, by its key. */
export function mergedScenarios<L extends Measured>(runs: L[]): Map<string, Merged<L>> {
  return new Map(scenarioKeys(runs).map((key) => [key, merged(runs, key)]));
}

interface Candidate<L> {
  loaded: L;
  record: PageScenario;
}

function merged<L extends Measured>(runs: L[], key: string): Merged<L> {
  const all = byRank(runs).flatMap((loaded): Candidate<L>[] => loaded.scenarios.filter(({scenario}) => scenario.key === key).map((record) => ({loaded, record})));
  const revision = Math.max(...all.map(({record}) => record.scenario.revision));
  const candidates = all.filter(({record}) => record.scenario.revision === revision);
  const chosen = withoutSmaller(chosenCells(candidates), candidates);
  const contributing = candidates.filter(({record}) => record.cells.some((cell) => chosen.get(cell.key) === cell));
  const [first] = contributing.length > 0 ? contributing : candidates;
  if (!first) throw new Error(`no run holds scenario ${key}`);
  // A page of one run is that run's, to the byte.
  if (contributing.length <= 1) return {record: first.record, run: first.loaded.run, sources: [{loaded: first.loaded, cells: first.record.cells.length}]};

  const {targets, nameOf} = mergedTargets(contributing);
  const own = ({record}: Candidate<L>) => record.cells.filter((cell) => chosen.get(cell.key) === cell);
  const renamed = new Map(contributing.flatMap((candidate) => own(candidate).map((cell): [PageCell, PageCell] => [cell, {...cell, target: nameOf(candidate, cell.target)}])));
  const record: PageScenario = {
    ...first.record,
    cells: inOrder(contributing.map(({record: {cells}}) => cells)).flatMap((cellKey) => renamed.get(chosen.get(cellKey) as PageCell) ?? []),
    ratios: contributing.flatMap((candidate) => {
      const keys = new Set(own(candidate).map((cell) => cell.key));
      return candidate.record.ratios.filter(({numerator, denominator}) => keys.has(numerator) && keys.has(denominator));
    }),
    processes: mergedProcesses(contributing, own, nameOf),
  };
  const run: Run = {...first.loaded.run, targets, notes: [...new Set(contributing.flatMap(({loaded}) => loaded.run.notes))]};
  return {record, run, sources: contributing.map((candidate) => ({loaded: candidate.loaded, cells: own(candidate).length}))};
}

/** The cell that stands for each key. Candidates come in the order of their rank. */
function chosenCells<L extends Measured>(candidates: Candidate<L>[]): Map<string, PageCell> {
  const chosen = new Map<string, PageCell>();
  const isAvailable = (target: string) => candidates.some(({loaded}) => targetIn(loaded.run, target)?.available);
  for (const {loaded, record} of candidates) {
    for (const cell of record.cells) {
      // Not found in this run, but measured in another: nothing is absent.
      if (targetIn(loaded.run, cell.target)?.available === false && isAvailable(cell.target)) continue;
      const before = chosen.get(cell.key);
      if (!before || (before.status === 'skipped' && cell.status !== 'skipped')) chosen.set(cell.key, cell);
    }
  }
  return chosen;
}

/** Without the rows of embedded engines that a longer profile measured with another amount of data, engine by engine. */
function withoutSmaller<L extends Measured>(chosen: Map<string, PageCell>, candidates: Candidate<L>[]): Map<string, PageCell> {
  if (candidates[0]?.record.scenario.kind !== 'embedded') return chosen;
  const lengthOf = new Map(candidates.flatMap(({loaded, record}) => record.cells.map((cell): [PageCell, number] => [cell, LENGTH[loaded.run.profile]])));
  const length = (cell: PageCell) => lengthOf.get(cell) ?? 0;
  const measured = [...chosen.values()].filter(({status}) => status !== 'skipped');
  const longest = new Map<string, number>();
  for (const cell of measured) longest.set(anySize(cell), Math.max(length(cell), longest.get(anySize(cell)) ?? 0));
  const isAlone = (cell: PageCell) => length(cell) >= (longest.get(anySize(cell)) ?? 0);
  const staying = new Set(measured.filter(isAlone).map(rowOf));
  return new Map([...chosen].filter(([, cell]) => staying.has(rowOf(cell)) || !longest.has(anySize(cell))));
}

/** The same for cells that differ in the number of keys alone. */
function anySize({target, mode, placement, axes}: PageCell): string {
  return JSON.stringify([target, mode, placement, Object.entries({...axes, keys: undefined}).sort()]);
}

/** The same for the cells of a run that are compared with each other. */
function rowOf({run_id: run, placement, label}: PageCell): string {
  return JSON.stringify([run, placement, label]);
}

/** Keys of all lists, each behind the one that it follows in its own list; the first list leads, and one that shares none with others comes last. */
function inOrder(lists: {key: string}[][]): string[] {
  const [first = [], ...others] = lists;
  const order = first.map(({key}) => key);
  const known = new Set(order);
  for (const list of others) {
    let behind = list.some(({key}) => known.has(key)) ? -1 : order.length - 1;
    for (const {key} of list) {
      if (known.has(key)) {
        behind = order.indexOf(key);
        continue;
      }
      behind += 1;
      order.splice(behind, 0, key);
      known.add(key);
    }
  }
  return order;
}

/** Targets of all runs. One that was another program in another run (Redis of a newer version) is another target. */
function mergedTargets<L extends Measured>(contributing: Candidate<L>[]): {targets: TargetRecord[]; nameOf: (candidate: Candidate<L>, target: string) => string} {
  const targets: TargetRecord[] = [];
  const names = new Map<string, string>();
  const all = contributing.flatMap(({loaded: {run}}) => run.targets.map((target) => ({target, run})));
  // Those that were found first: one that was missing in one run alone is not missing.
  for (const {target, run} of [...all.filter(({target}) => target.available), ...all.filter(({target}) => !target.available)]) {
    const namesake = targets.find(({key}) => key === target.key);
    const alike = targets.find((known) => identity(known) === identity(target)) ?? (target.available ? undefined : namesake);
    const key = alike?.key ?? (namesake ? `${target.key}~${run.id}` : target.key);
    names.set(`${run.id}/${target.key}`, key);
    if (!alike) targets.push({...target, key});
  }
  return {targets, nameOf: ({loaded}, target) => names.get(`${loaded.run.id}/${target}`) ?? target};
}

function identity({key, title, version, allocator}: TargetRecord): string {
  return JSON.stringify([plainKey(key), title, version, allocator]);
}

function mergedProcesses<L extends Measured>(
  contributing: Candidate<L>[],
  own: (candidate: Candidate<L>) => PageCell[],
  nameOf: (candidate: Candidate<L>, target: string) => string,
): PageScenario['processes'] {
  const found = new Map<string, PageScenario['processes'][number]>();
  for (const candidate of contributing) {
    const here = new Set(own(candidate).map(({target, mode}) => `${target}/${mode}`));
    for (const process of candidate.record.processes.filter(({target, mode}) => here.has(`${target}/${mode}`))) {
      const target = nameOf(candidate, process.target);
      const id = `${target}/${process.mode}`;
      if (!found.has(id)) found.set(id, {...process, target});
    }
  }
  return [...found.values()];
}

function targetIn(run: Run, key: string): TargetRecord | undefined {
  return run.targets.find((target) => target.key === key);
}
