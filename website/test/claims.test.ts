// Does the page of claims say what was judged: state over versions, group, and figures beside bounds in one readable unit?
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from 'vitest';
import type {Claim, Claims, ClaimOnMachine, Evidence} from '../src/generated/records';
import {boundText, type Bounded, closest, figureText, groupOf, GROUPS, judgedMachines, machineWords, stateOf, stateWords, tally, verdictText} from '../src/lib/claims';

const STORED = (JSON.parse(readFileSync(path.join(__dirname, '..', '..', 'results', 'claims.json'), 'utf8')) as Claims).claims;

const side = {target: 'plumbkv', mode: 'native' as const, axes: {}};
const bounded = (metric: string, bound: number, more: Partial<Bounded> = {}): Bounded => ({metric, bound, comparison: '<=', slack_percent: 5, ...more});
const evidence = (median: number, low: number, high: number, more: Partial<Evidence> = {}): Evidence => ({
  numerator: `cell-${median}`,
  label: 'a cell',
  verdict: 'holds',
  reason: `the median ${median} and its whole interval meet 1`,
  figure: {median, low, high, spread: 'interval', n: 9},
  ...more,
});

test('the state of a claim is that of its newest version, else of the newest earlier one that has a verdict', () => {
  const earlier = (verdict: Claim['verdict']) => ({version: '0.4.0', verdict, reason: '', machines: []});
  const cases: [Parameters<typeof stateWords>[0], string, string][] = [
    [{verdict: 'holds', version: '0.5.0'}, 'holds', 'holds in 0.5.0'],
    [{verdict: 'fails', version: '0.5.0', earlier: earlier('holds')}, 'fails', 'fails in 0.5.0'],
    [{verdict: 'not_measured', earlier: earlier('holds')}, 'held', 'held in 0.4.0, not measured since'],
    [{verdict: 'not_measured', earlier: earlier('fails')}, 'failed', 'failed in 0.4.0, not measured since'],
    [{verdict: 'not_measured'}, 'never', 'no verdict yet'],
  ];
  for (const [claim, state, words] of cases) expect([stateOf(claim), stateWords(claim)]).toEqual([state, words]);
  expect(tally(cases.map(([claim]) => claim))).toBe(
    '5 claims: one holds, one fails; not measured since an earlier version: one that held and one that failed; no verdict yet: one.',
  );
  expect(tally([{verdict: 'holds'}, {verdict: 'holds'}])).toBe('2 claims: two hold, none fails.');
  expect(tally([{verdict: 'not_measured'}])).toBe('1 claim: none holds, none fails; no verdict yet: one.');
});

test('bound and figure share a unit that a person would choose', () => {
  const cases: [Bounded, Evidence, string, string][] = [
    [bounded('rss_bytes_growth', 16777216), evidence(3047424, 3047424, 3047424), 'at most 16 MiB', '2.91 MiB'],
    [bounded('command_ns_max', 2_000_000), evidence(419_000, 207_000, 721_000), 'at most 2 ms', '0.42 ms'],
    [bounded('flush_ms', 18), evidence(12.808, 11.125, 14.098), 'at most 18 ms', '13 ms'],
    [bounded('grown_keys_per_second', 1_000_000, {comparison: '>='}), evidence(1_545_197, 1_500_000, 1_590_000), 'at least 1 M ops/s', '1.55 M ops/s'],
    [bounded('payload_share', 0.9, {comparison: '>='}), evidence(0.9224, 0.9224, 0.9224), 'at least 90 %', '92.2 %'],
    [bounded('ops_per_second', 1.5, {comparison: '>=', denominator: side}), evidence(1.98, 1.87, 2.3), 'at least 1.5×', '2.0×'],
    [bounded('hit_ratio', -0.02, {comparison: '>=', minus: {numerator: side}}), evidence(-0.01138, -0.01146, -0.01124), 'at least −2 points', '−1.1 points'],
  ];
  for (const [claim, one, bound, value] of cases) {
    if (!one.figure) throw new Error('no figure');
    expect([boundText(claim), figureText(claim, one.figure).value].map((text) => text.replaceAll('\u00a0', ' '))).toEqual([bound, value]);
  }
});

test('a verdict says what beside the median was looked at', () => {
  const ratio = bounded('latency_ns_p99', 1.05, {denominator: side});
  expect(verdictText(ratio, evidence(0.54, 0.46, 0.99))).toBe('holds');
  expect(verdictText(ratio, evidence(1.02, 1, 1.08))).toBe('holds: the interval reaches 1.08×, 2.9 % beyond the bound; 5 % are allowed');
  expect(verdictText(ratio, evidence(0.83, 0.7, 1.406, {verdict: 'fails'}))).toBe('fails: the interval reaches 1.41×, 33.9 % beyond the bound; 5 % are allowed');
  expect(verdictText(ratio, evidence(1.2, 1.1, 1.3, {verdict: 'fails'}))).toBe('fails: the median is beyond the bound');
  const worst = evidence(419_000, 207_000, 721_000, {reason: 'the worst of 9 trials, 1180000, meets 2000000'});
  expect(verdictText(bounded('command_ns_max', 2_000_000, {every_trial: true}), worst).replaceAll('\u00a0', ' ')).toBe('holds: worst trial 1.18 ms');
  expect(verdictText(ratio, {...evidence(1, 1, 1), verdict: 'not_measured', reason: 'a cell is missing', figure: undefined})).toBe('not measured: a cell is missing');
});

test('the closest figure is the one that is nearest to its bound, from either side', () => {
  const all = [evidence(0.5, 0.4, 0.6), evidence(0.9, 0.8, 1), evidence(0.7, 0.6, 0.8)];
  expect(closest(bounded('latency_ns_p99', 1, {denominator: side}), all)?.figure?.median).toBe(0.9);
  expect(closest(bounded('ops_per_second', 0.4, {comparison: '>=', denominator: side}), all)?.figure?.median).toBe(0.5);
  expect(closest(bounded('ops_per_second', 0.4), [])).toBeUndefined();
});

test('the cells of a machine are counted', () => {
  const machine = (...verdicts: Evidence['verdict'][]): ClaimOnMachine => ({
    machine_key: 'm',
    machine_title: 'M',
    verdict: verdicts.includes('fails') ? 'fails' : 'holds',
    reason: 'said by the runner',
    evidence: verdicts.map((verdict) => evidence(1, 1, 1, {verdict})),
  });
  expect(machineWords(machine('holds'))).toBe('holds');
  expect(machineWords(machine('holds', 'holds'))).toBe('all two cells hold');
  expect(machineWords(machine('holds', 'fails'))).toBe('one of two cells fails');
  expect(machineWords({...machine(), verdict: 'not_measured'})).toBe('said by the runner');
});

test('every stored claim is in a group, and no text of it has a number that nobody can read', () => {
  expect(STORED.length).toBeGreaterThan(0);
  expect(new Set(STORED.map(groupOf))).toEqual(new Set(GROUPS.map(({key}) => key)));
  for (const claim of STORED) {
    const texts = [
      stateWords(claim),
      boundText(claim),
      ...judgedMachines(claim).flatMap((machine) => [machineWords(machine), ...machine.evidence.flatMap((one) => [verdictText(claim, one), ...(one.figure ? Object.values(figureText(claim, one.figure)) : [])])]),
    ];
    for (const text of texts) {
      expect(text, claim.key).not.toMatch(/\d{5}|0\.000\d|NaN|undefined/);
    }
    // A claim that any version has judged is never told as one that none has.
    if (claim.earlier) expect(stateWords(claim), claim.key).toMatch(/^(holds|fails|held|failed) in \d/);
  }
});
