// Components: parts in words, above the like parts of others, with the ratio that a reader expects.
import {expect, test} from 'vitest';
import type {Component} from '../src/generated/records';
import {groupTitle, overviewRows, partFigures, partRows} from '../src/lib/components';

function part(name: string, ns: number, more: Partial<Component> = {}): Component {
  return {key: `skip/${name}`, group: 'skip', name, ns_per_op: ns, ns_per_op_low: ns * 0.9, ns_per_op_high: ns * 1.1, estimate: 'slope', ...more};
}

test('each part of ours stands above those of others, in order of its size', () => {
  const components = [
    part('get/1000000', 300, {allocations_per_op: 0}),
    part('get/4096', 50, {allocations_per_op: 0}),
    part('get-zebra/4096', 40, {library: 'zebra 2.0', counterpart: 'skip/get/4096', allocations_per_op: 1.25}),
    part('get-adder/4096', 100, {library: 'adder 1.0', counterpart: 'skip/get/4096', allocations_per_op: 2}),
  ];
  const rows = partRows(components);
  expect(rows.map(({label}) => label)).toEqual(['get/4096', 'adder 1.0', 'zebra 2.0', 'get/1000000']);
  expect(rows.map(({allocations}) => allocations)).toEqual(['0', '2', '1.25', '0']);
  expect(rows.map(({ratio}) => ratio?.value)).toEqual([undefined, '0.50×', '1.25×', undefined]);
  // 45/110 and 55/90.
  expect([rows[1]?.ratio?.low, rows[1]?.ratio?.high]).toEqual(['0.41×', '0.61×']);
});

test('the overview has a row per operation, with fewest and most entries', () => {
  const components = [part('get-cached/4096', 50, {allocations_per_op: 0}), part('get-cached/1000000', 300, {allocations_per_op: 0}), part('ok-x16', 90, {bytes_per_op: 80})];
  expect(overviewRows(components).map(({operation, entries, small, large, allocations}) => [operation, entries, small.value, large?.value, allocations])).toEqual([
    ['get cached', '4,096 and 1,000,000', '50', '300', '0'],
    ['ok x16', '', '90', undefined, undefined],
  ]);
  expect(groupTitle('lsm-memtable')).toBe('Memtable');
  expect(groupTitle('a-new/group')).toBe('a new group');
});

test('a chart needs a counterpart, and is of the part with most entries', () => {
  const components = [
    part('get/4096', 50),
    part('get/1000000', 300),
    part('set/4096', 70),
    part('get-zebra/4096', 40, {library: 'zebra 2.0', counterpart: 'skip/get/4096'}),
    part('get-zebra/1000000', 900, {library: 'zebra 2.0', counterpart: 'skip/get/1000000'}),
  ];
  expect(partFigures(components).map(({label, bars}) => [label, ...bars.map((bar) => `${bar.label} ${bar.text}`)])).toEqual([['get, 1,000,000 entries', 'PlumbKV 300', 'zebra 2.0 900']]);
});
