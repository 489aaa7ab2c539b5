// Where was each scenario measured last, and does the picker lead to the same one?
import {expect, test} from 'vitest';
import {latestPages, measuredBefore} from '../plugins/benchmarks/latest';
import type {LoadedRun, Results} from '../plugins/benchmarks/load';
import {pickerEntries, type PickerEntry, routes} from '../plugins/benchmarks/routes';
import type {Profile} from '../src/generated/records';
import {entryHref, newerThan} from '../src/lib/picker';
import {fixtureRun} from './fixture';

/** `wire-single wire-mixed`: a run of these scenarios. */
function run(id: string, profile: Profile, keys: string, components = false): LoadedRun {
  const loaded = fixtureRun();
  const scenarios = loaded.scenarios
    .filter(({scenario}) => keys.split(' ').includes(scenario.key))
    .map((record) => ({...record, run_id: id, profile, cells: record.cells.map((cell) => ({...cell, run_id: id}))}));
  return {...loaded, scenarios, run: {...loaded.run, id, profile, started_at: `${id}T00:00:00Z`, components: components ? loaded.run.components : []}};
}

const RESULTS: Results = {
  versions: [
    {version: '0.1.0', machines: [{key: 'old-machine', runs: [run('2026-01-01', 'full', 'wire-single wire-mixed startup memory-cap', true)]}]},
    {
      version: '0.2.0',
      machines: [
        {key: 'a', runs: [run('2026-02-03', 'quick', 'wire-single wire-mixed')]},
        {key: 'b', runs: [run('2026-02-01', 'full', 'wire-single'), run('2026-02-02', 'quick', 'wire-mixed')]},
      ],
    },
    {version: '0.3.0', machines: [{key: 'a', runs: [run('2026-03-01', 'smoke', 'startup')]}]},
    {version: 'local', machines: [{key: 'laptop', runs: [run('2026-04-01', 'full', 'startup wire-pipeline')]}]},
  ],
};

test('the latest page of a scenario: newest version, then longest profile, then newest run; local runs only where nothing else is', () => {
  expect(Object.fromEntries(latestPages(RESULTS).map(({key, href, profile}) => [key, `${profile} ${href}`]))).toEqual({
    'wire-single': 'full /benchmarks/0.2.0/b/wire-single/',
    'wire-mixed': 'quick /benchmarks/0.2.0/a/wire-mixed/',
    startup: 'smoke /benchmarks/0.3.0/a/startup/',
    'memory-cap': 'full /benchmarks/0.1.0/old-machine/memory-cap/',
    'wire-pipeline': 'full /benchmarks/local/laptop/wire-pipeline/',
    components: 'full /benchmarks/0.1.0/old-machine/components/',
  });
  const paths = routes(RESULTS).routes.map(({path}) => path);
  for (const {key, href} of latestPages(RESULTS)) {
    expect(paths).toContain(`/benchmarks/latest/${key}/`);
    expect(paths).toContain(href);
  }
});

test('what a version lacks is listed by group with where it was measured before, and never after', () => {
  const before = (version: string, machine?: string) => measuredBefore(RESULTS, version, machine).map(({title, pages}) => `${title}: ${pages.map(({href}) => href).join(' ')}`);
  expect(before('0.1.0')).toEqual([]);
  expect(before('0.2.0')).toEqual([
    'Server: memory and eviction: /benchmarks/0.1.0/old-machine/memory-cap/',
    'Server: containers and start-up: /benchmarks/0.1.0/old-machine/startup/',
    'Other scenarios: /benchmarks/0.1.0/old-machine/components/',
  ]);
  expect(before('0.3.0', 'a')).toEqual([
    'Server: requests over the wire: /benchmarks/0.2.0/b/wire-single/ /benchmarks/0.2.0/a/wire-mixed/',
    'Server: memory and eviction: /benchmarks/0.1.0/old-machine/memory-cap/',
    'Other scenarios: /benchmarks/0.1.0/old-machine/components/',
  ]);
});

const entry = (version: string, machine: string, scenarios: string[]): PickerEntry => ({version, machine, title: machine, href: `/benchmarks/${version}/${machine}/`, scenarios});

test('the list of the picker has the scenarios of each version', () => {
  expect(pickerEntries(RESULTS).map(({version, machine, scenarios}) => [version, machine, [...scenarios].sort().join(' ')])).toEqual([
    ['local', 'laptop', 'startup wire-pipeline'],
    ['0.3.0', 'a', 'startup'],
    ['0.2.0', 'a', 'wire-mixed wire-single'],
    ['0.2.0', 'b', 'wire-mixed wire-single'],
    ['0.1.0', 'old-machine', 'components memory-cap startup wire-mixed wire-single'],
  ]);
});

test('another version leads to the same scenario where it has it, else to its own page', () => {
  expect(entryHref(entry('1', 'm', ['x']), 'x')).toBe('/benchmarks/1/m/x/');
  expect(entryHref(entry('1', 'm', ['x']), 'y')).toBe('/benchmarks/1/m/');
  expect(entryHref(entry('1', 'm', ['x']), undefined)).toBe('/benchmarks/1/m/');
});

test('a newer version is named where it has what the page shows', () => {
  const entries = [entry('local', 'l', ['x']), entry('3', 'm', ['y']), entry('2', 'm', ['x']), entry('2', 'n', ['x', 'y']), entry('1', 'm', ['x'])];
  const newer = (version: string, scenario?: string) => newerThan(entries, version, scenario)?.href;
  expect(newer('1', 'x')).toBe('/benchmarks/2/m/');
  expect(newer('1', 'y')).toBe('/benchmarks/3/m/');
  expect(newer('1', 'z')).toBeUndefined();
  expect(newer('1')).toBe('/benchmarks/3/m/');
  expect(newer('2', 'x')).toBeUndefined();
  expect(newer('3')).toBeUndefined();
  expect(newer('local')).toBeUndefined();
  expect(newer('0.9', 'x')).toBeUndefined();
});
