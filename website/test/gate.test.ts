// Does the page of the gate's errors say what its calibration holds, and never more than the interval?
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {createElement} from 'react';
import {renderToStaticMarkup} from 'react-dom/server';
import {expect, test} from 'vitest';
import {gateData, type ShownGate} from '../plugins/benchmarks/gate';
import {loadResults, type Results} from '../plugins/benchmarks/load';
import {ResultsProblem} from '../plugins/benchmarks/problem';
import {type Calibration, type CalibrationRate, type Gate, GATE_RULE} from '../src/generated/records';
import {detectableWords, detections, falseAlarms, injectedWords, interval, newestFirst, points, small, sortedRates, unknowns, verdictWords} from '../src/lib/gate';
import {amount, byDifference, difference, signed} from '../src/lib/gateverdict';
import {simulatedRows, simulatedSentences} from '../src/lib/simulated';
import VerdictTables from '../src/routes/gate/VerdictTables';
import {calibration, calibrations, earlierCalibration, hostileCalibration, loadedCalibration, NOISE, rate, writeCalibrations} from './calibrations';
import {validator, withCopy} from './fixture';
import {HOSTILE, MARKUP} from './records';

/** With every blank as a plain one, as a reader sees it. */
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

test.each([
  [0, '0'],
  [1, '100'],
  [0.0880973, '8.8'],
  [0.0122615, '1.2'],
  [0.000632735, '0.06'],
  [0.3789268, '38'],
  [0.9566876, '95.7'],
  [0.9983133, '99.8'],
  [0.9996, '99.96'],
  [0.15, '15'],
])('a share of %d is %s %%', (share, expected) => {
  expect(points(share)).toBe(expected);
});

test('no share but none and all is rounded to 0 or 100', () => {
  for (const share of [0.0002, 0.004, 0.0951, 0.5, 0.9049, 0.996, 0.9998]) expect(['0', '100', '0.0', '100.0']).not.toContain(points(share));
});

test.each<[CalibrationRate, string[]]>([
  [
    rate(0, undefined, 0, 40),
    [
      'With nothing injected, none of 40 gates said regression: the false-alarm rate lies in an exact 95 % interval of 0–8.8 %.',
      'Whether it is below 1 % is not known: that takes 299 gates without a false alarm.',
    ],
  ],
  [
    rate(0, undefined, 0, 298),
    [
      'With nothing injected, none of 298 gates said regression: the false-alarm rate lies in an exact 95 % interval of 0–1.2 %.',
      'Whether it is below 1 % is not known: that takes 299 gates without a false alarm.',
    ],
  ],
  [
    rate(0, undefined, 0, 299),
    [
      'With nothing injected, none of 299 gates said regression: the false-alarm rate lies in an exact 95 % interval of 0–1.2 %.',
      'None in at least 299: the rate is below 1 %, by the one-sided bound at 95 %; the two-sided interval still reaches to 1.2 %.',
    ],
  ],
  [
    rate(0, undefined, 0, 368),
    [
      'With nothing injected, none of 368 gates said regression: the false-alarm rate lies in an exact 95 % interval of 0–1.0 %.',
      'None in at least 299: the rate is below 1 %, by the one-sided bound at 95 %.',
    ],
  ],
  [
    rate(0, undefined, 3, 20),
    ['With nothing injected, three of 20 gates said regression: a false-alarm rate of 15 %, with an exact 95 % interval of 3.2–38 %.'],
  ],
  [
    rate(0, undefined, 0, 1),
    [
      'With nothing injected, none of 1 gate said regression: the false-alarm rate lies in an exact 95 % interval of 0–97.5 %.',
      'Whether it is below 1 % is not known: that takes 299 gates without a false alarm.',
    ],
  ],
])('false alarms are told with their interval, %#', (one, expected) => {
  expect(falseAlarms([one]).map(plain)).toEqual(expected);
});

test('where nothing was tried, nothing is known', () => {
  expect(falseAlarms([])).toEqual(['No gate was carried out with nothing injected: how often the gate raises a false alarm is not known.']);
  expect(falseAlarms([rate(5, 'spin', 12, 15)])).toEqual(falseAlarms([]));
  expect(detections([rate(0, undefined, 0, 40)])).toEqual(['No gate was carried out with a slowdown injected: how often the gate finds one is not known.']);
});

