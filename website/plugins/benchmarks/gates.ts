// Gates that are kept as examples: reads `gates/*.json`, each the `gate.json` of one gate, checked before it is believed.
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import path from 'node:path';
import type {Gate} from '../../src/generated/records';
import type {RawFile} from './load';
import {safe, shown} from './names';
import {offered} from './offered';
import {ResultsProblem} from './problem';
import type {Validator} from './validate';

export interface LoadedGate {
  gate: Gate;
  /** Where the site offers it. */
  file: RawFile;
}

const FOLDER = 'gates';

/** Gates below `root`, newest first; none where the folder is missing. */
export function loadGates(root: string, validator: Validator): LoadedGate[] {
  const folder = path.join(root, FOLDER);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const gates = names.sort().map((name) => load(root, path.join(folder, name), validator));
  return gates.sort((a, b) => Date.parse(b.gate.started_at) - Date.parse(a.gate.started_at));
}

function load(root: string, diskPath: string, validator: Validator): LoadedGate {
  const told = shown(root, diskPath);
  const name = path.basename(diskPath);
  safe(told, 'name of a gate', path.basename(name, '.json'));
  const bytes = readFileSync(diskPath);
  const gate = validator.check('gate', told, bytes.toString('utf8'));
  const wrong = fault(gate);
  if (wrong) throw new ResultsProblem(told, wrong, 'restore the file from version control');
  return {gate, file: offered(FOLDER, diskPath, bytes)};
}

/** What the schema cannot know: a time is a text to it, and 1e999 is a number in JSON. */
function fault({started_at: at, measured_s: measured, verdicts, profiles = []}: Gate): string | undefined {
  if (Number.isNaN(Date.parse(at))) return 'field "started_at" is no time';
  if (!Number.isFinite(measured)) return 'field "measured_s" is not finite';
  const verdict = verdicts.findIndex(({ratio, interval, base, head, limit}) =>
    [ratio, ...(interval ?? []), base, head, limit].some((one) => one !== undefined && !Number.isFinite(one)),
  );
  if (verdict >= 0) return `"verdicts.${verdict}" has a number that is not finite`;
  const profile = profiles.findIndex(({functions}) => functions.some(({base, head}) => !Number.isFinite(base) || !Number.isFinite(head)));
  return profile >= 0 ? `"profiles.${profile}" has a number that is not finite` : undefined;
}
