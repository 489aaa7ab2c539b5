// Tables of open loops: a grid per question where every server has one rate, else a row per rate and the knee.
import {expect, test} from 'vitest';
import {rateGroups} from '../src/lib/openloop';
import {grids, isAtOneRate, rateTable} from '../src/lib/ratetable';
import {pageScenario} from '../src/lib/record';
import {fixtureRun} from './fixture';
import {cell, moreServers, scenario, wireRate} from './records';

const run = structuredClone(fixtureRun().run);
moreServers(run);

/** Two loads of two servers, in a closed loop and at one rate; ours with a switch as well. */
function sameRate() {
  const cells = [50, 1000].flatMap((clients) =>
    [
      {target: 'plumbkv', variant: undefined, factor: 1},
      {target: 'plumbkv', variant: 'io=epoll', factor: 1.1},
      {target: 'redis-server', variant: undefined, factor: 1.4},
    ].flatMap(({target, variant, factor}) => {
      const load = {clients, pipeline: 1, value_bytes: 64, ...(variant === undefined ? {} : {variant})};
      const label = (more: string) => `GET 64 B, ${clients} clients${more}${variant === undefined ? '' : `, ${variant}`}`;
      return [
        cell({target, label: label(''), axes: {operation: 'get', ...load}, values: {ops_per_second: 250_000 / factor}}),
        cell({
          target,
          label: label(', Poisson at 70 % of the slowest’s peak'),
          axes: {operation: 'get', ...load, arrival: 'poisson', rate_percent_of_slowest: 70},
          values: {server_cpu_ns_per_op: 5200 * factor, latency_ns_p50: 30_000, latency_ns_p99: 400_000, offered_per_second: 120_000},
        }),
      ];
    }),
  );
  return pageScenario(scenario('wire-same-rate', 'The same rate', cells));
}

test('one rate for all servers gives a grid per question: a row per load, a column per server and switch', () => {
  const record = sameRate();
  expect(isAtOneRate(rateGroups(record, run))).toBe(true);
  const found = grids(record, run);
  expect(found.map(({metric}) => metric)).toEqual(['server_cpu_ns_per_op', 'latency_ns_p50', 'latency_ns_p99', 'ops_per_second']);
  const [cpu] = found;
  expect(cpu?.table.columns.map(({head, unit}) => `${head} ${unit}`)).toEqual(['PlumbKV 0.0.1 µs', 'PlumbKV 0.0.1, io=epoll µs', 'Redis 0.0.0 µs']);
  expect(cpu?.table.groups[0]?.rows.map(({label, figures}) => [label, ...figures.map((one) => one?.value)])).toEqual([
    ['GET 64 B, 50 clients', '5.2', '5.7', '7.3'],
    ['GET 64 B, 1000 clients', '5.2', '5.7', '7.3'],
  ]);
});

test('a switch is a line of its load, not a load of its own', () => {
  const groups = rateGroups(sameRate(), run);
  expect(groups.map(({label, lines}) => [label, lines.map(({id}) => id)])).toEqual([
    ['GET 64 B, 50 clients', ['plumbkv/native/', 'plumbkv/native/io=epoll', 'redis-server/native/']],
    ['GET 64 B, 1000 clients', ['plumbkv/native/', 'plumbkv/native/io=epoll', 'redis-server/native/']],
  ]);
});

test('rising rates are rows with what was skipped, and the knee is the last', () => {
  const groups = rateGroups(pageScenario(wireRate()), run);
  expect(isAtOneRate(groups)).toBe(false);
  const {groups: shown, columns} = rateTable(groups, run);
  expect(columns.slice(0, 3).map(({head, unit}) => `${head} ${unit}`)).toEqual(['Offered k\u00a0ops/s', 'Achieved k\u00a0ops/s', 'Skipped ']);
  expect(shown.map(({label}) => label)).toEqual(['GET 64 B, 50 clients: PlumbKV 0.0.1', 'GET 64 B, 50 clients: Redis 0.0.0']);
  const rows = shown[0]?.rows ?? [];
  expect(rows.at(-1)).toMatchObject({label: 'Knee', figures: [{value: '76'}, undefined, undefined, undefined, undefined, {}, {}, {}, undefined]});
  expect(rows.at(-2)?.figures[2]?.value).toBe('0.01\u00a0%');
});
