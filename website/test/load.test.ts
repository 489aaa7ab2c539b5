// Does a fault in the stored results stop the build with one line that names file and place?
import {mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {expect, test} from 'vitest';
import {loadResults} from '../plugins/benchmarks/load';
import {parseJson, ResultsProblem} from '../plugins/benchmarks/problem';
import {SCHEMA_VERSION} from '../src/generated/records';
import {fileOf, fixtureResults, readIndex, rewrite, validator, withCopy} from './fixture';

/** The message that loading a damaged copy gives. */
function problem(damage: (root: string) => void): string {
  return withCopy((root) => {
    damage(root);
    try {
      loadResults(root, validator);
    } catch (error) {
      expect(error).toBeInstanceOf(ResultsProblem);
      const {message} = error as Error;
      expect(message).not.toContain('\n');
      return message;
    }
    throw new Error('the damage was not seen');
  });
}

test('the fixture loads: a version, a machine, a run, its scenarios', () => {
  const run = fixtureResults().versions[0]?.machines[0]?.runs[0];
  expect(run?.scenarios.map(({scenario}) => scenario.key)).toContain('wire-single');
  expect(run?.files[0]).toMatchObject({name: 'run.json'});
});

test('a missing folder, and one without local results, are no fault', () => {
  const empty = mkdtempSync(path.join(tmpdir(), 'plumbkv-none-'));
  expect(loadResults(empty, validator)).toEqual({versions: []});
  expect(loadResults(path.join(empty, 'absent'), validator)).toEqual({versions: []});
  rmSync(empty, {recursive: true});
});

test('local results stand beside committed ones', () => {
  withCopy((root) => {
    const [entry] = readIndex(root).versions;
    const index = readIndex(root);
    mkdirSync(path.join(root, 'local'));
    renameSync(path.join(root, entry?.version ?? ''), path.join(root, 'local', entry?.version ?? ''));
    writeFileSync(path.join(root, 'local', 'index.json'), JSON.stringify({...index, versions: [{...entry, version: 'local'}]}));
    rmSync(path.join(root, 'index.json'));
    const loaded = loadResults(root, validator);
    expect(loaded.versions.map(({version}) => version)).toEqual(['local']);
    expect(loaded.versions[0]?.machines[0]?.runs[0]?.files[0]?.sitePath).toMatch(/^results\/local\//);
  });
});

test('broken JSON names file, line and column', () => {
  const message = problem((root) => {
    const file = fileOf(root, 'wire-single.json');
    rewrite(root, file, (text) => text.replace('"cells": [', '"cells": [,'));
  });
  const line = withCopy((root) => readFileSync(path.join(root, fileOf(root, 'wire-single.json')), 'utf8'))
    .split('\n')
    .findIndex((text) => text.includes('"cells": [')) + 1;
  expect(message).toContain('wire-single.json: is not valid JSON at line ' + line + ', column');
});

test('a file that stops half way names its last line', () => {
  const message = problem((root) => rewrite(root, fileOf(root, 'run.json'), (text) => text.slice(0, text.length >> 1)));
  expect(message).toMatch(/run\.json: is not valid JSON at line \d+, column \d+/);
});

test('the place of a syntax error is exact', () => {
  expect(() => parseJson('x.json', '{\n  "a": 1,\n  "b": oops\n}')).toThrow('x.json: is not valid JSON at line 3, column 8');
  expect(() => parseJson('x.json', '')).toThrow('line 1, column 1');
  expect(() => parseJson('x.json', '[1, 2,]')).toThrow('line 1, column 7');
  expect(() => parseJson('x.json', '{"a": "b" "c": 1}')).toThrow('line 1, column 11');
});

test('a text cut anywhere is told to end where it ends', () => {
  const whole = '{"a": [1, -2.5e3, true, null, "x\\u00e9\\n"], "b": {"c": false}}';
  for (let length = 1; length < whole.length; length += 1) {
    expect(() => parseJson('x.json', whole.slice(0, length)), whole.slice(0, length)).toThrow(`column ${length + 1};`);
  }
});

test('a wrong field is named', () => {
  const message = problem((root) => rewrite(root, fileOf(root, 'wire-single.json'), (text) => text.replace(/"status": ?"ok"/, '"status":"splendid"')));
  expect(message).toMatch(/wire-single\.json: field "cells\.0\.status" must be one of ok, .*skipped/);
});

test('an unknown field is named', () => {
  const message = problem((root) => rewrite(root, fileOf(root, 'run.json'), (text) => text.replace('{', '{"surprise": 1,')));
  expect(message).toContain('must not hold "surprise"');
});

test('a newer schema_version says to update', () => {
  const message = problem((root) => rewrite(root, fileOf(root, 'run.json'), (text) => text.replace(/"schema_version": ?1/, '"schema_version": 7')));
  expect(message).toMatch(/schema_version 7, this site reads up to 3; update the checkout/);
});

test('a file of another kind is refused', () => {
  const message = problem((root) => rewrite(root, fileOf(root, 'run.json'), (text) => text.replace('plumbkv.run', 'plumbkv.scenario')));
  expect(message).toContain('field "schema" should be "plumbkv.run"');
});

test('a file changed after it was written is refused', () => {
  const message = problem((root) => rewrite(root, fileOf(root, 'startup.json'), (text) => `${text}\n`, true));
  expect(message).toMatch(/startup\.json: its SHA-256 is [0-9a-f]{12}…, the index says/);
});

test('a missing file, and a path that leaves the folder, are refused', () => {
  expect(problem((root) => rmSync(path.join(root, fileOf(root, 'startup.json'))))).toContain('which does not exist');
  expect(problem((root) => rewrite(root, 'index.json', (text) => text.replace(/"path": ?"[^"]*startup/, '"path": "../../startup')))).toContain(
    'leaves the results folder',
  );
  expect(problem((root) => rewrite(root, 'index.json', (text) => text.replace(/"version": ?"0\.0\.1"/g, '"version": "<script>"')))).toContain('cannot be part of an address');
});

test('a record of another run is refused', () => {
  const message = problem((root) =>
    rewrite(root, fileOf(root, 'startup.json'), (text) => text.replace(/"run_id": ?"[^"]*"/, '"run_id": "somebody-elses"')),
  );
  expect(message).toContain('belongs to run somebody-elses');
});

test('records of an older shape are read as those of the newest without the fields that came later', () => {
  const oldIndex = path.join(__dirname, '..', '..', 'results', 'index.json');
  for (let old = 1; old < SCHEMA_VERSION; old += 1) {
    const text = readFileSync(oldIndex, 'utf8').replace(/"schema_version": \d+/, `"schema_version": ${old}`);
    expect(validator.check('index', 'results/index.json', text).schema_version).toBe(SCHEMA_VERSION);
  }
});
