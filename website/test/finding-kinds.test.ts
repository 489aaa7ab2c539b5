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
  return {said: findings(record, run).map(({text}) => text).join(' '), heads: headlineMetrics(record).map(({key}) => key), slim: slimMetrics(record).map(({key}) => key)};
}

test('memory per key is told in bytes, not in operations per second', () => {
  const {said, heads, slim} = found('memory_per_key', {ops_per_second: 900_000, rss_bytes_per_key: 140, accounted_bytes_per_key: 130, generator_busy: 0.99});
  expect(said).toMatch(/^one load, RSS per key: PlumbKV 0\.0\.1 140\u00a0bytes \(137–143\); Redis/);
  expect(said).not.toMatch(/ops\/s|ceiling/);
  expect(heads[0]).toBe('rss_bytes_per_key');
  expect(slim).toContain('accounted_bytes_per_key');
});

test('expiry is told by its tail and by what is still held', () => {
  const {said, heads} = found('expiry', {ops_per_second: 90_000, latency_ns_p99: 900_000, keys_held: 0, rss_bytes_held: 800 * 1024});
  expect(said).toMatch(/one load, p99: PlumbKV 0\.0\.1 900\u00a0µs/);
  expect(said).toContain('still holds 0 keys and 800\u00a0KiB');
  expect(heads.slice(-2)).toEqual(['keys_held', 'rss_bytes_held']);
});

test('a trace under a cap is told by its hits beside those of an exact LRU', () => {
  const {said} = found('memory_cap', {accounted_bytes: 16e6, hit_ratio: 0.62, hit_ratio_exact_lru: 0.64});
  expect(said).toMatch(/one load, reads that hit: PlumbKV 0\.0\.1 62\.0\u00a0%; Redis 0\.0\.0 62\.0\u00a0%; an exact LRU of as many bytes 64\.0\u00a0%/);
});

/** A load under a cap with nine trials of the given growth. */
function capped(shares: number[]): string {
  const cap = 64 * 2 ** 20;
  const cells = shares.map((share, index) => cell({target: 'plumbkv', label: `load ${index}`, axes: {operation: 'overwrite', cap_bytes: cap + index}, values: {rss_bytes_growth: share * cap}}));
  const record = pageScenario(scenario('memory-cap', 'cap', cells, [], 'memory_cap'));
  const certain = record.cells.map((one) => ({...one, measurements: one.measurements.map((m) => ({...m, spread: 'interval' as const, n: 9}))}));
  return findings({...record, cells: certain}, run)[0]?.text ?? '';
}

test('a cap is judged by the growth of resident memory against it', () => {
  expect(capped([0.9, 0.5])).toBe('PlumbKV 0.0.1 stays within its cap at both points: at most RSS grows to 0.90× (0.88–0.92) its size.');
  expect(capped([0.9, 1.5])).toBe(
    'PlumbKV 0.0.1 grows beyond its cap at 1 of 2 points: 1.50× (1.47–1.53) its size at load 1. PlumbKV 0.0.1 stays within its cap at 1 of 2 points: at most RSS grows to 0.90× (0.88–0.92) its size.',
  );
  expect(capped([1])).toBe('PlumbKV 0.0.1 is undecided at one point: the interval includes the cap.');
});

test('a server that was not found goes by its name', () => {
  const target = run.targets.find(({key}) => key === 'valkey');
  if (!target) throw new Error('no valkey in the fixture');
  expect(absentTitle({...target, title: 'axum not found, constant answer'})).toBe('axum, constant answer');
  expect(absentTitle({...target, title: 'redb not found'})).toBe('redb');
  expect(absentTitle(target)).toBe('Valkey');
});

test('an open loop without a knee is told at the rates that are the same for all', () => {
  const axes = {operation: 'get', clients: 20, arrival: 'poisson'};
  const cells = [
    cell({target: 'redis-server', label: 'GET 240 B, Poisson at 2k/s', axes: {...axes, rate_per_second: 2000}, values: {latency_ns_p99: 300_000, server_cpu_ns_per_op: 9000}}),
    cell({target: 'redis-server', label: 'GET 240 B, Poisson at 50 % of its peak', axes: {...axes, rate_percent: 50}, values: {latency_ns_p99: 400_000}}),
  ];
  expect(findings(pageScenario(scenario('http-rate', 'rate', cells)), run).map(({text}) => text)).toEqual([
    'GET 240 B, Poisson at 2k/s, server CPU per operation: Redis 0.0.0 9.0\u00a0µs (8.8–9.2).',
  ]);
  expect(findings(pageScenario(scenario('wire-same-rate-tail', 'tail', cells)), run).map(({text}) => text)).toEqual(['GET 240 B, Poisson at 2k/s, p99: Redis 0.0.0 300\u00a0µs (294–306).']);
});
