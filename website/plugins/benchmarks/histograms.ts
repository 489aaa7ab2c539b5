// How does a reader get at the whole distribution of one cell? As a log in HdrHistogram's own format, which its tools read,
// and as the list of percentiles that the page draws. Written beside the raw files, one pair per cell.
import {mkdir, writeFile} from 'node:fs/promises';
import path from 'node:path';
import type {Cell, Histogram, Trial} from '../../src/generated/records';
import {histogramName} from '../../src/lib/histograms';
import type {LoadedRun} from './load';

/** Writes the histograms of a run below its folder of raw files. */
export async function writeHistograms(outDir: string, {files, scenarios}: LoadedRun): Promise<void> {
  const folder = path.posix.dirname(files[0]?.sitePath ?? '');
  for (const {scenario, cells} of scenarios) {
    const home = path.join(outDir, ...folder.split('/'), 'histograms', scenario.key);
    for (const [index, cell] of cells.entries()) {
      const log = histogramLog(cell);
      if (log === undefined) continue;
      await mkdir(home, {recursive: true});
      const file = path.join(home, histogramName(index, cell.key));
      await writeFile(`${file}.hlog`, log);
      await writeFile(`${file}.hgrm`, percentileList(cell));
    }
  }
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
function logLine(tag: string, seconds: number, longestNs: number, {operation, hdr_v2_deflate_base64: data}: Histogram): string {
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
