// Histograms of a cell as files in HdrHistogram's own formats, which its tools read: the log (`.hlog`) with every trial's whole
// histogram, and the list of percentiles (`.hgrm`) that its plotter draws. Both follow from the raw record, so the reader's
// browser makes them; nothing is published twice. Pure.
import type {Cell, Histogram, Trial} from '../generated/records';
import {HISTOGRAMS, isScenario} from './record-files';

/** A raw record of a scenario, and the file of its run's histograms where it has one. */
export interface HistogramSource {
  sitePath: string;
  bytes: number;
  histograms?: {sitePath: string; bytes: number};
}

/** The records of a scenario among raw files, each with the histograms of its run. */
export function histogramSources(raw: {sitePath: string; bytes: number}[], scenario: string): HistogramSource[] {
  const cut = (sitePath: string): [string, string] => [sitePath.slice(0, sitePath.lastIndexOf('/') + 1), sitePath.slice(sitePath.lastIndexOf('/') + 1)];
  return raw.flatMap(({sitePath, bytes}) => {
    const [folder, name] = cut(sitePath);
    if (!isScenario(name, scenario)) return [];
    const file = raw.find((one) => one.sitePath === folder + HISTOGRAMS);
    return [{sitePath, bytes, ...(file ? {histograms: {sitePath: file.sitePath, bytes: file.bytes}} : {})}];
  });
}

/** Name of a cell's file, without its ending, in letters that any file system takes: `007-plumbkv-native-get-64B-c50-p1`. */
export function histogramName(index: number, key: string): string {
  return `${String(index).padStart(3, '0')}-${key.replace(/[^A-Za-z0-9.]+/g, '-').slice(0, 100)}`;
}

/** Whether there is a log to be made of a cell. */
export function hasHistograms({trials, merged_histograms: merged}: Cell): boolean {
  return (merged ?? []).length > 0 || trials.some(({histograms}) => histograms.length > 0);
}

/** HdrHistogram log, format version 1.3: a line per trial and operation. Values are nanoseconds. */
export function histogramLog(cell: Cell): string | undefined {
  const lines = [
    ...cell.trials.flatMap((trial) => trial.histograms.map((histogram) => logLine(`trial-${trial.index}`, trial.elapsed_s, longest(trial), histogram))),
    ...(cell.merged_histograms ?? []).map((histogram) => logLine('merged', 1, Math.max(0, ...cell.trials.map(longest)), histogram)),
  ];
  if (lines.length === 0) return undefined;
  const head = ['#[Histogram log format version 1.3]', `#[Cell: ${oneLine(cell.key)}]`, '#[Values are nanoseconds; one line per trial and operation]'];
  return `${[...head, '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"', ...lines].join('\n')}\n`;
}

// The column of the maximum is for people's eyes and in milliseconds by convention; the histogram is what counts.
function logLine(tag: string, seconds: number, longestNs: number, {operation, hdr_v2_deflate_base64: data = ''}: Histogram): string {
  return `Tag=${tag}-${operation.replace(/[^\w-]/g, '_')},0.000,${seconds.toFixed(3)},${(longestNs / 1e6).toFixed(3)},${data}`;
}

function longest({values}: Trial): number {
  return Math.max(0, ...values.filter(({metric}) => metric === 'latency_ns_max').map(({value}) => value));
}

/** Percentiles of the merged histograms as HdrHistogram's plotter reads them, µs. */
export function percentileList(cell: Cell): string {
  return cell.distributions
    .map(({operation, count, points}) => {
      const rows = points.map(({percentile, latency_ns}) => {
        const share = percentile / 100;
        const odds = share < 1 ? (1 / (1 - share)).toFixed(2) : 'inf';
        return [(latency_ns / 1000).toFixed(3), share.toFixed(6), String(Math.round(count * share)), odds].map((text) => text.padStart(14)).join(' ');
      });
      return [`#[${oneLine(cell.label)}: ${operation}, µs]`, '         Value     Percentile     TotalCount 1/(1-Percentile)', '', ...rows, ''].join('\n');
    })
    .join('\n');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}
