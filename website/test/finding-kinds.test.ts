// Do scenarios that are not about throughput say what they are about: bytes per key, what is still held, hits?
import {expect, test} from 'vitest';
import {findings} from '../src/lib/finding';
import {absentTitle, pageScenario} from '../src/lib/record';
import {headlineMetrics, slimMetrics} from '../src/lib/metrics';
import {fixtureRun} from './fixture';
import {cell, moreServers, scenario} from './records';

const run = structuredClone(fixtureRun().run);
moreServers(run);

function found(kind: string, values: Record<string, number>): {said: string; heads: string[]; slim: string[]} {
  const cells = ['plumbkv', 'redis-server'].map((target) => cell({target, label: 'one load', axes: {operation: 'get'}, values}));
  const record = pageScenario(scenario(kind, kind, cells, [], kind));
  return {said: findings(record, run).join(' '), heads: headlineMetrics(record).map(({key}) => key), slim: slimMetrics(record).map(({key}) => key)};
}

test('memory per key is told in bytes, not in operations per second', () => {
  const {said, heads, slim} = found('memory_per_key', {ops_per_second: 900_000, rss_bytes_per_key: 140, accounted_bytes_per_key: 130, generator_busy: 0.99});
  expect(said).toMatch(/^one load: PlumbKV 0\.0\.1 140\u00a0bytes \(137–143\) of RSS per key, 130\u00a0bytes \(127–133\) by its own account; Redis/);
  expect(said).not.toMatch(/ops\/s|ceiling/);
  expect(heads[0]).toBe('rss_bytes_per_key');
  expect(slim).toContain('accounted_bytes_per_key');
});

test('expiry is told by its tail and by what is still held', () => {
  const {said, heads} = found('expiry', {ops_per_second: 90_000, latency_ns_p999: 1_500_000, keys_held: 0, rss_bytes_held: 800 * 1024});
  expect(said).toContain('answers 999 of 1,000 reads within 1,500\u00a0µs');
  expect(said).toContain('still holds 0 keys and 800\u00a0KiB');
  expect(heads.slice(-2)).toEqual(['keys_held', 'rss_bytes_held']);
});

test('a trace under a cap is told by its hits beside those of an exact LRU', () => {
  const {said} = found('memory_cap', {accounted_bytes: 16e6, hit_ratio: 0.62, hit_ratio_exact_lru: 0.64});
  expect(said).toMatch(/accounts for 15\.\d+\u00a0MiB \([\d.–]+\), 62\.?\d*\u00a0% of the reads hit \(in an exact LRU of as many bytes 64\.?\d*\u00a0%\)/);
});

test('a server that was not found goes by its name', () => {
  const target = run.targets.find(({key}) => key === 'valkey');
  if (!target) throw new Error('no valkey in the fixture');
  expect(absentTitle({...target, title: 'axum not found, constant answer'})).toBe('axum, constant answer');
  expect(absentTitle({...target, title: 'redb not found'})).toBe('redb');
  expect(absentTitle(target)).toBe('Valkey');
});

test('an open loop without a knee is told by its tail at the rates that are the same for all', () => {
  const axes = {operation: 'get', clients: 20, arrival: 'poisson'};
  const cells = [
    cell({target: 'redis-server', label: 'GET 240 B, Poisson at 2k/s', axes: {...axes, rate_per_second: 2000}, values: {latency_ns_p99: 300_000, server_cpu_ns_per_op: 9000}}),
    cell({target: 'redis-server', label: 'GET 240 B, Poisson at 50 % of its peak', axes: {...axes, rate_percent: 50}, values: {latency_ns_p99: 400_000}}),
  ];
  expect(findings(pageScenario(scenario('http-rate', 'rate', cells)), run)).toEqual([
    'GET 240 B, Poisson at 2k/s: Redis 0.0.0 answers 99 of 100 requests within 300\u00a0µs (294–306) of their intended start.',
  ]);
});
