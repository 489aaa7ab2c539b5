// What does a scenario's record say in a sentence, and in which regime does it hold?
//
// A quick run has too few trials for an interval, so it gets figures and no comparing word. A full run is
// compared only where the interval of the paired ratio leaves 1 out, and only where the load generator was
// not at its ceiling; points that we lose are counted with the same words as those that we win.
import type {Measurement, Mode, Profile, Ratio, Run, TargetRecord} from '../generated/records';
import {figure, ratio as ratioText, scaleFor, withUnit, word} from './format';
import {knees} from './derived';
import {isDurable} from './durable';
import {byClass, partsOf, withCells} from './parts';
import {
  generatorAtCeiling,
  keepsNothing,
  measurement,
  type PageCell,
  type PageScenario,
  type Point,
  points,
  ratioOf,
  roleOf,
  absentTitle,
  shortTitle,
  targetOf,
} from './record';

/** Whether a run has enough trials to pass a verdict on a rival. */
export function passesVerdict(profile: Profile): boolean {
  return profile === 'full';
}

/** The badge of a run that passes none. */
export function badge(profile: Profile, trials: number): string | undefined {
  if (passesVerdict(profile)) return undefined;
  const spread = trials === 0 ? 'nothing measured' : trials === 1 ? 'one trial' : `range of ${trials} trials`;
  return `${profile} run: ${spread}, no verdict`;
}

/** Trials per cell, as most cells have them. */
export function trialsPerCell(record: PageScenario): number {
  return Math.max(0, ...record.cells.flatMap((cell) => cell.measurements.map((m) => m.n)));
}

/** The finding of a scenario's page: one sentence per thing found. */
export function findings(record: PageScenario, run: Run): string[] {
  const kind = record.scenario.kind;
  // What is found is found by our generator in closed loops; open loops have their knee.
  const closed = withCells(record, partsOf(record, run).closed);
  const sentences = (FINDINGS[kind] ?? wireFindings)(closed, run);
  return [...kneeFindings(record, run), ...rateFindings(record, run), ...sentences, ...absences(record, run), ...failures(record, run)];
}

const FINDINGS: Partial<Record<string, (record: PageScenario, run: Run) => string[]>> = {
  memory_cap: capFindings,
  memory_per_key: perKeyFindings,
  expiry: expiryFindings,
  startup: startupFindings,
};

function kneeFindings(record: PageScenario, run: Run): string[] {
  const byLoad = new Map<string, PageCell[]>();
  for (const {cell} of knees(record)) byLoad.set(cell.label, [...(byLoad.get(cell.label) ?? []), cell]);
  return [...byLoad].map(([label, cells]) => {
    const parts = cells.flatMap((cell) => {
      const found = measurement(cell, 'knee_per_second');
      return found && !keepsNothing(run, cell.target) ? [{cell, said: spelled(found)}] : [];
    });
    return `${label.replace(/, knee$/, '')}: 99 of 100 requests are answered within a millisecond of their intended start up to these rates: ${enumerated(parts, run)}.`;
  });
}

/** What an open loop tells that has no knee: the tail at each rate that is the same for every server. */
function rateFindings(record: PageScenario, run: Run): string[] {
  if (knees(record).length > 0) return [];
  const same = partsOf(record, run).open.filter(({axes}) => axes.rate_per_second !== undefined || axes.rate_percent_of_slowest !== undefined);
  return pointFindings(withCells(record, same), run, (cell) => {
    const tail = measurement(cell, 'latency_ns_p99');
    return tail && `answers 99 of 100 requests within ${spelled(tail)} of their intended start`;
  });
}

function absences(record: PageScenario, run: Run): string[] {
  const {absent} = partsOf(record, run);
  return absent.length > 0 ? [`Not measured on this machine: ${absent.map(({target}) => absentTitle(target)).join(', ')}.`] : [];
}

/** What a page says of a scenario whose figures stand in a table right below: everything but the figures. */
export function remarks(record: PageScenario, run: Run): string[] {
  const closed = withCells(record, partsOf(record, run).closed);
  return [...(isWire(record) ? wireRemarks(closed, run) : []), ...absences(record, run), ...failures(record, run)];
}

