// Is the database of all records offered where one was made, and nowhere else?
import {createHash} from 'node:crypto';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {afterAll, expect, test} from 'vitest';
import {loadDatabase} from '../plugins/benchmarks/database';
import {ResultsProblem} from '../plugins/benchmarks/problem';
import {routes} from '../plugins/benchmarks/routes';
import type {OverviewData} from '../src/routes/Overview';
import {fixtureResults} from './fixture';

const folder = mkdtempSync(path.join(tmpdir(), 'plumbkv-database-'));
afterAll(() => rmSync(folder, {recursive: true}));

function fileOf(text: string): string {
  const file = path.join(folder, 'some.sqlite');
  writeFileSync(file, text);
  return file;
}

test('a database is offered with its size and digest on the list of versions alone', () => {
  const text = 'SQLite format 3\0 and its pages';
  const database = loadDatabase(fileOf(text));
  const link = {name: 'plumbkv-results.sqlite', sitePath: 'results/plumbkv-results.sqlite', bytes: text.length, sha256: createHash('sha256').update(text).digest('hex')};
  expect(database).toMatchObject(link);
  const plan = routes({...fixtureResults(), ...(database ? {database} : {})});
  expect((plan.data.get('overview')?.() as OverviewData).database).toEqual(link);
  const naming = [...plan.data].filter(([, value]) => JSON.stringify(value()).includes('.sqlite')).map(([name]) => name);
  expect(naming).toEqual(['overview']);
});

test('without a database no page names one', () => {
  expect(loadDatabase(undefined)).toBeUndefined();
  expect(loadDatabase('')).toBeUndefined();
  expect(JSON.stringify([...routes(fixtureResults()).data.values()].map((make) => make()))).not.toContain('.sqlite');
});

test('a path that holds no database stops the build and says what to do', () => {
  expect(() => loadDatabase(fileOf('{"version": "0.1.0"}'))).toThrow(ResultsProblem);
  expect(() => loadDatabase(path.join(folder, 'absent'))).toThrow(/does not exist; make it with 'bench-runner db rebuild --out FILE'/);
});
