// Findings of a scenario's page: verdicts on the scenario's own metric, the figures behind them, and what is missing.
//
// A verdict needs an interval (see verdict.ts). Fewer trials give figures and no comparing word; points that are lost
// are said with the same words as those that are won, and first.
import type {Measurement, Mode, Profile, Run} from '../generated/records';
import {capFindings, hitFindings} from './capfinding';
import {figure, scaleFor, withUnit, word} from './format';
import {type ShortLabels, shortLabels} from './labels';
import {leadsOf, recordLeads} from './leading';
import {byClass, partsOf, withCells} from './parts';
import {
  absentTitle,
  generatorAtCeiling,
  keepsNothing,
  measurement,
  type PageCell,
  type PageScenario,
  type Point,
  points,
  shortTitle,
  targetOf,
} from './record';
import {type Finding, verdictFindings} from './sentences';
import {comparisons, LEAST_TRIALS, ownComparisons} from './verdict';

export type {Finding} from './sentences';

/** The badge of a page without any interval. */
export function badge(profile: Profile, trials: number): string | undefined {
  if (trials >= LEAST_TRIALS) return undefined;
  const spread = trials === 0 ? 'nothing measured' : trials === 1 ? 'one trial' : `${trials} trials`;
  return `${profile} run: ${spread}, no verdict`;
}

/** Trials of the cell that has most. */
export function trialsPerCell(record: PageScenario): number {
  return Math.max(0, ...record.cells.flatMap((cell) => cell.measurements.map((m) => m.n)));
}

/** The findings of a scenario's page. */
export function findings(record: PageScenario, run: Run): Finding[] {
  return [...verdictsOf(record, run), ...figuresOf(record, run), ...remarksOf(record, run)];
}

/** What a page says of a scenario whose figures are in a table right below: everything but the figures. */
export function remarks(record: PageScenario, run: Run): Finding[] {
  return [...verdictsOf(record, run), ...remarksOf(record, run)];
}

/** Whether requests travel to a server, so that a load generator sets or bounds the pace. */
export function isWire(record: PageScenario): boolean {
  return !['memory_cap', 'memory_per_key', 'startup', 'embedded'].includes(record.scenario.kind);
}

function verdictsOf(record: PageScenario, run: Run): Finding[] {
  const labels = labelsOf(record, run);
  const bounds = record.scenario.kind === 'memory_cap' ? capFindings(record, run, labels) : [];
  const compared = comparisons(record, run);
  return [...bounds, ...verdictFindings(compared.length > 0 ? compared : ownComparisons(record, run), labels)];
}

/** Short labels of the points that verdicts are passed on. */
export function labelsOf(record: PageScenario, run: Run): ShortLabels {
  const isMemory = record.scenario.kind === 'memory_cap';
  const judged = points(record, run).filter(({cells}) => isMemory || cells.some((cell) => leadsOf(record, cell).length > 0));
  return shortLabels(judged.map(({label}) => label));
}

function remarksOf(record: PageScenario, run: Run): Finding[] {
  const texts = [...(isWire(record) ? ceilings(record, run) : []), ...absences(record, run), ...failures(record, run)];
  return texts.map((text) => ({kind: 'remark', text}));
}

function absences(record: PageScenario, run: Run): string[] {
  const {absent} = partsOf(record, run);
  return absent.length > 0 ? [`Not measured on this machine: ${absent.map(({target}) => absentTitle(target)).join(', ')}.`] : [];
}

function ceilings(record: PageScenario, run: Run): string[] {
  const measured = partsOf(record, run).closed.filter((cell) => cell.status === 'ok' && !keepsNothing(run, cell.target));
  const busy = measured.filter(generatorAtCeiling);
  if (busy.length === 0) return [];
  return [
    `In ${word(busy.length)} of ${word(measured.length)} cells the load generator was at its limit (*): their throughput is the generator’s own; server CPU per operation is the figure to read.`,
  ];
}

function failures(record: PageScenario, run: Run): string[] {
  const {closed, open, foreign} = partsOf(record, run);
  const tried = [...closed, ...open, ...foreign];
  const failed = tried.filter((cell) => cell.status !== 'ok' && cell.status !== 'skipped').length;
  const skipped = tried.filter((cell) => cell.status === 'skipped').length;
  const parts = [failed > 0 && `${word(failed)} failed`, skipped > 0 && `${word(skipped)} ${skipped === 1 ? 'was' : 'were'} skipped`].filter(Boolean);
  return parts.length > 0 ? [`Of ${word(tried.length)} cells ${parts.join(' and ')}; the table gives the reasons.`] : [];
}

/** The point per operation that represents the scenario: 64 B, 50 clients, depth 16 where it has them. */
export function headlinePoints(all: Point[]): Point[] {
  const byOperation = new Map<string, Point[]>();
  for (const point of all) {
    if (point.cells.some((cell) => cell.status === 'ok')) {
      byOperation.set(point.operation, [...(byOperation.get(point.operation) ?? []), point]);
    }
  }
  const score = ({axes, placement}: Point) =>
    (placement === 'together' ? -4 : 0) +
    (axes.clients === 50 ? 2 : 0) +
    (axes.pipeline === 16 ? 2 : 0) +
    (axes.value_bytes === 64 ? 1 : 0);
  return [...byOperation.values()]
    .map((list) => list.reduce((best, point) => (score(point) > score(best) ? point : best)))
    .filter((point) => point.operation !== 'del' && point.operation !== 'stock')
    .slice(0, 2);
}