/** Whether requests travel to a server, so that a load generator sets or bounds the pace. */
export function isWire(record: PageScenario): boolean {
  return !['memory_cap', 'memory_per_key', 'startup', 'embedded'].includes(record.scenario.kind);
}

function wireFindings(record: PageScenario, run: Run): string[] {
  // Servers of different classes are never told in one sentence.
  const told = byClass(record, run, (own, named) =>
    headlinePoints(points(own, run)).flatMap((point) => pointSentence({...point, label: named(point.label)}, run)),
  );
  return [...told, ...wireRemarks(record, run)];
}

function wireRemarks(record: PageScenario, run: Run): string[] {
  const sentences: string[] = [];
  const all = points(record, run);
  if (passesVerdict(record.profile)) sentences.push(...verdicts(record, run, all));
  const measured = record.cells.filter((cell) => cell.status === 'ok' && !keepsNothing(run, cell.target));
  const busy = measured.filter(generatorAtCeiling);
  if (busy.length > 0) {
    sentences.push(
      `In ${word(busy.length)} of ${word(measured.length)} cells the load generator was at its ceiling; there the throughput is the generator’s and server CPU per operation is the figure to read.`,
    );
  }
  return sentences;
}

/** The point per operation that stands for the scenario: 64 B, 50 clients, depth 16 where it has them. */
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

function pointSentence(point: Point, run: Run): string[] {
  const shown = point.cells.filter((cell) => cell.status === 'ok' && !keepsNothing(run, cell.target));
  const metric = ['ops_per_second', 'open_ms', 'flush_ms', 'compact_ms'].find((key) => shown.some((cell) => measurement(cell, key))) ?? 'ops_per_second';
  const largest = Math.max(...shown.map((cell) => measurement(cell, metric)?.median ?? 0));
  const parts = shown.flatMap((cell) => {
    const ops = measurement(cell, metric);
    return ops ? [{cell, said: spelled(ops, largest)}] : [];
  });
  return parts.length > 0 ? [`${point.label}: ${enumerated(parts, run)}.`] : [];
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
  external: 'started by somebody else',
};

/** `84.1 k ops/s (83.0–85.2)`; of one trial no spread is known. */
function spelled(measured: Measurement, largest = measured.median): string {
  const scale = scaleFor(measured.unit, largest);
  const {value, low, high} = figure(measured, scale);
  return low === high ? withUnit(value, scale.unit) : `${withUnit(value, scale.unit)} (${low}–${high})`;
}

interface Tally {
  more: string[];
  fewer: string[];
  open: number;
  ceiling: number;
}

function verdicts(record: PageScenario, run: Run, all: Point[]): string[] {
  const subjects = run.targets.filter(({key, role}) => role === 'subject' && record.cells.some((cell) => cell.target === key));
  return subjects.flatMap((subject) => verdictsOn(subject, record, run, all));
}

/** What is said of one of ours, against the rivals of its class. */
function verdictsOn(subject: TargetRecord, record: PageScenario, run: Run, all: Point[]): string[] {
  const rivals = run.targets.filter(
    ({role, transport, durability}) => role === 'rival' && transport === subject.transport && durability === subject.durability,
  );
  return rivals.flatMap((rival) => {
    const tally: Tally = {more: [], fewer: [], open: 0, ceiling: 0};
    for (const point of all) judge(record, point, [subject.key, rival.key], tally);
    const judged = tally.more.length + tally.fewer.length + tally.open;
    if (judged + tally.ceiling === 0) return [];
    const ours = shortTitle(subject, 'PlumbKV');
    const sentence =
      `Natively, against ${rival.title}: ${ours} answers more operations per second at ${list(tally.more)}, ` +
      `fewer at ${list(tally.fewer)}; at ${word(tally.open)} of ${word(judged)} judged points the intervals do not separate.`;
    return [tally.ceiling > 0 ? `${sentence} Not judged, since the load generator was at its ceiling: ${word(tally.ceiling)}.` : sentence];
  });
}

