// Records of embedded engines on a disk: what marks them, what their writes promise, their tables, and the disk beside them.
//
// Records of versions before the durable store have the kind `embedded` too, and none of this: their pages stay what they are.
import type {Environment} from '../generated/records';
import {fixed, withUnit} from './format';
import type {PageCell, PageScenario} from './record';

/** Whether a record was made with stored directories, settling and promises. */
export function isDurable({scenario, cells}: PageScenario): boolean {
  const marks = ['rss_anonymous_bytes', 'open_ms', 'settled_ops_per_second'];
  return scenario.kind === 'embedded' && cells.some((cell) => cell.measurements.some(({metric}) => marks.includes(metric)));
}

/** A record without the loading of directories for other cells, unless loading is what it is about. */
export function withoutStock(record: PageScenario): PageScenario {
  return record.scenario.key.startsWith('load') ? record : {...record, cells: record.cells.filter((cell) => !isStock(cell))};
}

/** The loading of a directory that other cells read: it is recorded, and is not what the scenario is about. */
export function isStock(cell: Pick<PageCell, 'axes'>): boolean {
  return cell.axes.operation === 'stock';
}

const WRITES = ['load', 'write', 'sustained_write', 'overwrite', 'queue', 'delete_range', 'mixed', 'ycsb_a', 'ycsb_b', 'ycsb_d', 'ycsb_e', 'ycsb_f'];
const TABLES = ['load', 'stock', 'read_before', 'compact', 'read_after', 'open', 'open_killed'];

export interface SyncPromise {
  target: string;
  /** When writes are forced to the device: absent where the system likes. */
  sync: string | undefined;
  promise: string;
}

/** What an acknowledged write survives, once per engine and sync mode. */
export function promises(cells: PageCell[]): SyncPromise[] {
  const found = new Map<string, SyncPromise>();
  for (const cell of cells.filter(({status, axes}) => status === 'ok' && WRITES.includes(axes.operation))) {
    const promise = fact(cell, 'sync_promise');
    if (typeof promise === 'string') found.set(`${cell.target}/${cell.axes.sync}/${promise}`, {target: cell.target, sync: cell.axes.sync, promise});
  }
  return [...found.values()];
}

/** Tables of a store by level, where they say something of a cell: `3 in level 0, 4 in level 6`. */
export function tablesPerLevel(cell: PageCell): string | undefined {
  const tables = cell.status === 'ok' && TABLES.includes(cell.axes.operation) ? fact(cell, 'tables_per_level') : undefined;
  if (!Array.isArray(tables)) return undefined;
  const filled = tables.flatMap((number, level) => (Number(number) > 0 ? [`${String(number)} in level ${level}`] : []));
  return filled.length > 0 ? filled.join(', ') : 'none';
}

/** Of the last trial that went well: a store's tables differ a little from one to the next. */
function fact(cell: PageCell, name: string): unknown {
  return cell.trials.filter(({status}) => status === 'ok').at(-1)?.facts[name];
}

/** What the disk itself does, measured when the run began: `ext4: 10,200 appends per second …`. */
export function diskSentence({disk_filesystem: filesystem, disk_syncs_per_second: perSecond, disk_sync_ns_p50: median}: Environment): string | undefined {
  if (perSecond === undefined || median === undefined) return undefined;
  const told = `${fixed(perSecond, 0)} appends per second, each forced to the device (fdatasync), p50 ${withUnit(fixed(median / 1000, 0), 'µs')}`;
  return `${told}${filesystem ? `, on ${filesystem}` : ''}`;
}
