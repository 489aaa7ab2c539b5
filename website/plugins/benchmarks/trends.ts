// How did the points that stand for a scenario move from version to version? On one machine each, a series per server;
// a changed definition begins a new one. Pure.
import {type Look} from '../../src/charts/frame';
import {headlinePoints} from '../../src/lib/finding';
import {lineLabel, lookOf} from '../../src/lib/figures';
import {knees} from '../../src/lib/derived';
import {partsOf, withCells} from '../../src/lib/parts';
import {measurement, type PageCell, pageScenario, points, trialValues} from '../../src/lib/record';
import type {Profile, Spread} from '../../src/generated/records';
import {chosenByScenario} from './chosen';
import type {LoadedRun, Results} from './load';

export interface TrendValue {
  version: string;
  median: number;
  low: number;
  high: number;
  spread: Spread;
  n: number;
  trials: number[];
  profile: Profile;
  href: string;
}

export interface TrendSeries {
  label: string;
  look: Look;
  /** Revision of the scenario's definition: figures of two revisions are two series. */
  revision: number;
  values: TrendValue[];
}

export interface TrendFigure {
  label: string;
  metric: string;
  unit: string;
  series: TrendSeries[];
}

export interface Trend {
  key: string;
  title: string;
  machines: {key: string; title: string; versions: string[]; figures: TrendFigure[]}[];
}

const METRICS = ['ops_per_second', 'knee_per_second', 'latency_ns_p99', 'server_cpu_ns_per_op', 'rss_bytes_growth', 'rss_bytes_per_key', 'startup_ms'];

/** One per scenario that any version has, in the order of the newest version. */
export function trends({versions}: Results): Trend[] {
  const found = new Map<string, Trend>();
  for (const {version, machines} of [...versions].reverse()) {
    for (const {key: machine, runs} of machines) {
      for (const [key, loaded] of chosenByScenario(runs)) add(found, loaded, version, machine, key);
    }
  }
  return [...found.values()];
}

// Versions come newest first, so that titles are the newest; values and versions are put in front.
function add(found: Map<string, Trend>, loaded: LoadedRun, version: string, machineKey: string, key: string): void {
  const stored = loaded.scenarios.find(({scenario}) => scenario.key === key);
  if (!stored) return;
  const record = pageScenario(stored);
  const {run} = loaded;
  const trend = found.get(key) ?? {key, title: record.scenario.title, machines: []};
  found.set(key, trend);
  let machine = trend.machines.find((candidate) => candidate.key === machineKey);
  if (!machine) trend.machines.push((machine = {key: machineKey, title: run.machine.title || machineKey, versions: [], figures: []}));
  machine.versions.unshift(version);
  const closed = withCells(record, partsOf(record, run).closed);
  const cells = [...headlinePoints(points(closed, run)).flatMap((point) => point.cells), ...knees(record).map(({cell}) => cell)];
  for (const cell of cells) {
    if (cell.status !== 'ok' || cell.mode !== 'native') continue;
    for (const metric of METRICS) {
      const value = measurement(cell, metric);
      if (!value) continue;
      let figure = machine.figures.find((candidate) => candidate.label === cell.label && candidate.metric === metric);
      if (!figure) machine.figures.push((figure = {label: cell.label, metric, unit: value.unit, series: []}));
      const label = nameOf(cell, loaded);
      let series = figure.series.find((candidate) => candidate.label === label && candidate.revision === record.scenario.revision);
      if (!series) figure.series.push((series = {label, look: lookOf(cell, run), revision: record.scenario.revision, values: []}));
      const {median, low, high, spread, n} = value;
      const href = `/benchmarks/${version}/${machineKey}/run/${run.id}/${key}/`;
      series.values.unshift({version, median, low, high, spread, n, trials: trialValues(cell, metric), profile: record.profile, href});
    }
  }
}

// A server keeps its series when its version changes: `PlumbKV 0.2.0` is `PlumbKV`.
function nameOf(cell: PageCell, {run}: LoadedRun): string {
  return lineLabel(cell, run).replace(/ v?\d[\w.+-]*$/, '');
}
