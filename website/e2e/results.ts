// Which pages does the built site hold? Read from its own list of versions and its raw records, so that the tests
// work on whatever results were built.
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';
import {byAge, type Merged, mergedScenarios} from '../plugins/benchmarks/merge';
import type {PickerEntry} from '../plugins/benchmarks/routes';
import type {Run, ScenarioRecord} from '../src/generated/records';
import {text} from '../src/lib/packed';
import {type PageScenario, pageScenario} from '../src/lib/record';
import {BUILD_DIR} from './serve';

export interface BuiltVersion extends Omit<PickerEntry, 'scenarios'> {
  /** The newest. */
  run: Run;
  /** What the version's own pages show. */
  scenarios: PageScenario[];
  /** The same with the runs behind it, by key of the scenario. */
  merged: Map<string, Merged>;
  /** Every run, by its id. */
  runs: Map<string, Run>;
}

export function pickerEntries(build = BUILD_DIR): PickerEntry[] {
  return JSON.parse(readFileSync(path.join(build, 'results', 'versions.json'), 'utf8')) as PickerEntry[];
}

/** The runs of each version × machine, as its raw files in the build tell. */
export function builtVersions(build = BUILD_DIR): BuiltVersion[] {
  return pickerEntries(build).map((entry) => {
    const folder = path.join(build, 'results', entry.version, entry.machine);
    if (!existsSync(folder)) throw new Error(`no raw files of ${entry.version} on ${entry.machine} in the build`);
    const loaded = readdirSync(folder).map((id) => {
      const run = read<Run>(path.join(folder, id, 'run.json'));
      return {run, scenarios: run.scenarios.map(({file}) => pageScenario(read<ScenarioRecord>(path.join(folder, id, file))))};
    });
    const run = byAge(loaded).at(-1)?.run;
    if (!run) throw new Error(`${folder} holds no run`);
    const merged = mergedScenarios(loaded);
    return {...entry, run, scenarios: [...merged.values()].map(({record}) => record), merged, runs: new Map(loaded.map(({run}) => [run.id, run]))};
  });
}

function read<T>(file: string): T {
  return JSON.parse(text(file, readFileSync(file))) as T;
}
