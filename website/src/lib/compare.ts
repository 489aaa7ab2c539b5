// What do two runs say of the same cell? Three verdicts, by whether the intervals of the medians separate; runs of
// different machines are refused. Pure.
import type {ComparableRun} from '../../plugins/benchmarks/beyond';
import {type Cell, type Direction, DISTURBED_CORES, type Measurement, type ScenarioRecord} from '../generated/records';
import {figure, ratio, type Scale, scaleFor} from './format';
import {METRIC_WORDS} from './metrics';

export interface ComparedRow {
  label: string;
  target: string;
  mode: Cell['mode'];
  metric: string;
  unit: string;
  a: string;
  b: string;
  /** Second to first. */
  ratio: string;
  verdict: string;
}

const METRICS = ['ops_per_second', 'knee_per_second', 'latency_ns_p99', 'server_cpu_ns_per_op', 'rss_bytes_peak', 'startup_ms'];

/** Why two runs cannot be compared, or nothing. */
export function refusal(a: ComparableRun, b: ComparableRun): string | undefined {
  if (a.fingerprint === b.fingerprint && a.cpuModel === b.cpuModel) return undefined;
  return `Not compared: the runs are of different machines (${a.cpuModel} and ${b.cpuModel}), and their figures differ for that alone.`;
}

/** The run that a word names: an id, a version, or `version/machine`; of a version its newest run. */
export function findRun(runs: ComparableRun[], name: string | null): ComparableRun | undefined {
  return runs.find(({id}) => id === name) ?? runs.find(({version, machineKey}) => name === version || name === `${version}/${machineKey}`);
}

/** Whether others used more than that in most trials of a cell, the hypervisor among them. */
export function isDisturbed(cell: Cell): boolean {
  if (cell.axes.operation === 'stock') return false;
  const cores = cell.trials
    .flatMap(({os, elapsed_s}) => (os ? [os.foreign_cpu_cores + (elapsed_s > 0 ? os.steal_ms / 1_000 / elapsed_s : 0)] : []))
    .sort((a, b) => a - b);
  return (cores[Math.floor(cores.length / 2)] ?? 0) > DISTURBED_CORES;
}

export function compareRecords(a: ScenarioRecord, b: ScenarioRecord): {rows: ComparedRow[]; note?: string} {
  const notes = a.scenario.params_sha256 === b.scenario.params_sha256 ? [] : ['The definition of the scenario differs between the runs: only cells that both have are shown, and they may not mean the same.'];
  let disturbed = 0;
  const rows = a.cells.flatMap((first) => {
    const second = b.cells.find(({key}) => key === first.key);
    if (!second || first.status !== 'ok' || second.status !== 'ok') return [];
    if (isDisturbed(first) || isDisturbed(second)) {
      disturbed += 1;
      return [];
    }
    return METRICS.flatMap((metric) => {
      const [x, y] = [first, second].map((cell) => cell.measurements.find((m) => m.metric === metric && m.operation === undefined));
      if (!x || !y || x.median === 0) return [];
      const scale = scaleOf(x, y);
      return [
        {
          label: first.label,
          target: first.target,
          mode: first.mode,
          metric: METRIC_WORDS[metric] ?? metric,
          unit: scale.unit,
          a: spelled(x, scale),
          b: spelled(y, scale),
          ratio: ratio({median: y.median / x.median, low: y.low / (x.high || x.median), high: y.high / (x.low || x.median)}).value,
          verdict: verdict(x, y),
        },
      ];
    });
  });
  if (disturbed > 0) notes.push(`Left out: ${disturbed} ${disturbed === 1 ? 'cell' : 'cells'} in which others used more than ${DISTURBED_CORES} CPUs in one of the runs.`);
  return {rows, ...(notes.length === 0 ? {} : {note: notes.join(' ')})};
}

/** `better`, `worse` or `undecided`, of the second against the first; ranges decide nothing. */
export function verdict(a: Measurement, b: Measurement): string {
  if (a.spread !== 'interval' || b.spread !== 'interval') return `undecided: ranges of ${Math.min(a.n, b.n)} trials`;
  if (b.low > a.high) return word(a.direction, 'higher');
  if (b.high < a.low) return word(a.direction, 'lower');
  return 'undecided';
}

function word(direction: Direction, moved: 'higher' | 'lower'): string {
  if (direction === 'neutral') return moved;
  return direction === moved ? 'better' : 'worse';
}

function scaleOf(a: Measurement, b: Measurement): Scale {
  return scaleFor(a.unit, Math.max(a.median, b.median));
}

function spelled(measured: Measurement, scale: Scale): string {
  const {value, low, high} = figure(measured, scale);
  return measured.n > 1 ? `${value} (${low}–${high})` : value;
}
