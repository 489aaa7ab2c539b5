// Which pages does the built site hold? Read from its own list of versions and its raw records, so that the tests
// work on whatever results were built.
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import type {PickerEntry} from '../plugins/benchmarks/routes';
import type {Run, ScenarioRecord} from '../src/generated/records';
import {BUILD_DIR} from './serve';

export interface BuiltVersion extends PickerEntry {
  run: Run;
  scenarios: ScenarioRecord[];
}

export function pickerEntries(build = BUILD_DIR): PickerEntry[] {
  return JSON.parse(readFileSync(path.join(build, 'results', 'versions.json'), 'utf8')) as PickerEntry[];
}

/** The newest run of each version × machine, as its raw files in the build tell. */
export function builtVersions(build = BUILD_DIR): BuiltVersion[] {
  return pickerEntries(build).map((entry) => {
    const folder = path.join(build, 'results', entry.version, entry.machine);
    if (!existsSync(folder)) throw new Error(`no raw files of ${entry.version} on ${entry.machine} in the build`);
    const runs = readdirSync(folder).map((id) => read<Run>(path.join(folder, id, 'run.json')));
    const run = runs.sort((a, b) => a.started_at.localeCompare(b.started_at)).at(-1);
    if (!run) throw new Error(`${folder} holds no run`);
    const scenarios = run.scenarios.map(({file}) => read<ScenarioRecord>(path.join(folder, run.id, file)));
    return {...entry, run, scenarios};
  });
}

function read<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}
