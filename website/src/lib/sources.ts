// The runs of a page that is merged from several: what each was measured on, the same environment once. Pure.
import type {Run} from '../generated/records';
import type {PageScenario} from './record';

/** Runs under the same conditions, as far as the page shows them. */
export interface EnvironmentGroup {
  /** The first of them, with the targets that it measured for the page. */
  run: Run;
  /** The others. */
  others: Run[];
  /** The part of the page's record that is theirs. */
  record: PageScenario;
}

/** Environments of the runs of a page, in their order. */
export function environmentGroups(record: PageScenario, runs: Run[]): EnvironmentGroup[] {
  const [only] = runs;
  if (only && runs.length === 1) return [{run: only, others: [], record}];
  const groups = new Map<string, EnvironmentGroup>();
  for (const run of runs) {
    const own = partOf(record, run);
    const shown = {...run, targets: run.targets.filter(({key}) => own.cells.some(({target}) => target === key))};
    const group = groups.get(conditions(shown));
    if (group) {
      group.others.push(run);
      const more = own.processes.filter(({target, mode}) => group.record.processes.every((known) => known.target !== target || known.mode !== mode));
      group.record = {...group.record, cells: [...group.record.cells, ...own.cells], processes: [...group.record.processes, ...more]};
    } else {
      groups.set(conditions(shown), {run: shown, others: [], record: own});
    }
  }
  return [...groups.values()];
}

/** What one run has measured of a record, under the names that its targets have there. */
function partOf(record: PageScenario, run: Run): PageScenario {
  const cells = record.cells.filter((cell) => cell.run_id === run.id);
  const processes = record.processes.filter((process) => cells.some(({target, mode}) => target === process.target && mode === process.mode));
  const named = <T extends {target: string}>(one: T): T => ({...one, target: plainKey(one.target)});
  return {...record, cells: cells.map(named), processes: processes.map(named)};
}

/** Key of a target in its own run: `merge` tells programs of the same key apart. */
export function plainKey(target: string): string {
  return target.replace(/~.*$/, '');
}

// Load and disk are measured anew by each run; what else differs makes another environment.
function conditions({machine, environment, targets, source, tool}: Run): string {
  const {load_average_start: _load, disk_syncs_per_second: _syncs, disk_sync_ns_p50: _sync, ...lasting} = environment;
  return JSON.stringify([machine, lasting, targets, source, tool]);
}
