// The table of simulated gates: reads `calibration/power.json`, what `bench-runner power --format json` prints.
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import {FOLDER, POWER_FILE} from './calibration';
import type {RawFile} from './load';
import {shown} from './names';
import {offered} from './offered';
import {ResultsProblem, parseJson} from './problem';

/** Gates of one kind of noise, of which one series was made slower by one size. */
export interface PowerCase {
  /** Standard deviations of the log ratio of a block, and of what a new layout does to a program. */
  block_sd: number;
  layout_sd: number;
  /** Correlation of the machine's mood from trial to trial. */
  mood: number;
  /** Distribution of the rest. */
  shape: string;
  /** How much worse the changed series is, as a ratio; 1: nothing was changed. */
  effect: number;
  series: number;
  gates: number;
  /** Gates that called the changed series, and those that called an unchanged one. */
  caught: number;
  false_red: number;
}

export interface Power {
  rule: string;
  seed: number;
  cases: PowerCase[];
}

export interface LoadedPower {
  power: Power;
  /** Where the site offers it. */
  file: RawFile;
}

const NEXT = 'write it again with: bench-runner power --format json';

/** The table below `root`; undefined where there is none. */
export function loadPower(root: string): LoadedPower | undefined {
  const diskPath = path.join(root, FOLDER, POWER_FILE);
  if (!existsSync(diskPath)) return undefined;
  const told = shown(root, diskPath);
  const bytes = readFileSync(diskPath);
  const power = checked(told, parseJson(told, bytes.toString('utf8')));
  return {power, file: offered(FOLDER, diskPath, bytes)};
}

/** Documents of commands have no schema, and may have fields that are not known here. */
function checked(file: string, value: unknown): Power {
  const fail = (what: string): never => {
    throw new ResultsProblem(file, what, NEXT);
  };
  const {schema, schema_version: version, rule, seed, cases} = (value ?? {}) as Record<string, unknown>;
  if (schema !== 'plumbkv.power') return fail('field "schema" should be "plumbkv.power"');
  if (version !== 1) return fail('field "schema_version" should be 1');
  if (typeof rule !== 'string') return fail('field "rule" should be a text');
  if (typeof seed !== 'number') return fail('field "seed" should be a number');
  if (!Array.isArray(cases) || cases.length === 0) return fail('field "cases" should be a list that is not empty');
  return {rule, seed, cases: cases.map((one: unknown, index) => caseOf(one, (what) => fail(`"cases.${index}" ${what}`)))};
}

function caseOf(value: unknown, fail: (what: string) => never): PowerCase {
  const fields = (value ?? {}) as Record<string, unknown>;
  const number = (name: string, least: number, most: number): number => {
    const found = fields[name];
    return typeof found === 'number' && found >= least && found <= most ? found : fail(`has no "${name}" from ${least} to ${most}`);
  };
  const gates = number('gates', 1, 1e12);
  const {shape} = fields;
  return {
    block_sd: number('block_sd', 0, 1),
    layout_sd: number('layout_sd', 0, 1),
    mood: number('mood', 0, 1),
    shape: typeof shape === 'string' ? shape : fail('has no "shape"'),
    effect: number('effect', 1, 2),
    series: number('series', 1, 1000),
    gates,
    caught: number('caught', 0, gates),
    false_red: number('false_red', 0, gates),
  };
}