test('detections are told per kind, by size, with work before sleep', () => {
  const rates = [rate(10, 'sleep', 14, 15), rate(10, 'spin', 15, 15), rate(0, undefined, 0, 40), rate(5, 'spin', 12, 15)];
  expect(sortedRates(rates).map(injectedWords).map(plain)).toEqual(['nothing', '5 % as work', '10 % as work', '10 % as sleep']);
  expect(detections(rates).map(plain)).toEqual([
    'A slowdown by work was called a regression: 5 % in 12 of 15 gates (52–95.7 %), 10 % in 15 of 15 gates (78–100 %).',
    'A slowdown by sleep was called a regression: 10 % in 14 of 15 gates (68–99.8 %).',
  ]);
});

test('the share of gates with an error of one in forty keeps its digits', () => {
  expect(plain(interval(rate(0, undefined, 1, 40)))).toBe('0.06–13 %');
});

test('gates stand newest first, and the same second does not shuffle them', () => {
  const gates = [
    {id: 'b', started_at: '2026-01-02T00:00:00Z'},
    {id: 'a', started_at: '2026-01-02T00:00:00Z'},
    {id: 'c', started_at: '2026-01-02T01:30:00+02:00'},
    {id: 'd', started_at: '2026-01-03T00:00:00Z'},
  ];
  expect(newestFirst(gates).map(({id}) => id)).toEqual(['d', 'b', 'a', 'c']);
});

test('an outcome says whether it was an error', () => {
  expect(verdictWords({injected_percent: 0, outcome: 'pass'})).toBe('pass');
  expect(verdictWords({injected_percent: 0, outcome: 'regression'})).toBe('regression (false alarm)');
  expect(verdictWords({injected_percent: 5, injected_as: 'spin', outcome: 'pass'})).toBe('pass (missed)');
  expect(verdictWords({injected_percent: 5, injected_as: 'sleep', outcome: 'regression'})).toBe('regression');
  expect(verdictWords({injected_percent: 5, injected_as: 'sleep', outcome: 'not_measured'})).toBe('not measured');
});

test('deviations and changes are percent, and what is never found is said so', () => {
  expect([0, 0.0004, 0.0124, 0.44, 2.5].map(small).map(plain)).toEqual(['0 %', '0.04 %', '1.2 %', '44.0 %', '250 %']);
  expect(NOISE.map(detectableWords).map(plain)).toEqual(['3.4 %', '4.9 %', '6.5 %', '31.0 %', 'none']);
});

test('what is not known is named: sizes, kinds and series', () => {
  const [whole, other, begun] = calibrations().map(unknowns).map((told) => plain(told.join('\n')));
  expect(whole).toContain('Sizes other than 5 % as work, 10 % as work, 5 % as sleep and 10 % as sleep');
  expect(whole).toContain('two of five series are too noisy');
  expect(whole?.match(/Slowdowns by \w+/g)).toEqual(['Slowdowns by late']);
  expect(other).toContain('Sizes other than 5 % as work: between');
  expect(other).toContain('Slowdowns by sleep (waiting, which CPU time does not show): no gate');
  expect(other).not.toContain('too noisy');
  expect(begun).toContain('Slowdowns by work (CPU time)');
  expect(begun).not.toContain('Sizes other than');
});

test('the page has machines by name, its gates without their series, and offers the file', () => {
  const {machines} = gateData({versions: [], calibrations: calibrations().reverse().map(loadedCalibration)});
  expect(machines.map(({key}) => key)).toEqual(['fixture-machine', 'other-machine', 'third-machine']);
  expect(machines[0]?.raw.sitePath).toBe('results/calibration/fixture-machine.json');
  expect(machines[0]?.gates).toHaveLength(105);
  expect(JSON.stringify(machines)).not.toContain('"series"');
  expect(gateData({versions: []})).toEqual({machines: [], earlier: [], examples: []});
});

/** The message that a results folder with such a calibration gives. */
function problem(text: string, name = 'fixture-machine.json'): string {
  return withCopy((root) => {
    mkdirSync(path.join(root, 'calibration'));
    writeFileSync(path.join(root, 'calibration', name), text);
    try {
      loadResults(root, validator);
    } catch (error) {
      expect(error).toBeInstanceOf(ResultsProblem);
      expect((error as Error).message).not.toContain('\n');
      return (error as Error).message;
    }
    throw new Error('the fault was not seen');
  });
}

const changed = (change: (made: Calibration) => void) => {
  const made = calibration('fixture-machine', [rate(0, undefined, 0, 40), rate(5, 'spin', 12, 15)]);
  change(made);
  return JSON.stringify(made);
};

test('stored calibrations are read by name, unfinished ones are not', () => {
  withCopy((root) => {
    writeCalibrations(root, [...calibrations().reverse()]);
    writeFileSync(path.join(root, 'calibration', 'fixture-machine.part'), '{');
    const found = loadResults(root, validator).calibrations;
    expect(found?.map((one) => one.calibration.machine_key)).toEqual(['fixture-machine', 'other-machine', 'third-machine']);
  });
  withCopy((root) => {
    writeCalibrations(root, [hostileCalibration()]);
    expect(loadResults(root, validator).calibrations).toHaveLength(1);
  });
});