function judge(record: PageScenario, point: Point, [subject, rival]: [string, string], tally: Tally): void {
  const native = (target: string) => point.cells.find((c) => c.target === target && c.mode === 'native' && c.status === 'ok');
  const [ours, theirs] = [native(subject), native(rival)];
  if (!ours || !theirs) return;
  const found = record.ratios.find(
    (r) => r.kind === 'rival' && r.metric === 'ops_per_second' && r.operation === undefined && r.numerator === ours.key && r.denominator === theirs.key,
  );
  if (!found) return;
  if (generatorAtCeiling(ours) || generatorAtCeiling(theirs)) tally.ceiling += 1;
  else if (separates(found) && found.low > 1) tally.more.push(`${point.label} (${ratioText(found).value})`);
  else if (separates(found) && found.high < 1) tally.fewer.push(`${point.label} (${ratioText(found).value})`);
  else tally.open += 1;
}

/** A ratio says something only when it has an interval and the interval leaves 1 out. */
export function separates(ratio: Ratio): boolean {
  return ratio.spread === 'interval' && (ratio.low > 1 || ratio.high < 1);
}

function list(items: string[]): string {
  if (items.length === 0) return 'no point';
  return items.length === 1 ? (items[0] ?? '') : `${items.slice(0, -1).join('; ')}; and ${items.at(-1)}`;
}

function capFindings(record: PageScenario, run: Run): string[] {
  return points(record, run).flatMap((point) => {
    const parts = point.cells.flatMap((cell) => {
      if (cell.status !== 'ok' || cell.mode !== 'native') return [];
      const accounted = measurement(cell, 'accounted_bytes');
      const growth = measurement(cell, 'rss_bytes_growth');
      const said = [
        accounted && `accounts for ${spelled(accounted)}`,
        growth && `its RSS grows by ${spelled(growth)}`,
      ].filter((part): part is string => Boolean(part));
      const hits = measurement(cell, 'hit_ratio');
      const exact = measurement(cell, 'hit_ratio_exact_lru');
      const found = hits && `, ${share(hits)} of the reads hit${exact ? ` (in an exact LRU of as many bytes ${share(exact)})` : ''}`;
      return said.length > 0 ? [{cell, said: `${said.join(' and ')}${found ?? ''}`}] : [];
    });
    return parts.length > 0 ? [`${point.label}: ${enumerated(parts, run)}.`] : [];
  });
}

function perKeyFindings(record: PageScenario, run: Run): string[] {
  return pointFindings(record, run, (cell) => {
    const [rss, accounted] = [measurement(cell, 'rss_bytes_per_key'), measurement(cell, 'accounted_bytes_per_key')];
    return rss && `${spelled(rss)} of RSS per key${accounted ? `, ${spelled(accounted)} by its own account` : ''}`;
  });
}

function expiryFindings(record: PageScenario, run: Run): string[] {
  const sentences = pointFindings(record, run, (cell) => {
    const [tail, keys, bytes] = ['latency_ns_p999', 'keys_held', 'rss_bytes_held'].map((metric) => measurement(cell, metric));
    const held = [keys && `${figure(keys, scaleFor('count', keys.median)).value} keys`, bytes && `${spelled(bytes)} of RSS`].filter(Boolean);
    return tail && `answers 999 of 1,000 reads within ${spelled(tail)}${held.length > 0 ? ` and still holds ${held.join(' and ')} of what ran out` : ''}`;
  });
  return [...sentences, ...wireRemarks(record, run)];
}

/** A sentence per point, with what `said` tells of each of its cells that keeps anything. */
function pointFindings(record: PageScenario, run: Run, said: (cell: PageCell) => string | undefined): string[] {
  return points(record, run).flatMap((point) => {
    const parts = point.cells.flatMap((cell) => {
      const told = cell.status === 'ok' && !keepsNothing(run, cell.target) ? said(cell) : undefined;
      return told ? [{cell, said: told}] : [];
    });
    return parts.length > 0 ? [`${point.label}: ${enumerated(parts, run)}.`] : [];
  });
}

