// Paired ratios: two cells of one run, trial by trial, as the runner forms them (`bench-runner/src/stats/ratio.rs`).
import type {Spread} from '../generated/records';
import type {PageCell} from './record';

export interface PairedRatio {
  median: number;
  low: number;
  high: number;
  spread: Spread;
  n: number;
}

/** Least coverage of an interval of the median. */
const COVERAGE = 0.95;

/** Ratio of one metric of two cells over the trials that both have; nothing where there is none, or where they are of two runs. */
export function pairedRatio(above: PageCell, below: PageCell, metric: string): PairedRatio | undefined {
  if (above.run_id !== below.run_id) return undefined;
  const logs = above.trials
    .flatMap((trial) => {
      const [a, b] = [valueOf(trial, metric), valueOf(below.trials.find(({index}) => index === trial.index), metric)];
      return a !== undefined && b !== undefined && a > 0 && b > 0 ? [Math.log(a) - Math.log(b)] : [];
    })
    .sort((a, b) => a - b);
  const n = logs.length;
  if (n === 0) return undefined;
  const at = (place: number) => Math.exp(logs[place] ?? 0);
  const median = Math.exp(((logs[Math.floor((n - 1) / 2)] ?? 0) + (logs[Math.floor(n / 2)] ?? 0)) / 2);
  const rank = intervalRank(n);
  return rank === undefined ? {median, low: at(0), high: at(n - 1), spread: 'range', n} : {median, low: at(rank - 1), high: at(n - rank), spread: 'interval', n};
}

/** The rank k of which the k-th smallest and the k-th largest of n values hold the median with at least 95 %. */
export function intervalRank(n: number): number | undefined {
  let [outside, term, rank] = [0, 0.5 ** n, 0];
  for (let below = 0; below < n / 2; below += 1) {
    outside += term;
    if (1 - 2 * outside < COVERAGE) break;
    rank = below + 1;
    term *= (n - below) / (below + 1);
  }
  return rank === 0 ? undefined : rank;
}

function valueOf(trial: PageCell['trials'][number] | undefined, metric: string): number | undefined {
  if (trial?.status !== 'ok') return undefined;
  return trial.values.find((value) => value.metric === metric && value.operation === undefined)?.value;
}
