// Commands under "Make these figures again": complete, without a path of the machine, readable by a shell.
import {execFileSync} from 'node:child_process';
import {readdirSync, readFileSync, statSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from 'vitest';
import type {Run} from '../src/generated/records';
import {REPOSITORY, reproduceLines, startedBy} from '../src/lib/reproduce';
import {fixtureRun} from './fixture';

const RESULTS = path.join(__dirname, '..', '..', 'results');

/** Every committed run, of all versions. */
function storedRuns(folder = RESULTS): Run[] {
  return readdirSync(folder).flatMap((name) => {
    const at = path.join(folder, name);
    if (name === 'local') return [];
    if (name === 'run.json') return [JSON.parse(readFileSync(at, 'utf8')) as Run];
    return statSync(at).isDirectory() ? storedRuns(at) : [];
  });
}

test('every stored run can be made again from nothing', () => {
  const runs = storedRuns();
  expect(runs.length).toBeGreaterThan(0);
  for (const run of runs) {
    const lines = reproduceLines(run);
    expect(lines[0], run.id).toBe(`git clone ${REPOSITORY} && cd plumbkv`);
    expect(lines[1], run.id).toBe(`git checkout ${run.source.commit}`);
    expect(lines.at(-1), run.id).toMatch(new RegExp(`^target/x86_64-unknown-linux-gnu/release/bench-runner run --profile ${run.profile} --seed ${run.seed}`));
    execFileSync('bash', ['-n', '-c', lines.join('\n')]);
  }
});

test('no line and no command holds a path of the machine that measured', () => {
  for (const run of storedRuns()) {
    for (const line of [...reproduceLines(run), startedBy(run)]) expect(line.replace(REPOSITORY, ''), run.id).not.toMatch(/(^|[\s=])\//);
  }
});

test('drivers, components and rivals are built and named where they took part', () => {
  const {run} = fixtureRun();
  const [first] = run.targets;
  if (!first?.build) throw new Error('the fixture’s first target has no file');
  const target = (key: string, file: string) => ({...first, key, title: `${key} 1`, role: 'rival' as const, build: {...(first.build as NonNullable<typeof first.build>), file}});
  const embedded = {
    ...run,
    command: 'bench-runner run --bin redis-server=/opt/redis/redis-server --criterion target/criterion',
    reproduce: ['git checkout abc', 'make setup build', '# redis-server was version 7', 'target/x/release/bench-runner run --seed 1'],
    targets: [target('fjall', 'plumbkv-driver-fjall'), target('rocksdb', 'plumbkv-driver-rocksdb')],
  };
  expect(reproduceLines(embedded)).toEqual([
    `git clone ${REPOSITORY} && cd plumbkv`,
    'git checkout abc',
    'make setup build',
    'make rivals',
    'make components',
    '# measured beside: fjall 1; rocksdb 1',
    'target/x/release/bench-runner run --seed 1 --criterion target/criterion',
  ]);
  expect(reproduceLines(embedded, new Set(['fjall']))).toContain('make drivers');
  expect(startedBy(embedded)).toBe('bench-runner run --bin redis-server=redis-server --criterion target/criterion');
  const foreign = {...run, reproduce: ['bench-runner run --profile quick --seed 1 --target redis://127.0.0.1:6379']};
  expect(reproduceLines(foreign)).toEqual(foreign.reproduce);
});
