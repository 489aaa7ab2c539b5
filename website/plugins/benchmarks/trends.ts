// How did the points that stand for a scenario move from version to version? On one machine each, a series per server;
// a changed definition begins a new one. Pure.
import {type Look} from '../../src/charts/frame';
import {headlinePoints} from '../../src/lib/finding';
import {lineLabel, lookOf} from '../../src/lib/figures';
import {knees} from '../../src/lib/derived';
import {partsOf, withCells} from '../../src/lib/parts';
import {measurement, type PageCell, points, trialValues} from '../../src/lib/record';
import type {Blessing, Profile, Run, Spread} from '../../src/generated/records';
import {concerns, drawn, type DrawnBlessing} from './blessings';
import type {LoadedRun, Results} from './load';
import {type Merged, mergedScenarios} from './merge';

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
  /** Losses of it that were accepted. */
  blessings: DrawnBlessing[];
}

export interface Trend {
  key: string;
  title: string;
  machines: {key: string; title: string; versions: string[]; figures: TrendFigure[]}[];
}

const METRICS = ['ops_per_second', 'knee_per_second', 'latency_ns_p99', 'server_cpu_ns_per_op', 'rss_bytes_growth', 'rss_bytes_per_key', 'startup_ms'];

/** One per scenario that any version has, in the order of the newest version. */
export function trends({versions, blessings = []}: Results): Trend[] {
  const found = new Map<string, Trend>();
  const seen: Seen = {days: new Map(), blessings: new Map(), all: blessings};
  for (const {version, machines} of [...versions].reverse()) {
    for (const {key: machine, runs} of machines) {
      for (const [key, merged] of mergedScenarios(runs)) add(found, seen, merged, version, machine, key);
    }
  }
  for (const machine of [...found.values()].flatMap(({machines}) => machines)) {
    const days = seen.days.get(machine) ?? [];
    for (const figure of machine.figures) figure.blessings = [...(seen.blessings.get(figure) ?? [])].map((blessing) => drawn(blessing, days));
  }
  return [...found.values()];
}

/** What is known only once all versions were read. */
interface Seen {
  all: Blessing[];
  /** Versions of a machine's trend with the day of their run, oldest first. */
  days: Map<Trend['machines'][number], {version: string; day: string}[]>;
  blessings: Map<TrendFigure, Set<Blessing>>;
}

// Versions come newest first, so that titles are the newest; values and versions are put in front.
function add(found: Map<string, Trend>, seen: Seen, {record, run, sources}: Merged<LoadedRun>, version: string, machineKey: string, key: string): void {
  const runOf = new Map(sources.map(({loaded}) => [loaded.run.id, loaded.run]));
  const trend = found.get(key) ?? {key, title: record.scenario.title, machines: []};
  found.set(key, trend);
  let machine = trend.machines.find((candidate) => candidate.key === machineKey);
  if (!machine) trend.machines.push((machine = {key: machineKey, title: run.machine.title || machineKey, versions: [], figures: []}));
  machine.versions.unshift(version);
  seen.days.set(machine, [{version, day: run.started_at.slice(0, 10)}, ...(seen.days.get(machine) ?? [])]);
  const closed = withCells(record, partsOf(record, run).closed);
  const cells = [...headlinePoints(points(closed, run)).flatMap((point) => point.cells), ...knees(record).map(({cell}) => cell)];
  for (const cell of cells) {
    if (cell.status !== 'ok' || cell.mode !== 'native') continue;
    for (const metric of METRICS) {
      const value = measurement(cell, metric);
      if (!value) continue;
      let figure = machine.figures.find((candidate) => candidate.label === cell.label && candidate.metric === metric);
      if (!figure) machine.figures.push((figure = {label: cell.label, metric, unit: value.unit, series: [], blessings: []}));
      const concerned = seen.all.filter((blessing) => concerns(blessing, cell, metric));
      seen.blessings.set(figure, new Set([...(seen.blessings.get(figure) ?? []), ...concerned]));
      const label = nameOf(cell, run);
      let series = figure.series.find((candidate) => candidate.label === label && candidate.revision === record.scenario.revision);
      if (!series) figure.series.push((series = {label, look: lookOf(cell, run), revision: record.scenario.revision, values: []}));
      const {median, low, high, spread, n} = value;
      const {profile} = runOf.get(cell.run_id) ?? run;
      const href = `/benchmarks/${version}/${machineKey}/run/${cell.run_id}/${key}/`;
      series.values.unshift({version, median, low, high, spread, n, trials: trialValues(cell, metric), profile, href});
    }
  }
}

// A server keeps its series when its version changes: `PlumbKV 0.2.0` is `PlumbKV`.
function nameOf(cell: PageCell, run: Run): string {
  return lineLabel(cell, run).replace(/ v?\d[\w.+-]*$/, '');
}
