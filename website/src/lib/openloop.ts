// Open loops: latency from the intended start over the offered rate, the knee, and what was left undone.
import type {LineSeries} from '../charts/RateChart';
import type {Measurement, Run} from '../generated/records';
import {lineLabel, lookOf} from './figures';
import {axesWithout, isOpenLoop} from './parts';
import {measurement, MODES, type PageCell, type PageScenario, pointLabel, roleOf, trialValues} from './record';

/** One server in one mode under rising rates. */
export interface RateLine {
  id: string;
  cells: PageCell[];
  /** Highest rate that was answered in time. */
  knee?: PageCell;
  /** The closed loop's throughput. */
  peak?: PageCell;
}

/** One load (operation, value size, connections) with its servers. */
export interface RateGroup {
  label: string;
  lines: RateLine[];
}

const RATE_AXES = ['operation', 'rate_percent', 'rate_per_second', 'rate_percent_of_slowest', 'arrival'] as const;

/** Open-loop cells by load and server; knee and peak are found by the axes that they share. */
export function rateGroups(record: PageScenario, run: Run): RateGroup[] {
  const groups = new Map<string, RateGroup>();
  const own = record.cells.filter((cell) => cell.axes.client_program === undefined && cell.status === 'ok');
  const sought = own.filter((cell) => cell.axes.operation === 'knee' || cell.axes.operation === 'peak');
  for (const cell of own.filter((candidate) => isOpenLoop(candidate) && candidate.axes.operation !== 'knee')) {
    const load = `${cell.axes.operation}/${axesWithout(cell.axes, ...RATE_AXES, 'variant')}/${cell.placement}`;
    const group = groups.get(load) ?? {label: loadLabel(cell), lines: []};
    groups.set(load, group);
    const id = `${cell.target}/${cell.mode}/${cell.axes.variant ?? ''}`;
    let line = group.lines.find((candidate) => candidate.id === id);
    if (!line) {
      const like = (operation: string) =>
        sought.find(
          (candidate) =>
            candidate.run_id === cell.run_id &&
            candidate.axes.operation === operation &&
            candidate.target === cell.target &&
            candidate.mode === cell.mode &&
            axesWithout(candidate.axes, ...RATE_AXES) === axesWithout(cell.axes, ...RATE_AXES),
        );
      const [knee, peak] = [like('knee'), like('peak')];
      line = {id, cells: [], ...(knee ? {knee} : {}), ...(peak ? {peak} : {})};
      group.lines.push(line);
    }
    line.cells.push(cell);
  }
  const rank = (line: RateLine) => {
    const cell = line.cells[0];
    return cell ? (roleOf(run, cell.target) === 'subject' ? 0 : roleOf(run, cell.target) === 'rival' ? 10 : 20) + MODES.indexOf(cell.mode) : 0;
  };
  for (const group of groups.values()) {
    group.lines.sort((a, b) => rank(a) - rank(b) || a.id.localeCompare(b.id));
    for (const line of group.lines) line.cells.sort((a, b) => offered(a) - offered(b));
  }
  return [...groups.values()];
}

/** A load without its rate and without a switch: `GET 64 B, 50 clients`. */
export function loadLabel(cell: PageCell): string {
  return pointLabel(cell).replace(/, (?:Poisson|evenly) at [^,]*/, '');
}

/** Offered requests per second: as measured, else the mean of what the trials offered. */
export function offered(cell: PageCell): number {
  return measurement(cell, 'offered_per_second')?.median ?? meanOf(cell, 'offered_per_second') ?? cell.axes.rate_per_second ?? 0;
}

export function achieved(cell: PageCell): Pick<Measurement, 'median' | 'low' | 'high'> | undefined {
  const stored = measurement(cell, 'achieved_per_second') ?? measurement(cell, 'ops_per_second');
  const mean = meanOf(cell, 'achieved_per_second');
  return stored ?? (mean === undefined ? undefined : {median: mean, low: mean, high: mean});
}

export interface Undone {
  due: number;
  skipped: number;
  inFlightMax: number;
  inFlightBound: number;
  sendDelayNsMax: number;
}

/** Over all ok trials: requests due and never sent, the most in flight, and how late the generator itself was. */
export function undone(cell: PageCell): Undone {
  const loops = openLoops(cell);
  return {
    due: loops.reduce((sum, loop) => sum + loop.due, 0),
    skipped: loops.reduce((sum, loop) => sum + loop.skipped, 0),
    inFlightMax: Math.max(0, ...loops.map((loop) => loop.in_flight_max)),
    inFlightBound: Math.max(0, ...loops.map((loop) => loop.in_flight_bound)),
    sendDelayNsMax: Math.max(0, ...loops.map((loop) => loop.send_delay_ns_max)),
  };
}

/** A percentile over the offered rate, one line per server, µs. */
export function rateSeries(group: RateGroup, run: Run, metric: string): LineSeries[] {
  return group.lines.flatMap(({cells, knee}) => {
    const [first] = cells;
    const points = cells.flatMap((cell) => {
      const found = measurement(cell, metric);
      return found ? [{x: offered(cell), median: found.median / 1000, trials: trialValues(cell, metric).map((ns) => ns / 1000)}] : [];
    });
    if (!first || points.length === 0) return [];
    const at = knee && measurement(knee, 'knee_per_second')?.median;
    return [{label: lineLabel(first, run), look: lookOf(first, run), points, ...(at === undefined ? {} : {knee: at})}];
  });
}

function openLoops(cell: PageCell) {
  return cell.trials.flatMap((trial) => (trial.status === 'ok' && trial.open_loop ? [trial.open_loop] : []));
}

function meanOf(cell: PageCell, field: 'offered_per_second' | 'achieved_per_second'): number | undefined {
  const loops = openLoops(cell);
  return loops.length === 0 ? undefined : loops.reduce((sum, loop) => sum + loop[field], 0) / loops.length;
}
