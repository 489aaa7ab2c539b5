// Which parts of a stored record does a page need, and how does it find them?
import type {
  Cell,
  Measurement,
  Mode,
  Placement,
  ProcessFacts,
  Ratio,
  Role,
  Run,
  ScenarioRecord,
  TargetRecord,
  Trial,
  Window,
} from '../generated/records';

/** A trial without its histograms: those stay in the raw file. Windows come along where a long load has them. */
export type PageTrial = Pick<Trial, 'index' | 'status' | 'reason' | 'elapsed_s' | 'counts' | 'values' | 'facts' | 'open_loop'> & {
  windows?: Window[];
};
export type PageCell = Omit<Cell, 'trials' | 'merged_histograms'> & {
  trials: PageTrial[];
  /** The run that measured it: a page may be merged from several. Cells of different runs are never compared. */
  run_id: string;
};

/** One process per target and mode, as the kernel told of it. */
export interface PageProcess {
  target: string;
  mode: Mode;
  facts: Omit<ProcessFacts, 'pid' | 'rss_bytes_start' | 'container_id'>;
}

/** What the page of a scenario is made of. */
export type PageScenario = Omit<ScenarioRecord, 'cells'> & {cells: PageCell[]; processes: PageProcess[]};

/** Cuts a record down to what is drawn; the raw file is offered whole. */
export function pageScenario(record: ScenarioRecord): PageScenario {
  const processes = new Map<string, PageProcess>();
  for (const cell of record.cells) {
    const process = cell.trials.find((trial) => trial.process)?.process;
    const id = `${cell.target}/${cell.mode}`;
    if (!process || processes.has(id)) continue;
    const {pid: _pid, rss_bytes_start: _rss, container_id: _container, ...facts} = process;
    processes.set(id, {target: cell.target, mode: cell.mode, facts});
  }
  const cells = record.cells.map(({merged_histograms: _merged, ...cell}) => ({
    ...cell,
    run_id: record.run_id,
    trials: cell.trials.map(({index, status, reason, elapsed_s, counts, values, facts, open_loop, windows}) => ({
      index,
      status,
      ...(reason === undefined ? {} : {reason}),
      elapsed_s,
      counts,
      values,
      facts,
      ...(open_loop === undefined ? {} : {open_loop}),
      ...(isLong(windows) ? {windows} : {}),
    })),
  }));
  return {...record, cells, processes: [...processes.values()]};
}

/** Enough windows with percentiles of their own, or with the memory at their end, to draw how a load went on. */
function isLong(windows: Window[]): boolean {
  const timed = windows.filter((window) => window.latency_ns_p99 !== undefined).length;
  const withMemory = windows.filter((window) => window.rss_bytes !== undefined).length;
  return Math.max(timed, withMemory) >= 5;
}

export const MODE_LABELS: Record<Mode, string> = {
  native: 'native',
  container_host: 'container, host network',
  container_published: 'container, published port',
  native_limited: 'native, same limits',
  container_no_io_uring: 'container, io_uring forbidden',
  external: 'already running',
};

export const PLACEMENT_LABELS: Record<Placement, string> = {
  apart: 'server and generator on CPUs of their own',
  together: 'server and generator on one CPU',
  unpinned: 'not pinned',
};

/** `Redis 7.0.15 (Debian, jemalloc 5.2.1)` → `Redis 7.0.15`. */
export function shortTitle(target: TargetRecord | undefined, key: string): string {
  return target?.title.replace(/\s*\(.*$/, '') || key;
}

/** Name of a server that was not measured: its title stands where a version was to be found. */
export function absentTitle({title, key}: TargetRecord): string {
  return title.replace(/ not found\b/, '') || key;
}

export function targetOf(run: Run, key: string): TargetRecord | undefined {
  return run.targets.find((target) => target.key === key);
}

export function roleOf(run: Run, key: string): Role {
  return targetOf(run, key)?.role ?? 'rival';
}

/** The cells that were measured at one point of the axes, in the order in which they are shown. */
export interface Point {
  /** Stable within the scenario. */
  id: string;
  /** `SET 64 B, 50 clients`, with the placement where it is not the usual one. */
  label: string;
  operation: string;
  placement: Placement;
  axes: Cell['axes'];
  cells: PageCell[];
}

/** As the container ladder climbs: each step changes one thing. */
export const MODES: Mode[] = ['native', 'native_limited', 'container_host', 'container_published', 'container_no_io_uring', 'external'];
export const ROLES: Role[] = ['subject', 'rival', 'floor', 'ceiling'];

/** Whether a target answers a constant and keeps nothing: the floor of the machine, or the generator's ceiling. */
export function keepsNothing(run: Run, key: string): boolean {
  return ['floor', 'ceiling'].includes(roleOf(run, key));
}

/** Label of a cell's point: a switch is told in the rows, not in the point, and one CPU for both sides is. */
export function pointLabel({label, axes, placement}: Pick<PageCell, 'label' | 'axes' | 'placement'>): string {
  const own = axes.variant === undefined ? label : label.replace(`, ${axes.variant}`, '');
  return placement === 'together' ? `${own}, on one CPU` : own;
}

/** Cells by point of the axes, in the record's order; within a point ours, then rivals, then floor and ceiling. */
export function points(record: PageScenario, run: Run): Point[] {
  const found = new Map<string, Point>();
  for (const cell of record.cells) {
    const label = pointLabel(cell);
    const id = `${label}/${cell.placement}`;
    const point = found.get(id) ?? {id, label, operation: cell.axes.operation, placement: cell.placement, axes: cell.axes, cells: []};
    point.cells.push(cell);
    found.set(id, point);
  }
  const rank = (cell: PageCell) => ROLES.indexOf(roleOf(run, cell.target)) * 100 + MODES.indexOf(cell.mode) * 10 + (cell.axes.variant === undefined ? 0 : 1);
  for (const point of found.values()) point.cells.sort((a, b) => rank(a) - rank(b) || a.target.localeCompare(b.target));
  return [...found.values()];
}

export function measurement(cell: PageCell, metric: string, operation?: string): Measurement | undefined {
  return cell.measurements.find((m) => m.metric === metric && m.operation === operation);
}

/** One value per ok trial, in the order of the trials. */
export function trialValues(cell: PageCell, metric: string, operation?: string): number[] {
  return cell.trials
    .filter((trial) => trial.status === 'ok')
    .flatMap((trial) => trial.values.filter((v) => v.metric === metric && v.operation === operation))
    .map((v) => v.value);
}

/** Above this share of busy time the load generator, not the server, set the pace. */
export const GENERATOR_CEILING = 0.95;

export function generatorAtCeiling(cell: PageCell): boolean {
  return (measurement(cell, 'generator_busy')?.median ?? 0) > GENERATOR_CEILING;
}

export function ratioOf(record: PageScenario, kind: string, metric: string, numerator: string): Ratio | undefined {
  return record.ratios.find(
    (r) => r.kind === kind && r.metric === metric && r.numerator === numerator && r.operation === undefined,
  );
}
