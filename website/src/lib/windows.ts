// How did a long load go on, second by second? Throughput, tail, memory and CPU of its windows, a line per server.
import type {LineSeries} from '../charts/RateChart';
import type {Run, Window} from '../generated/records';
import {lineLabel, lookOf} from './figures';
import {scaleFor, type Scale} from './format';
import type {PageCell, PageScenario} from './record';

interface Quantity {
  key: string;
  name: string;
  /** Stored unit of its values. */
  unit: string;
  of: (window: Window) => number | undefined;
  /** Known only where the windows count the load itself. */
  isOfLoad?: true;
}

const perSecond = (window: Window, value: number | undefined) => (value === undefined ? undefined : value / (window.length_ms / 1000));

/** A load by another program is not counted, only its memory. A second in which a counted load stalls is no such window. */
const isOfMemory = (window: Window) => window.operations === 0 && window.latency_ns_p99 === undefined && window.rss_bytes !== undefined;

/** What a window tells. */
export const QUANTITIES: Quantity[] = [
  {key: 'throughput', name: 'throughput', unit: '1/s', of: (window) => perSecond(window, window.operations), isOfLoad: true},
  {key: 'p99', name: '99th percentile of the response time', unit: 'ns', of: (window) => window.latency_ns_p99},
  {key: 'rss', name: 'resident memory', unit: 'bytes', of: (window) => window.rss_bytes},
  {key: 'cpu', name: 'server CPU', unit: 'cores', of: (window) => perSecond(window, window.server_cpu_ns === undefined ? undefined : window.server_cpu_ns / 1e9)},
];

export interface WindowFigure {
  key: string;
  name: string;
  label: string;
  scale: Scale;
  series: LineSeries[];
  seconds: number;
  max: number;
}

/** One figure per point and quantity that was recorded by window. */
export function windowFigures(record: PageScenario, run: Run): WindowFigure[] {
  const long = record.cells.filter((cell) => cell.status === 'ok' && cell.trials.some((trial) => trial.windows));
  const labels = [...new Set(long.map((cell) => cell.label))];
  return labels.flatMap((label) => QUANTITIES.flatMap((quantity) => figureOf(label, long.filter((cell) => cell.label === label), run, quantity)));
}

function figureOf(label: string, cells: PageCell[], run: Run, {key, name, unit, of, isOfLoad}: Quantity): WindowFigure[] {
  const traced = cells.map((cell) => ({cell, traces: cell.trials.flatMap((trial) => (trial.status === 'ok' && trial.windows && !(isOfLoad && trial.windows.every(isOfMemory)) ? [trace(trial.windows, of)] : []))}));
  const all = traced.flatMap(({traces}) => traces.flat());
  if (all.length === 0) return [];
  const scale = scaleFor(unit, Math.max(...all.map((point) => point.y)));
  const series = traced.flatMap(({cell, traces}): LineSeries[] => {
    const scaled = traces.map((points) => points.map(({x, y}) => ({x, y: y * scale.factor})));
    const points = medianTrace(scaled);
    return points.length === 0 ? [] : [{label: lineLabel(cell, run), look: lookOf(cell, run), points, traces: scaled.length > 1 ? scaled : []}];
  });
  return [{key, name, label, scale, series, seconds: Math.max(...all.map((point) => point.x)), max: Math.max(...all.map((point) => point.y)) * scale.factor}];
}

// A last window of a fraction of a second says little: it is left out.
function trace(windows: Window[], of: Quantity['of']): {x: number; y: number}[] {
  return windows
    .filter((window) => window.length_ms >= 500)
    .flatMap((window) => {
      const y = of(window);
      return y === undefined ? [] : [{x: Math.round((window.start_ms + window.length_ms) / 100) / 10, y}];
    });
}

function medianTrace(traces: {x: number; y: number}[][]): LineSeries['points'] {
  const shortest = Math.min(...traces.map((points) => points.length));
  return Array.from({length: Number.isFinite(shortest) ? shortest : 0}, (_, index) => {
    const sorted = traces.map((points) => points[index]?.y ?? 0).sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    const median = sorted.length % 2 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
    return {x: traces[0]?.[index]?.x ?? index, median, trials: []};
  });
}
