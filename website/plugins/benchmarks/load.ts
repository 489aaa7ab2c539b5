// What do the stored results hold? Reads index, runs and scenarios; every file is checked before it is believed.
import {createHash} from 'node:crypto';
import {existsSync, readFileSync} from 'node:fs';
import path from 'node:path';
import type {Blessing, Claims, Index, IndexFile, IndexMachine, IndexRun, Run} from '../../src/generated/records';
import {text as textOf} from '../../src/lib/packed';
import {type PageScenario, pageScenario} from '../../src/lib/record';
import {isScenario} from '../../src/lib/record-files';
import {loadBlessings} from './blessings';
import {type LoadedCalibration, loadCalibrations} from './calibration';
import type {Database} from './database';
import {type LoadedGate, loadGates} from './gates';
import {SAFE_NAME, safe, shown} from './names';
import {type LoadedPower, loadPower} from './power';
import {ResultsProblem} from './problem';
import type {Validator} from './validate';

/** One stored run with its scenarios, and where the site offers its files. */
export interface LoadedRun {
  version: string;
  machineKey: string;
  run: Run;
  /** Without histograms, which are most of a record: no page shows them, and all runs are in memory at once. */
  scenarios: PageScenario[];
  /** Raw files: name beside `run.json`, path below the site's root, where it lies on disk, size. */
  files: RawFile[];
}

export interface RawFile {
  name: string;
  /** `results/0.1.0/<machine>/<run-id>/run.json`: path in the built site. */
  sitePath: string;
  diskPath: string;
  sha256: string;
  bytes: number;
}

/** Everything the pages are made of. */
export interface Results {
  /** Committed versions in the index's order (newest last), then `local` where there is one. */
  versions: {version: string; machines: {key: string; runs: LoadedRun[]}[]}[];
  /** What is claimed, judged by the committed runs. Absent: nobody has judged yet. */
  claims?: Claims;
  /** How often the gate errs, by machine. Absent: no calibration is stored. */
  calibrations?: LoadedCalibration[];
  /** How often simulated gates erred. Absent: no table is stored. */
  power?: LoadedPower;
  /** Gates that were kept as examples, newest first. Absent: none. */
  gates?: LoadedGate[];
  /** Losses that were accepted, oldest first. Absent: none. */
  blessings?: Blessing[];
  /** All of it as rows. Absent: the caller of the build made none. */
  database?: Database;
}

/** Reads `index.json`, `local/index.json`, `claims.json`, `blessings.json`, `calibration/` and `gates/` below `root`; each may be missing. */
export function loadResults(root: string, validator: Validator): Results {
  const versions: Results['versions'] = [];
  for (const folder of ['', 'local']) {
    const file = path.join(root, folder, 'index.json');
    if (!existsSync(file)) continue;
    const index = validator.check('index', shown(root, file), readFileSync(file, 'utf8'));
    versions.push(...loadIndex(root, folder, index, validator));
  }
  const calibrations = loadCalibrations(root, validator);
  const blessings = loadBlessings(root, validator);
  const power = loadPower(root);
  const gates = loadGates(root, validator);
  const results: Results = {
    versions,
    ...(calibrations.length > 0 ? {calibrations} : {}),
    ...(power ? {power} : {}),
    ...(gates.length > 0 ? {gates} : {}),
    ...(blessings.length > 0 ? {blessings} : {}),
  };
  const judged = path.join(root, 'claims.json');
  if (!existsSync(judged)) return results;
  return {...results, claims: validator.check('claims', shown(root, judged), readFileSync(judged, 'utf8'))};
}

function loadIndex(root: string, folder: string, index: Index, validator: Validator): Results['versions'] {
  const indexFile = shown(root, path.join(root, folder, 'index.json'));
  return index.versions.map(({version, machines}) => ({
    version: safe(indexFile, 'version', version),
    machines: machines.map((machine: IndexMachine) => ({
      key: safe(indexFile, 'machine key', machine.key),
      runs: machine.runs.map((run) => loadRun(root, folder, indexFile, {version, machine: machine.key, run}, validator)),
    })),
  }));
}

function loadRun(
  root: string,
  folder: string,
  indexFile: string,
  at: {version: string; machine: string; run: IndexRun},
  validator: Validator,
): LoadedRun {
  safe(indexFile, 'run id', at.run.id);
  const files = at.run.files.map((file) => rawFile(root, folder, indexFile, file));
  const first = files.find((file) => file.name === 'run.json');
  if (!first) {
    throw new ResultsProblem(indexFile, `run ${at.run.id} lists no run.json`, 'write the index again by measuring or publishing');
  }
  const run = readChecked(root, first, (name, text) => validator.check('run', name, text));
  const scenarios = files
    .filter(({name}) => isScenario(name))
    .map((file) => readChecked(root, file, (name, text) => pageScenario(validator.check('scenario', name, text))));
  // No page shows histograms; the file is offered, so it has to be the one that was written.
  for (const file of files.filter((one) => one !== first && !isScenario(one.name))) checkDigest(root, file, readFileSync(file.diskPath));
  for (const [name, told] of [['run', run.id], ...scenarios.map((s) => ['scenario', s.run_id])]) {
    if (told !== at.run.id) {
      throw new ResultsProblem(
        shown(root, first.diskPath),
        `a ${name} record says it belongs to run ${told}, the index says ${at.run.id}`,
        'restore the folder from version control',
      );
    }
  }
  return {version: at.version, machineKey: at.machine, run, scenarios, files};
}

// Syntax and schema first: "line 40, column 7" helps more than "the checksum differs".
function readChecked<T>(root: string, file: RawFile, check: (name: string, text: string) => T): T {
  const name = shown(root, file.diskPath);
  const bytes = readFileSync(file.diskPath);
  const record = check(name, unpacked(name, bytes));
  checkDigest(root, file, bytes);
  return record;
}

function checkDigest(root: string, file: RawFile, bytes: Buffer): void {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== file.sha256) {
    throw new ResultsProblem(
      shown(root, file.diskPath),
      `its SHA-256 is ${sha256.slice(0, 12)}…, the index says ${file.sha256.slice(0, 12)}…`,
      'the file was changed after it was written; restore it from version control',
    );
  }
}

function unpacked(name: string, bytes: Buffer): string {
  try {
    return textOf(name, bytes);
  } catch (error) {
    throw new ResultsProblem(name, `is not a whole zstd file: ${error instanceof Error ? error.message : String(error)}`, 'restore the file from version control or measure again');
  }
}

function rawFile(root: string, folder: string, indexFile: string, file: IndexFile): RawFile {
  const parts = file.path.split('/');
  if (!parts.every((part) => SAFE_NAME.test(part))) {
    throw new ResultsProblem(indexFile, `path "${file.path}" leaves the results folder`, 'restore the index from version control');
  }
  const diskPath = path.join(root, folder, ...parts);
  if (!existsSync(diskPath)) {
    throw new ResultsProblem(indexFile, `lists "${file.path}", which does not exist`, 'restore the file from version control or measure again');
  }
  return {
    name: parts.at(-1) ?? file.path,
    sitePath: ['results', folder, ...parts].filter(Boolean).join('/'),
    diskPath,
    sha256: file.sha256,
    bytes: file.bytes,
  };
}
