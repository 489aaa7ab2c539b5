// Stored scenarios for tests: every record of the newest committed version, and of the made-up run.
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import type {Index, Run, ScenarioRecord} from '../src/generated/records';
import {text} from '../src/lib/packed';
import {type PageScenario, pageScenario} from '../src/lib/record';
import {isScenario} from '../src/lib/record-files';
import {fixtureRun} from './fixture';

const RESULTS = path.join(__dirname, '..', '..', 'results');

export interface StoredScenario {
  name: string;
  record: PageScenario;
  run: Run;
}

/** Read without a check: `npm run build` checks them all. */
export function storedScenarios(): StoredScenario[] {
  const {run, scenarios} = fixtureRun();
  return [...scenarios.map((record) => ({name: `fixture ${record.scenario.key}`, record, run})), ...newestVersion()];
}

function newestVersion(): StoredScenario[] {
  if (!existsSync(path.join(RESULTS, 'index.json'))) return [];
  const newest = read<Index>('index.json').versions.at(-1);
  const runs = newest?.machines.flatMap((machine) => machine.runs) ?? [];
  return runs.flatMap(({files}) => {
    const stored = files.filter(({path: file}) => path.basename(file) === 'run.json' || isScenario(path.basename(file))).map((file) => read<Run | ScenarioRecord>(file.path));
    const run = stored.find((one): one is Run => one.schema === 'plumbkv.run');
    if (!run) throw new Error('a stored run has no run.json');
    const records = stored.filter((one): one is ScenarioRecord => one.schema === 'plumbkv.scenario');
    return records.map((record) => ({name: `${run.id} ${record.scenario.key}`, record: pageScenario(record), run}));
  });
}

function read<T>(file: string): T {
  return JSON.parse(text(file, readFileSync(path.join(RESULTS, file)))) as T;
}
