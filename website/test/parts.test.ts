// Do open loops, long loads, ladders, classes and other people's load generators reach the page as they are stored?
import {expect, test} from 'vitest';
import {cut, users} from '../src/components/Capacity/users';
import {checkedPairs, knees, ladder, plateaus, repeatedRatios} from '../src/lib/derived';
import {findings} from '../src/lib/finding';
import {regime} from '../src/lib/regime';
import {achieved, offered, rateGroups, rateSeries, undone} from '../src/lib/openloop';
import {barPanels} from '../src/lib/figures';
import {classesOf, partsOf} from '../src/lib/parts';
import {measurement, type PageScenario, pageScenario} from '../src/lib/record';
import {windowFigures} from '../src/lib/windows';
import {fixtureRun, fixtureScenario, validator} from './fixture';
import {containerLadder, derivedTables, lookup, moreScenarios, moreServers, wireRate, wireSustained} from './records';

const run = structuredClone(fixtureRun().run);
moreServers(run);

test('the made-up records are of the shape that the runner writes', () => {
  for (const record of moreScenarios()) validator.check('scenario', record.scenario.key, JSON.stringify(record));
  validator.check('run', 'run.json', JSON.stringify(run));
});

test('closed loops, open loops, foreign generators and absent servers are told apart, and no cell is lost', () => {
  const rate = pageScenario(wireRate());
  const derived = pageScenario(derivedTables());
  const {closed, open} = partsOf(rate, run);
  expect(closed.map(({axes}) => axes.operation)).toEqual(['peak', 'peak']);
  expect(open).toHaveLength(rate.cells.length - closed.length);
  const parts = partsOf(derived, run);
  expect(parts.foreign.map(({axes}) => axes.client_program)).toEqual(['redis-benchmark', 'redis-benchmark', 'redis-benchmark']);
  expect(parts.absent.map(({target, reason}) => [target.key, reason.includes('--bin')])).toEqual([['valkey', true]]);
  expect(parts.closed.length + parts.foreign.length + parts.absent.length).toBe(derived.cells.length);
});

test('classes of servers never share a table; the floor stands beside what goes over a socket', () => {
  const record = pageScenario(lookup());
  const classes = classesOf([...record.cells, ...pageScenario(derivedTables()).cells.filter(({target}) => target === 'floor-io-uring')], run);
  expect(classes.map(({name, cells}) => [name, cells.map(({target}) => target)])).toEqual([
    ['Over a socket, volatile', ['plumbkv', 'redis-server', 'floor-io-uring']],
    ['Over a socket, durable', ['postgres']],
    ['In process, durable', ['sqlite']],
  ]);
});

test('an open loop is a line per server along the offered rate, with its knee and what was skipped', () => {
  const [group, ...others] = rateGroups(pageScenario(wireRate()), run);
  expect(others).toEqual([]);
  expect(group?.label).toBe('GET 64 B, 50 clients');
  expect(group?.lines.map(({id, cells, knee, peak}) => [id, cells.length, knee?.axes.operation, peak?.axes.operation])).toEqual([
    ['plumbkv/native/', 6, 'knee', 'peak'],
    ['redis-server/native/', 6, 'knee', 'peak'],
  ]);
  const cells = group?.lines[0]?.cells ?? [];
  expect(cells.map(offered)).toEqual([...cells.map(offered)].sort((a, b) => a - b));
  const last = cells.at(-1);
  if (!group || !last) throw new Error('no cell');
  expect(undone(last)).toMatchObject({due: 3 * 85_500, skipped: 36, inFlightBound: 4096});
  expect(achieved(last)?.median).toBeCloseTo(85_500 * 0.999);
  const [ours] = rateSeries(group, run, 'latency_ns_p99');
  expect(ours).toMatchObject({look: 'ours', knee: 90_000 * 0.84});
  expect(ours?.points.at(-1)?.median).toBeCloseTo((measurement(last, 'latency_ns_p99')?.median ?? 0) / 1000);
});

test('the finding of an open loop is its knee, and the regime names both loops', () => {
  const record = pageScenario(wireRate());
  expect(findings(record, run)[0]?.text).toMatch(/^GET 64 B, 50 clients, knee: PlumbKV .*76.*Redis .*68/);
  expect(regime(run, record)).toContain('closed and open loop over loopback');
  expect(knees(record)).toHaveLength(2);
});