test('a broken calibration stops the build with one line', () => {
  const whole = changed(() => undefined);
  expect(problem(whole.slice(0, 90))).toMatch(/^results\/calibration\/fixture-machine\.json: is not valid JSON at line 1, column 91/);
  expect(problem(changed((made) => Object.assign(made.gates[1] ?? {}, {outcome: 'splendid'})))).toMatch(/field "gates\.1\.outcome" must be one of pass/);
  expect(problem(changed((made) => Object.assign(made, {surprise: 1})))).toContain('must not hold "surprise"');
  expect(problem(changed((made) => (made.schema_version = 3)))).toContain('schema_version 3, this site reads up to 2');
  expect(problem(changed((made) => (made.schema = 'plumbkv.gate')))).toContain('field "schema" should be "plumbkv.calibration"');
  expect(problem(whole, 'other-machine.json')).toContain('belongs to machine "fixture-machine", its name says "other-machine"');
  expect(problem(whole, '<img>.json')).toContain('cannot be part of an address');
  expect(problem(changed((made) => made.gates.forEach((gate) => (gate.started_at = 'soon'))))).toContain('field "gates.0.started_at" is no time');
  expect(problem(changed((made) => made.rates.forEach((one) => (one.injected_percent = 5))))).toContain('"rates.0" contradict each other');
});

test('only calibrations of the rule in force are its error rates; others stand apart', () => {
  const other = {...calibration('other-rule', [rate(0, undefined, 0, 40)]), rule: 'another-1'};
  const {machines, earlier} = gateData({versions: [], calibrations: [earlierCalibration(), other, ...calibrations()].map(loadedCalibration)});
  expect(machines.map(({key}) => key)).toEqual(['fixture-machine', 'other-machine', 'third-machine']);
  expect(earlier.map(({key, rule}) => [key, rule])).toEqual([
    ['earlier-machine', undefined],
    ['other-rule', 'another-1'],
  ]);
});

/** One kind of noise and what came of it. */
const cases = [
  {block_sd: 0.02, layout_sd: 0.01, mood: 0.5, shape: 't3', effect: 1, series: 12, gates: 1000, caught: 0, false_red: 3, inconclusive: 1, blocks: 30},
  {block_sd: 0.02, layout_sd: 0.01, mood: 0.5, shape: 't3', effect: 1.05, series: 12, gates: 1000, caught: 990, false_red: 2, inconclusive: 1, blocks: 20},
  {block_sd: 0.045, layout_sd: 0.01, mood: 0.5, shape: 't3', effect: 1, series: 12, gates: 1000, caught: 0, false_red: 0, inconclusive: 1, blocks: 30},
  {block_sd: 0.045, layout_sd: 0.01, mood: 0.5, shape: 't3', effect: 1.05, series: 12, gates: 1000, caught: 905, false_red: 0, inconclusive: 1, blocks: 40},
];
const table = (change: object = {}) => JSON.stringify({schema: 'plumbkv.power', schema_version: 1, rule: GATE_RULE, seed: 1, cases, ...change});

/** Loads a copy of the fixture in which `file` holds `text`. */
function loadedWith(file: string, text: string): Results {
  return withCopy((root) => {
    mkdirSync(path.dirname(path.join(root, file)), {recursive: true});
    writeFileSync(path.join(root, file), text);
    return loadResults(root, validator);
  });
}

test('the table of simulated gates is read beside calibrations, and shown where it is of the rule in force', () => {
  const loaded = loadedWith('calibration/power.json', table());
  expect(loaded.calibrations).toBeUndefined();
  const {simulated} = gateData(loaded);
  expect(simulated?.raw.sitePath).toBe('results/calibration/power.json');
  expect(simulatedSentences(simulated?.cases ?? []).map(plain)).toEqual([
    'Of 2,000 simulated gates in which nothing was changed, 3 said regression; under the worst of 2 kinds of noise, 0.3 % did.',
    'A series slower by 5 % was found in 90.5 to 99.0 % of the gates, by kind of noise.',
  ]);
  const rows = simulatedRows(simulated?.cases ?? []);
  expect(rows.map(({noise, falseRed, found}) => [noise.block_sd, falseRed?.false_red, found.map((one) => one?.caught)])).toEqual([
    [0.02, 3, [990]],
    [0.045, 0, [905]],
  ]);
  expect(gateData(loadedWith('calibration/power.json', table({rule: 'another-1'}))).simulated).toBeUndefined();
  expect(gateData({versions: []}).simulated).toBeUndefined();
});

