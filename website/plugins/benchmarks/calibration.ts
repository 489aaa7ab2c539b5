// What is known of the gate's errors? Reads `calibration/<machine>.json`; like every record it is checked before it is believed.
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import type {Calibration} from '../../src/generated/records';
import type {RawFile} from './load';
import {safe, shown} from './names';
import {offered} from './offered';
import {ResultsProblem} from './problem';
import type {Validator} from './validate';

export interface LoadedCalibration {
  calibration: Calibration;
  /** Where the site offers it. */
  file: RawFile;
}

export const FOLDER = 'calibration';
/** The table of simulated gates, in the same folder. */
export const POWER_FILE = 'power.json';

/** Calibrations below `root`, by name of the machine; none where the folder is missing. */
export function loadCalibrations(root: string, validator: Validator): LoadedCalibration[] {
  const folder = path.join(root, FOLDER);
  if (!existsSync(folder)) return [];
  // One that is being written ends in `.part`.
  const names = readdirSync(folder).filter((name) => name.endsWith('.json') && name !== POWER_FILE);
  return names.sort().map((name) => load(root, path.join(folder, name), validator));
}

function load(root: string, diskPath: string, validator: Validator): LoadedCalibration {
  const told = shown(root, diskPath);
  const name = path.basename(diskPath);
  const bytes = readFileSync(diskPath);
  const calibration = validator.check('calibration', told, bytes.toString('utf8'));
  const key = safe(told, 'machine key', path.basename(name, '.json'));
  if (calibration.machine_key !== key) {
    throw new ResultsProblem(
      told,
      `says it belongs to machine ${JSON.stringify(calibration.machine_key)}, its name says "${key}"`,
      'restore the file from version control or calibrate again',
    );
  }
  const wrong = fault(calibration);
  if (wrong) throw new ResultsProblem(told, wrong, 'restore the file from version control or calibrate again');
  return {calibration, file: offered(FOLDER, diskPath, bytes)};
}

/** What the schema cannot know: a time is a text to it, and a size without its kind would be counted as a false alarm. */
function fault({gates, rates}: Calibration): string | undefined {
  const untimed = gates.findIndex(({started_at: at}) => Number.isNaN(Date.parse(at)));
  if (untimed >= 0) return `field "gates.${untimed}.started_at" is no time`;
  for (const [field, all] of Object.entries({gates, rates})) {
    const half = all.findIndex(({injected_percent: percent, injected_as: as}) => (percent === 0) !== (as === undefined));
    if (half >= 0) return `fields "injected_percent" and "injected_as" of "${field}.${half}" contradict each other`;
  }
  return undefined;
}
