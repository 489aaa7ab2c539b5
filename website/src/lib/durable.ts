// What is special about a record of embedded engines on a disk? Its metrics, its columns of words, and the disk beside it.
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

/** The loading of a directory that other cells read: it is recorded, and is not what the scenario is about. */
export function isStock(cell: Pick<PageCell, 'axes'>): boolean {
  return cell.axes.operation === 'stock';
}

/** A column of words, from a fact that the trials of a cell share. */
export interface Words {
  head: string;
  of: (cell: PageCell) => string | undefined;
}

const WRITES = ['load', 'write', 'mixed', 'ycsb_a', 'ycsb_b', 'ycsb_d', 'ycsb_e', 'ycsb_f'];
const TABLES = ['load', 'stock', 'read_before', 'compact', 'read_after', 'open', 'open_killed'];

const WORDS: Words[] = [
  {
    head: 'An acknowledged write',
    of: (cell) => {
      const promise = WRITES.includes(cell.axes.operation) ? fact(cell, 'sync_promise') : undefined;
      return typeof promise === 'string' ? promise : undefined;
    },
  },
  {
    head: 'Tables per level',
    of: (cell) => {
      const tables = TABLES.includes(cell.axes.operation) ? fact(cell, 'tables_per_level') : undefined;
      return Array.isArray(tables) ? tables.map(String).join(' / ') : undefined;
    },
  },
];

/** The columns of words that a table of these cells has. */
export function wordColumns(record: PageScenario): Words[] {
  return isDurable(record) ? WORDS.filter(({of}) => record.cells.some((cell) => of(cell) !== undefined)) : [];
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