test('a broken table of simulated gates stops the build with one line', () => {
  for (const [text, words] of [
    [table().slice(0, 40), 'not valid JSON at line 1, column 41'],
    [table({schema: 'plumbkv.gate'}), 'should be "plumbkv.power"'],
    [table({schema_version: 2}), 'field "schema_version" should be 1'],
    [table({cases: []}), 'a list that is not empty'],
    [table({cases: [{...cases[0], false_red: 1001}]}), '"cases.0" has no "false_red" from 0 to 1000'],
    [table({cases: [cases[0], {...cases[1], shape: 3}]}), '"cases.1" has no "shape"'],
  ] as const) {
    expect(() => loadedWith('calibration/power.json', text)).toThrow(words);
  }
});

const redGate = () => readFileSync(path.join(__dirname, '..', '..', 'bench-runner', 'tests', 'fixtures', 'gate', 'v2.json'), 'utf8');

/** Its tables as a reader without scripts gets them. */
const rendered = (gate: ShownGate | undefined) => (gate ? plain(renderToStaticMarkup(createElement(VerdictTables, {id: gate.id, verdicts: gate.verdicts, profiles: gate.profiles ?? []}))) : '');

test('a gate that is kept is shown with its series and the functions that take more', () => {
  const [gate] = gateData(loadedWith('gates/red.json', redGate())).examples;
  const {verdicts = [], profiles = []} = JSON.parse(redGate()) as Gate;
  expect(gate?.outcome).toBe('regression');
  expect(JSON.stringify(gate)).not.toContain('"blocks":');
  const html = rendered(gate);
  expect(html.match(/<tr>/g)).toHaveLength(1 + verdicts.length + profiles.reduce((sum, {functions}) => sum + functions.length + (functions.length > 0 ? 1 : 0), 0));
  expect(html).toContain('+9.8 %<span class="range">+8.9 to +10.8 %</span>');
  for (const name of profiles.flatMap(({functions}) => functions.map((one) => one.name))) expect(html).toContain(`<code>${name.replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</code>`);
  expect(html).not.toMatch(/NaN|undefined|Infinity/);
});

test('texts of a gate are shown as texts, whatever they are', () => {
  const made = JSON.parse(redGate()) as Gate;
  made.reason = made.machine.cpu_model = made.base.given = HOSTILE;
  made.verdicts.forEach((one) => Object.assign(one, {label: MARKUP, metric: MARKUP, unit: MARKUP, ratio: 1e300}));
  made.profiles = [{label: MARKUP, functions: [{name: HOSTILE, base: 0, head: 1e200}]}, {label: 'a load', functions: []}];
  const html = rendered(gateData(loadedWith('gates/red.json', JSON.stringify(made))).examples[0]);
  expect(html).not.toMatch(/<(img|script|svg)/);
  expect(html).toContain('it is not the work that is slower');
  expect(html).not.toMatch(/\d{40}/);
});

test('a gate that is no gate stops the build with one line', () => {
  const broken = (change: (made: Gate) => void) => () => {
    const made = JSON.parse(redGate()) as Gate;
    change(made);
    // JSON has no infinity, but a number that becomes one.
    return loadedWith('gates/red.json', JSON.stringify(made).replace('"ratio":7777', '"ratio":1e999'));
  };
  expect(broken((made) => (made.started_at = 'soon'))).toThrow('results/gates/red.json: field "started_at" is no time');
  expect(broken((made) => Object.assign(made, {surprise: 1}))).toThrow('must not hold "surprise"');
  expect(broken((made) => made.verdicts.slice(0, 1).forEach((one) => (one.ratio = 7777)))).toThrow('"verdicts.0" has a number that is not finite');
  expect(() => loadedWith('gates/<img>.json', redGate())).toThrow('cannot be part of an address');
});

test('functions stand by what they take more, and changes have their sign', () => {
  const functions = [
    {name: 'less', base: 20, head: 10},
    {name: 'more', base: 100, head: 220.5},
    {name: 'same', base: 7, head: 7},
  ];
  expect(byDifference({label: '', functions}).map(({name}) => name)).toEqual(['more', 'same', 'less']);
  expect(byDifference({label: '', functions}).map(difference)).toEqual(['+121', '0', '−10']);
  expect([1.0983, 0.9, 1, 1e300].map(signed).map(plain)).toEqual(['+9.8 %', '−10.0 %', '0.0 %', '+1.0e+302 %']);
  expect([amount(4122.6, 'ns'), amount(undefined, 'ns'), amount(411_873, '1/s')].map(plain)).toEqual(['4.12 µs', 'not measured', '412 k ops/s']);
});
