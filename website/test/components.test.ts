// Do parts stand above the like parts of others, with the ratio that a reader expects?
import {expect, test} from 'vitest';
import type {Component} from '../src/generated/records';
import {isCompared, partRows} from '../src/lib/components';

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
  expect(isCompared(components)).toBe(true);
  const rows = partRows(components);
  expect(rows.map(({label}) => label)).toEqual(['get/4096', 'adder 1.0', 'zebra 2.0', 'get/1000000']);
  expect(rows.map(({allocations}) => allocations)).toEqual(['0', '2', '1.25', '0']);
  expect(rows.map(({ratio}) => ratio?.value)).toEqual([undefined, '0.50×', '1.25×', undefined]);
  // 45/110 and 55/90.
  expect([rows[1]?.ratio?.low, rows[1]?.ratio?.high]).toEqual(['0.41×', '0.61×']);
});

test('a group of an earlier version has neither rivals nor allocations', () => {
  expect(isCompared([part('get', 5, {bytes_per_op: 64})])).toBe(false);
});
