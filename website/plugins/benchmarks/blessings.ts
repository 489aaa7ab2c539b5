// Which losses were accepted? Reads `blessings.json`; and says which of them a trend shows, where, and whether they still hold.
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import type {Blessing, Cell} from '../../src/generated/records';
import {shown} from './names';
import {ResultsProblem} from './problem';
import type {Validator} from './validate';

/** A loss as a trend draws it. */
export interface DrawnBlessing extends Blessing {
  /** The first version on the trend that was measured on the day of the blessing or after it. Absent: none yet. */
  version?: string;
  /** The newest run was measured on the day of its end, or later: it excuses nothing any more. */
  expired: boolean;
}

const FILE = 'blessings.json';
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Blessings below `root`, oldest first; none where there is no file. */
export function loadBlessings(root: string, validator: Validator): Blessing[] {
  const file = path.join(root, FILE);
  if (!existsSync(file)) return [];
  const told = shown(root, file);
  const {blessings} = validator.check('blessings', told, readFileSync(file, 'utf8'));
  blessings.forEach((one, index) => {
    const wrong = fault(one);
    if (wrong) throw new ResultsProblem(told, `"blessings.${index}" ${wrong}`, 'restore the file from version control');
  });
  return blessings;
}

/** What the schema cannot know: a day is a text to it. */
function fault({blessed_on: from, expires_on: until, reason, ratio}: Blessing): string | undefined {
  if (![from, until].every((day) => DAY.test(day) && !Number.isNaN(Date.parse(day)))) return 'has a date that is none';
  if (until <= from) return 'ends before it begins';
  if (reason.trim() === '') return 'has no reason';
  return ratio > 0 ? undefined : 'has a ratio that is none';
}

/** A blessing beside the versions of a trend, which come oldest first with the day of their run. */
export function drawn(blessing: Blessing, versions: {version: string; day: string}[]): DrawnBlessing {
  const version = versions.find(({day}) => day >= blessing.blessed_on)?.version;
  const newest = versions.map(({day}) => day).reduce((last, day) => (day > last ? day : last), '');
  return {...blessing, ...(version === undefined ? {} : {version}), expired: newest >= blessing.expires_on};
}

/** Whether a cell does what the load did in which the loss was found: the same request and length, the same share of SETs in a mix, pipelined or not. */
export function concerns({scenario, metric}: Blessing, cell: Pick<Cell, 'key'>, figureMetric: string): boolean {
  const [lost, here] = [work(scenario), work(cell.key)];
  return metric === figureMetric && lost !== undefined && lost === here;
}

// `plumbkv/native/apart/get-64B-c50-p16` is `plumbkv get-64B pipelined`.
function work(key: string): string | undefined {
  const found = /^([^/]+)\/.*\/([a-z]+-\d+B(?:-s\d+)?)\b.*?-p(\d+)\b/.exec(key);
  return found ? `${found[1]} ${found[2]} ${found[3] === '1' ? 'one at a time' : 'pipelined'}` : undefined;
}
