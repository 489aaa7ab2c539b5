// How is a results folder with more versions made from one with a single run? By copying the fixture's run under another
// version and id, changed as the test wants it, with the checksums that its index then needs.
import {createHash} from 'node:crypto';
import {cpSync, existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import type {Index, Run, ScenarioRecord} from '../src/generated/records';

/** The made-up run of version 0.0.1. */
export const FIXTURE = path.resolve(__dirname, 'fixtures', 'results');

export interface Copy {
  /** `0.0.2`, or `local`. */
  version: string;
  /** RFC 3339; the id follows from it. */
  startedAt: string;
  changeRun?: (run: Run) => void;
  /** Changes the scenarios of the fixture. */
  changeScenario?: (record: ScenarioRecord) => void;
  /** Scenarios beyond those of the fixture. */
  more?: ScenarioRecord[];
}

/** Writes a results folder that holds the fixture and copies of its run. */
export function writeResults(root: string, copies: Copy[]): void {
  cpSync(FIXTURE, root, {recursive: true});
  for (const copy of copies) addCopy(root, copy);
}

function addCopy(root: string, {version, startedAt, changeRun, changeScenario, more = []}: Copy): void {
  const folder = version === 'local' ? path.join(root, 'local') : root;
  const fixture = readJson<Index>(path.join(FIXTURE, 'index.json'));
  const [entry] = fixture.versions;
  const [machine] = entry?.machines ?? [];
  const [indexed] = machine?.runs ?? [];
  if (!entry || !machine || !indexed) throw new Error(`${FIXTURE} holds no run`);

  const id = `${startedAt.replace(/[-:]/g, '')}-${indexed.profile}-f1f1`;
  const stored = indexed.files.map((file) => ({name: path.basename(file.path), record: readJson<Run | ScenarioRecord>(path.join(FIXTURE, file.path))}));
  const added = more.map((record) => ({name: `${record.scenario.key}.json`, record: {...structuredClone(record), version, run_id: id}}));
  for (const {record} of stored) {
    if (!('run_id' in record)) record.scenarios.push(...added.map((one) => entryOf(one.name, one.record)));
  }
  const files = [...stored, ...added].map(({name, record}, index) => {
    record.version = version;
    if ('run_id' in record) {
      record.run_id = id;
      if (index < stored.length) changeScenario?.(record);
    } else {
      record.id = id;
      record.started_at = startedAt;
      changeRun?.(record);
    }
    const text = JSON.stringify(record);
    const to = `${version}/${machine.key}/${id}/${name}`;
    mkdirSync(path.dirname(path.join(folder, to)), {recursive: true});
    writeFileSync(path.join(folder, to), text);
    return {path: to, sha256: createHash('sha256').update(text).digest('hex'), bytes: Buffer.byteLength(text)};
  });

  const at = path.join(folder, 'index.json');
  const index: Index = existsSync(at) ? readJson<Index>(at) : {...fixture, versions: []};
  index.versions.push({version, machines: [{...machine, runs: [{...indexed, id, started_at: startedAt, files}]}]});
  writeFileSync(at, JSON.stringify(index));
}

/** How a run lists a scenario. */
function entryOf(file: string, record: ScenarioRecord): Run['scenarios'][number] {
  const {cells, scenario} = record;
  const having = (...statuses: string[]) => cells.filter(({status}) => statuses.includes(status)).length;
  return {
    key: scenario.key,
    title: scenario.title,
    file,
    sha256: createHash('sha256').update(JSON.stringify(record)).digest('hex'),
    cells_ok: having('ok'),
    cells_failed: having('failed', 'invalid', 'timeout'),
    cells_skipped: having('skipped'),
  };
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}