test('users are counted from the knee and never beyond it', () => {
  expect(users(10_000, 70, 10)).toBe(700);
  expect(users(10_000, 250, 1)).toBe(10_000);
  expect(users(10_000, 70, 0)).toBe(0);
});

test('a long load keeps its windows on the page, a short one does not', () => {
  const figures = windowFigures(pageScenario(wireSustained()), run);
  expect(figures.map(({key, scale}) => [key, scale.unit])).toEqual([['throughput', 'k\u00a0ops/s'], ['p99', 'ms'], ['rss', 'MiB'], ['cpu', 'cores']]);
  // The last window lasted a tenth of a second and is left out.
  expect(figures[0]?.series[0]?.points.map(({x}) => x)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(figures[0]?.series[0]?.traces).toHaveLength(3);
  expect(fixtureScenario('wire-single').record.cells.some((cell) => cell.trials.some((trial) => trial.windows))).toBe(false);
});

test('the ladder climbs in the order of its steps', () => {
  const {groups, metrics} = ladder(pageScenario(containerLadder()), run);
  expect(metrics).toEqual(['ops_per_second', 'server_cpu_ns_per_op']);
  expect(groups[0]?.rows.map(({label, ratios}) => [label.replace(/^.*?, /, ''), ratios[0]?.median.toFixed(2)])).toEqual([
    ['native, same limits', '0.90'],
    ['container, host network', '0.81'],
    ['container, published port', '0.73'],
    ['container, io_uring forbidden', '0.66'],
  ]);
});

test('a plateau begins where no further step gains', () => {
  const record: PageScenario = pageScenario(derivedTables());
  expect(plateaus(record, run)).toEqual([{server: 'PlumbKV 0.0.1', load: 'GET 64 B', from: 50, upTo: 1000}]);
  const growing = {...record, ratios: record.ratios.map((ratio) => (ratio.kind === 'adjacent' ? {...ratio, median: 1.5} : ratio))};
  expect(plateaus(growing, run)).toEqual([]);
});

test('each cell of another load generator stands beside the cell of ours that differs in nothing else', () => {
  const pairs = checkedPairs(pageScenario(derivedTables()));
  expect(pairs.map(({program, ours, theirs}) => [program, ours?.label, theirs.status])).toEqual([
    ['redis-benchmark', 'GET 64 B, 50 clients', 'ok'],
    ['redis-benchmark', 'GET 64 B, 50 clients', 'ok'],
    ['redis-benchmark', undefined, 'skipped'],
  ]);
});

test('a ratio between servers stands above the same ratio by the other load generator', () => {
  const record = pageScenario(derivedTables());
  const {metrics, groups} = repeatedRatios(record, run);
  expect(metrics).toEqual(['ops_per_second']);
  expect(groups.map(({label, rows}) => [label, rows.map((row) => [row.label, row.ratios[0]?.median])])).toEqual([
    ['GET 64 B, 50 clients: PlumbKV 0.0.1 to Redis 0.0.0', [['by our load generator', 1.051], ['by redis-benchmark', 1.059]]],
  ]);
  // Without one of the two there is nothing to repeat.
  const once = {...record, ratios: record.ratios.filter(({median}) => median !== 1.059)};
  expect(repeatedRatios(once, run).groups).toEqual([]);
});

test('a capacity is cut to three digits and never rounded up', () => {
  expect([158_653, 83_199, 999, 7.9, 0].map(cut)).toEqual([158_000, 83_100, 999, 7, 0]);
});

test('servers of different classes share no sentence and no chart', () => {
  const record = pageScenario(lookup());
  expect(findings(record, run).map(({text}) => text)).toEqual([
    expect.stringMatching(/^GET by key, 100k rows, over a socket, volatile: PlumbKV [^;]*; Redis [^;]*\.$/),
    expect.stringMatching(/^GET by key, 100k rows, over a socket, durable: PostgreSQL [^;]*\.$/),
    expect.stringMatching(/^GET by key, 100k rows, in process, durable: SQLite [^;]*\.$/),
  ]);
  // A single bar compares nothing: of the durable ones there is one each.
  const drawn = barPanels(record, run, 'ops_per_second', '1/s', {shared: '', short: (label) => label});
  expect(drawn.flatMap(({figures}) => figures.map(({label, bars}) => [label, bars.length]))).toEqual([['GET by key, 100k rows, over a socket, volatile', 2]]);
});