function share({median, low, high}: Measurement): string {
  return withUnit(figure({median: median * 100, low: low * 100, high: high * 100}, {unit: '%', factor: 1}).value, '%');
}

function startupFindings(record: PageScenario, run: Run): string[] {
  const parts = points(record, run).flatMap((point) =>
    point.cells.flatMap((cell) => {
      const started = measurement(cell, 'startup_ms');
      return cell.status === 'ok' && started && roleOf(run, cell.target) !== 'ceiling' ? [{cell, said: spelled(started)}] : [];
    }),
  );
  return parts.length > 0 ? [`From process start to the first right answer: ${enumerated(parts, run)}.`] : [];
}

function failures(record: PageScenario, run: Run): string[] {
  const {closed, open, foreign} = partsOf(record, run);
  const tried = [...closed, ...open, ...foreign];
  const failed = tried.filter((cell) => cell.status !== 'ok' && cell.status !== 'skipped').length;
  const skipped = tried.filter((cell) => cell.status === 'skipped').length;
  const parts = [failed > 0 && `${word(failed)} failed`, skipped > 0 && `${word(skipped)} ${skipped === 1 ? 'was' : 'were'} skipped`].filter(Boolean);
  return parts.length > 0 ? [`Of ${word(tried.length)} cells ${parts.join(' and ')}; the table gives the reasons.`] : [];
}

/** Where the data of a durable store is while it is read. */
function whereData(record: PageScenario): string {
  const limited = isDurable(record) ? record.cells.filter(({axes}) => axes.operation !== 'stock').map(({axes}) => axes.memory_limit_bytes !== undefined) : [];
  if (limited.length > 0 && limited.every(Boolean)) return 'data larger than the memory limit, on the device';
  return limited.some(Boolean) ? 'data in the page cache, under a memory limit on the device' : 'data in memory or in the page cache';
}

/** The regime a finding holds in: machine class, network, CPUs, loop, memory, versions and allocators. */
export function regime(run: Run, record: PageScenario): string {
  const {machine, environment} = run;
  const place = machine.title || machine.cpu_model;
  const cpus = `${word(machine.threads)} ${machine.threads === 1 ? 'CPU' : 'CPUs'}`;
  const pinned =
    environment.server_cpus && environment.generator_cpus
      ? `server on CPU ${environment.server_cpus}, load generator on CPU ${environment.generator_cpus}`
      : 'server and load generator not pinned';
  const shown = new Set(record.cells.filter((cell) => cell.status === 'ok').map((cell) => cell.target));
  const durable = run.targets.some((target) => target.durability === 'durable' && shown.has(target.key));
  const versions = run.targets
    .filter((target) => !keepsNothing(run, target.key) && shown.has(target.key))
    .map((target) => (target.title.includes(target.allocator) || !target.allocator ? target.title : `${target.title}, allocator ${target.allocator}`));
  const {closed, open} = partsOf(record, run);
  const loops = [closed.some((cell) => cell.status === 'ok') && 'closed', open.some((cell) => cell.status === 'ok') && 'open'].filter(Boolean);
  const socket = run.targets.some((target) => target.transport === 'socket' && shown.has(target.key));
  const load = !socket ? 'in process' : record.scenario.kind === 'startup' ? 'loopback' : `${loops.join(' and ') || 'closed'} loop over loopback`;
  return `Regime: ${load} on ${place} (${machine.class} machine, ${cpus}${machine.virtualisation === 'none' ? '' : `, ${machine.virtualisation}`}); ${[pinned, durable ? whereData(record) : 'all data in memory', ...versions].join('; ')}.`;
}

/** Overhead ratios of a container cell against native, by metric. */
export function overheads(record: PageScenario, cell: PageCell): {metric: string; ratio: Ratio}[] {
  return ['ops_per_second', 'latency_ns_p99', 'server_cpu_ns_per_op', 'startup_ms'].flatMap((metric) => {
    const ratio = ratioOf(record, 'overhead', metric, cell.key);
    return ratio ? [{metric, ratio}] : [];
  });
}