/** The leading figure of the points that represent the scenario, servers side by side; classes never share a sentence. */
function figuresOf(record: PageScenario, run: Run): Finding[] {
  const {closed, open} = partsOf(record, run);
  const labels = labelsOf(record, run);
  const [first] = recordLeads(record);
  const leading = [...closed, ...open].filter((cell) => cell.axes.variant === undefined && leadsOf(record, cell).some((lead) => lead === first));
  const told = byClass(withCells(record, leading), run, (own, named) =>
    headlinePoints(mostTrialsFirst(points(own, run))).flatMap((point) => pointFinding(record, {...point, label: named(labels.short(point.label))}, run)),
  );
  const {kind} = record.scenario;
  return [...told, ...(kind === 'expiry' ? heldFindings(record, run) : []), ...(kind === 'memory_cap' ? hitFindings(record, run, labels) : [])];
}

/** Of points that represent a scenario equally well, those with more trials do. */
function mostTrialsFirst(all: Point[]): Point[] {
  const trials = ({cells}: Point) => Math.max(0, ...cells.flatMap(({measurements}) => measurements.map(({n}) => n)));
  return [...all].sort((a, b) => trials(b) - trials(a));
}

function pointFinding(record: PageScenario, point: Point, run: Run): Finding[] {
  const shown = point.cells.filter((cell) => cell.status === 'ok' && !keepsNothing(run, cell.target));
  const [first] = recordLeads(record);
  const lead = shown.some((cell) => first && measurement(cell, first.metric)) ? first : undefined;
  // Hits have a sentence of their own, beside those of an exact LRU.
  if (!lead || lead.metric === 'hit_ratio') return [];
  const largest = Math.max(...shown.map((cell) => measurement(cell, lead.metric)?.median ?? 0));
  const parts = shown.flatMap((cell) => {
    const found = measurement(cell, lead.metric);
    return found ? [{cell, found, said: spelled(found, largest)}] : [];
  });
  const what = lead.metric === 'ops_per_second' || point.label.includes(lead.noun) ? '' : `, ${lead.noun}`;
  return [{kind: 'figures', text: `${point.label}${what}: ${enumerated(parts, run)}.`, ...behind(parts.map(({found}) => found))}];
}

/** What keys that ran out still occupied after the last lifetime. */
function heldFindings(record: PageScenario, run: Run): Finding[] {
  return points(record, run).flatMap((point): Finding[] => {
    const parts = point.cells.flatMap((cell) => {
      const [keys, bytes] = ['keys_held', 'rss_bytes_held'].map((metric) => (cell.status === 'ok' ? measurement(cell, metric) : undefined));
      const held = [keys && `${figure(keys, scaleFor('count', keys.median)).value} keys`, bytes && `${spelled(bytes)} of RSS`].filter(Boolean);
      return keys ? [{cell, found: keys, said: `still holds ${held.join(' and ')}`}] : [];
    });
    if (parts.length === 0) return [];
    return [{kind: 'figures', text: `After the last lifetime: ${enumerated(parts, run)}.`, ...behind(parts.map(({found}) => found))}];
  });
}

/** Fewest trials of some figures, and whether all of them have an interval. */
export function behind(figures: Measurement[]): Pick<Finding, 'n' | 'spread'> {
  return {n: Math.min(...figures.map(({n}) => n)), spread: figures.every(({spread}) => spread === 'interval') ? 'interval' : 'range'};
}

/** `PlumbKV 0.1.0 84 k ops/s, in a container on the host network 80 k ops/s; Redis 7.0.15 82 k ops/s`. */
function enumerated(parts: {cell: PageCell; said: string}[], run: Run): string {
  const servers = new Map<string, string[]>();
  for (const {cell, said} of parts) {
    const own = servers.get(cell.target) ?? [];
    const where = WHERE[cell.mode];
    own.push(own.length === 0 ? [shortTitle(targetOf(run, cell.target), cell.target), where, said].filter(Boolean).join(' ') : `${where} ${said}`);
    servers.set(cell.target, own);
  }
  return [...servers.values()].map((own) => own.join(', ')).join('; ');
}

const WHERE: Record<Mode, string> = {
  native: '',
  container_host: 'in a container on the host network',
  container_published: 'in a container behind a published port',
  native_limited: 'under the limits of a container',
  container_no_io_uring: 'in a container without io_uring',
  external: 'already running',
};

/** `84.1 k ops/s (83.0–85.2)`; of one trial no spread is known. */
export function spelled(measured: Measurement, largest = measured.median): string {
  const scale = scaleFor(measured.unit, largest);
  const {value, low, high} = figure(measured, scale);
  return low === high ? withUnit(value, scale.unit) : `${withUnit(value, scale.unit)} (${low}–${high})`;
}
