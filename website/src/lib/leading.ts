// Leading metrics: what each kind of scenario is about. Verdicts, findings and first columns are of these.
import type {Axes} from '../generated/records';
import {isDurable} from './durable';
import {isOpenLoop} from './parts';
import type {PageCell, PageScenario} from './record';

/** A metric that verdicts are passed on, with the words for both outcomes. */
export interface Lead {
  metric: string;
  /** Name of the quantity: `throughput`. */
  noun: string;
  /** What the better side does, before `than`: `is faster`. */
  better: string;
  worse: string;
  /** Behind a ratio in a sentence: `0.75× the throughput`. */
  of: string;
  /** Which way is better, as the runner declares it. */
  direction: 'higher' | 'lower';
}

const lead = (metric: string, noun: string, [better, worse]: [string, string], direction: Lead['direction'], of = `the ${noun}`): Lead => ({
  metric,
  noun,
  better,
  worse,
  of,
  direction,
});

const LEADS = {
  throughput: lead('ops_per_second', 'throughput', ['is faster', 'is slower'], 'higher'),
  settled: lead('settled_ops_per_second', 'throughput until settled', ['loads and settles faster', 'loads and settles slower'], 'higher'),
  loaded: lead('ops_per_second', 'throughput until the last record', ['takes records faster', 'takes records slower'], 'higher'),
  open: lead('open_ms', 'opening time', ['opens faster', 'opens slower'], 'lower'),
  flush: lead('flush_ms', 'flush time', ['flushes faster', 'flushes slower'], 'lower'),
  compact: lead('compact_ms', 'compaction time', ['compacts faster', 'compacts slower'], 'lower'),
  deletion: lead('delete_range_ms', 'time of the deletion', ['deletes a range faster', 'deletes a range slower'], 'lower'),
  wait: lead('write_wait_ms', 'wait of a writer beside it', ['keeps writers waiting for less time', 'keeps writers waiting for longer'], 'lower'),
  space: lead('space_amplification_peak_ratio', 'largest space over data', ['needs less space', 'needs more space'], 'lower'),
  perPut: lead('latency_ns_p50', 'time per put (p50)', ['takes less time per put', 'takes more time per put'], 'lower'),
  p99: lead('latency_ns_p99', 'p99', ['has a lower p99', 'has a higher p99'], 'lower'),
  cpu: lead('server_cpu_ns_per_op', 'server CPU per operation', ['uses less CPU per operation', 'uses more CPU per operation'], 'lower'),
  knee: lead('knee_per_second', 'knee', ['sustains a higher rate', 'sustains a lower rate'], 'higher', 'the rate'),
  perKey: lead('rss_bytes_per_key', 'RSS per key', ['uses less memory per key', 'uses more memory per key'], 'lower'),
  perConnection: lead('rss_bytes_per_connection', 'RSS per connection', ['uses less memory per connection', 'uses more memory per connection'], 'lower'),
  hits: lead('hit_ratio', 'hit ratio', ['hits more often', 'hits less often'], 'higher'),
  peak: lead('rss_bytes_peak', 'peak RSS', ['needs less memory', 'needs more memory'], 'lower'),
  startup: lead('startup_ms', 'start-up time', ['starts faster', 'starts slower'], 'lower'),
} satisfies Record<string, Lead>;

const BY_OPERATION: Partial<Record<string, Lead[]>> = {
  open: [LEADS.open],
  open_killed: [LEADS.open],
  flush: [LEADS.flush],
  compact: [LEADS.compact],
  delete_range: [LEADS.deletion, LEADS.wait],
  overwrite: [LEADS.space],
  // Loaded for the cells beside it: not what a scenario is about, unless it is about loading.
  stock: [],
};

/** Metrics that a cell is judged by, the most important first. */
export function leadsOf(record: PageScenario, cell: PageCell): Lead[] {
  const {kind, key} = record.scenario;
  const {axes} = cell;
  if (axes.client_program !== undefined) return [];
  switch (kind) {
    case 'memory_cap':
      return axes.operation === 'trace' ? [LEADS.hits] : axes.operation === 'idle' ? [LEADS.perConnection] : [];
    case 'memory_per_key':
      return [LEADS.perKey];
    case 'expiry':
    case 'tail':
      return [LEADS.p99];
    case 'startup':
      return [LEADS.startup];
    case 'embedded':
      return isDurable(record) ? embedded(key, axes) : [LEADS.throughput];
    default:
      return isOpenLoop(cell) ? openLoop(key, axes) : axes.operation === 'peak' ? [] : [LEADS.throughput];
  }
}

function embedded(key: string, axes: Axes): Lead[] {
  const isLoad = axes.operation === 'load' || (axes.operation === 'stock' && key.startsWith('load'));
  if (isLoad) return axes.batch === 1 ? [LEADS.perPut] : [LEADS.settled, LEADS.loaded];
  const found = BY_OPERATION[axes.operation] ?? [LEADS.throughput];
  return key === 'low-memory' && found.length > 0 ? [...found, LEADS.peak] : found;
}

// At a share of each server's own peak the rates differ, so nothing is compared there.
function openLoop(key: string, axes: Axes): Lead[] {
  if (axes.operation === 'knee') return [LEADS.knee];
  if (axes.rate_per_second === undefined && axes.rate_percent_of_slowest === undefined) return [];
  return key.endsWith('-tail') ? [LEADS.p99] : [LEADS.cpu, LEADS.p99];
}

/** What stands in for throughput where the load generator, not the server, set the pace. */
export const AT_CEILING: Lead = LEADS.cpu;

/** Whether a lead is bounded by the load generator's own speed. */
export function isOfGenerator({metric}: Lead): boolean {
  return metric === 'ops_per_second';
}

/** What a scenario is about before anything else that it measures on the way. */
const FIRST: Lead[] = [LEADS.knee, LEADS.compact, LEADS.settled, LEADS.loaded, LEADS.peak, LEADS.cpu, LEADS.p99];

/** The leads of a whole record, the most important first. */
export function recordLeads(record: PageScenario): Lead[] {
  const named = [...new Set(record.cells.flatMap((cell) => leadsOf(record, cell)))];
  return [...FIRST.filter((one) => named.includes(one)), ...named.filter((one) => !FIRST.includes(one))];
}
