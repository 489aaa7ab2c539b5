// Questions of the matrix: which scenario answers each, at which point, and by which metric.
import type {Axes, Cell} from '../../../src/generated/records';
import type {TableKey} from '../../../src/lib/matrix';

export interface Question {
  key: string;
  table: TableKey;
  title: string;
  /** Scenarios that hold the point. */
  scenarios: string[];
  /** Axes that the point must have. Axes that change the question (`variant`, `sync` …) must be absent unless named. */
  axes: Partial<Axes>;
  /** Axes that the point has where there is a choice. */
  prefer?: Partial<Axes>;
  metric: string;
}

/** An axis that makes another question of a point. Sizes (clients, keys, bytes) do not. */
const CHANGES_QUESTION: (keyof Axes)[] = [
  'set_percent',
  'distribution',
  'arrival',
  'rate_percent',
  'rate_per_second',
  'rate_percent_of_slowest',
  'ttl_ms',
  'memory_limit_bytes',
  'protocol',
  'transport',
  'connections',
  'variant',
  'client_program',
  'sync',
];

const MIB = 1024 ** 2;

const row =
  (table: TableKey) =>
  (key: string, title: string, scenarios: string | string[], metric: string, axes: Partial<Axes>, prefer: Partial<Axes> = {}): Question => ({
    key,
    table,
    title,
    scenarios: [scenarios].flat(),
    metric,
    axes,
    prefer,
  });
const server = row('server');
const store = row('store');
const OPS = 'ops_per_second';
/** Both have closed loops with many connections; which has the longer trials differs from version to version. */
const CONNECTIONS = ['wire-concurrency', 'wire-same-rate'];
const SAME_RATE: Partial<Axes> = {operation: 'get', clients: 50, value_bytes: 64, arrival: 'poisson', rate_percent_of_slowest: 70};

/** In the order of the rows. */
export const QUESTIONS: Question[] = [
  server('many-connections', '50 connections', CONNECTIONS, OPS, {operation: 'get', clients: 50, pipeline: 1, value_bytes: 64}),
  server('thousand-connections', '1,000 connections', CONNECTIONS, OPS, {operation: 'get', clients: 1000, pipeline: 1, value_bytes: 64}),
  server('pipelined-reads', 'Pipelined reads', 'wire-pipeline', OPS, {operation: 'get', pipeline: 16, value_bytes: 64}),
  server('pipelined-writes', 'Pipelined writes', 'wire-pipeline', OPS, {operation: 'set', pipeline: 16, value_bytes: 64}),
  server('one-connection', 'One connection', 'wire-single', 'latency_ns_p50', {operation: 'get', clients: 1, value_bytes: 64}),
  server('same-rate-cpu', 'CPU at the same rate', 'wire-same-rate', 'server_cpu_ns_per_op', SAME_RATE),
  server('same-rate-tail', 'Tail at the same rate', 'wire-same-rate', 'latency_ns_p99', SAME_RATE),
  server('memory-per-key', 'Memory per key', 'memory-per-key', 'rss_bytes_per_key', {operation: 'fill', value_bytes: 64}),
  server('cap', 'Cap under pressure', 'memory-cap', 'rss_bytes_growth', {operation: 'overwrite', cap_bytes: 64 * MIB}),
  server('hit-ratio', 'Hits under a cap', 'memory-cap', 'hit_ratio', {operation: 'trace', distribution: 'zipf'}, {value_bytes: 4096}),
  server('idle', 'Idle connections', 'memory-cap', 'rss_bytes_per_connection', {operation: 'idle'}),
  server('growing', 'Tail while growing', 'wire-tail', 'latency_ns_p99', {operation: 'grow', arrival: 'poisson', rate_per_second: 10_000}),
  server('startup', 'Start', 'startup', 'startup_ms', {operation: 'start'}),
  store('load', 'Load', 'load', 'settled_ops_per_second', {operation: 'load'}),
  store('single-writes', 'Single writes', 'write', OPS, {operation: 'write', clients: 1, batch: 1}),
  store('synced-writes', 'Synced writes', 'write', OPS, {operation: 'write', clients: 1, batch: 1, sync: 'always'}),
  store('group-commit', 'Synced, 16 writers', 'write', OPS, {operation: 'write', clients: 16, batch: 1, sync: 'always'}),
  store('random-reads', 'Random reads', 'read-random', OPS, {operation: 'read_random', clients: 1}, {cache_bytes: 64 * MIB}),
  store('uncached-reads', 'Reads without a cache', 'read-random', OPS, {operation: 'read_random', clients: 1, cache_bytes: 0}),
  store('absent-keys', 'Absent keys', 'read-random', OPS, {operation: 'read_absent', clients: 1}, {cache_bytes: 64 * MIB}),
  store('disk-reads', 'Reads from disk', 'read-disk', OPS, {operation: 'read_random', memory_limit_bytes: 256 * MIB}, {cache_bytes: 64 * MIB}),
  store('scans', 'Scans', 'scan', OPS, {operation: 'scan'}),
  store('mixed', 'Reads and writes', 'mixed', OPS, {operation: 'mixed', set_percent: 20, distribution: 'zipf'}),
  store('low-memory', 'Low memory', 'low-memory', OPS, {operation: 'read_random', memory_limit_bytes: 256 * MIB}),
  store('open', 'Open', 'open', 'open_ms', {operation: 'open'}),
];

/** Whether a cell was measured at the point of a question. */
export function answers(question: Question, {axes, mode, placement}: Pick<Cell, 'axes' | 'mode' | 'placement'>): boolean {
  if (mode !== 'native' || placement === 'together') return false;
  const named = Object.entries(question.axes);
  return (
    named.every(([axis, value]) => axes[axis as keyof Axes] === value) &&
    CHANGES_QUESTION.every((axis) => axes[axis] === undefined || axis in question.axes)
  );
}

/** How many of the preferred axes a point has. */
export function preference({prefer = {}}: Question, axes: Axes): number {
  return Object.entries(prefer).filter(([axis, value]) => axes[axis as keyof Axes] === value).length;
}
