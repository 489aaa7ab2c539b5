// Are numbers shown with the digits that their spread allows?
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {describe, expect, test} from 'vitest';
import {isWithinReach, scaleOfAll} from '../src/lib/units';
import {bytes, count, duration, figure, fixed, ratio, scaleFor, short, tickLabels, time, withUnit, word} from '../src/lib/format';

const shown = (median: number, low: number, high: number, unit = '1/s') => figure({median, low, high}, scaleFor(unit, median));

describe('figure', () => {
  test.each([
    [411_873, 405_100, 418_300, {value: '412', low: '405', high: '418'}],
    [84_123, 84_101, 84_140, {value: '84.12', low: '84.10', high: '84.14'}],
    [84_123, 60_000, 120_000, {value: '84', low: '60', high: '120'}],
    [950, 900, 1000, {value: '950', low: '900', high: '1,000'}],
    [0, 0, 0, {value: '0', low: '0', high: '0'}],
  ])('%d between %d and %d ends where its spread begins', (median, low, high, expected) => {
    expect(shown(median, low, high)).toEqual(expected);
  });

  const cases = JSON.parse(readFileSync(path.join(__dirname, '..', '..', 'bench-runner', 'tests', 'fixtures', 'digits.json'), 'utf8')) as {median: number; low: number; high: number; text: string}[];
  test.each(cases)('a cell of $median has the digits that it has in the README', ({text, ...measured}) => {
    const {value, low, high} = figure(measured, {unit: '', factor: 1});
    expect(`${value} (${low}–${high})`).toBe(text);
  });

  test('counts stay whole, and exact ones keep every digit', () => {
    expect(shown(3, 2, 3, 'count')).toEqual({value: '3', low: '2', high: '3'});
    expect(shown(2312, 2312, 2312, 'count').value).toBe('2,312');
  });

  test('a microsecond column shows nanoseconds as fractions', () => {
    expect(figure({median: 6_382, low: 6_290, high: 6_470}, {unit: 'µs', factor: 1e-3})).toEqual({value: '6.38', low: '6.29', high: '6.47'});
  });
});

test('a unit is the one a person would choose', () => {
  const unit = (stored: string, ...values: number[]) => scaleOfAll(stored, values).unit;
  expect(unit('1/s', 950)).toBe('ops/s');
  expect(unit('1/s', 9_500)).toBe('k\u00a0ops/s');
  expect(unit('1/s', 2_300_000)).toBe('M\u00a0ops/s');
  expect(unit('bytes', 96 * 2 ** 20, 1.2 * 2 ** 30)).toBe('MiB');
  expect(unit('bytes', 2e-4)).toBe('bytes');
  expect(unit('ns', 770_000_000)).toBe('ms');
  expect(unit('ms', 0.000651)).toBe('ns');
  expect(unit('ms', 12)).toBe('ms');
  expect(unit('count', 2_312)).toBe('');
  expect(unit('count', 91_240)).toBe('thousand');
  expect(unit('cores', 0.3)).toBe('cores');
  expect(scaleFor('bytes', 2 ** 21)).toEqual({unit: 'MiB', factor: 2 ** -20});
});

test('a figure is within three orders of magnitude of its unit', () => {
  expect([0, 0.001, 1, 9_499].every(isWithinReach)).toBe(true);
  // With one digit 9,500 is shown as 10,000.
  expect([0.0009, 9_500, 10_000].some(isWithinReach)).toBe(false);
});

test('numbers group thousands, use a true minus, and never show minus nought', () => {
  expect(fixed(-1234567.89, 1)).toBe('−1,234,567.9');
  expect(fixed(-0.001, 1)).toBe('0.0');
  expect(fixed(123_456, -3)).toBe('123,000');
  expect(fixed(Number.NaN, 1)).toBe('–');
  expect(count(1_000_000)).toBe('1,000,000');
});

test('ratios carry one or two decimals, and more where their ends would read alike or like 1', () => {
  expect(ratio({median: 0.8234, low: 0.81, high: 0.84})).toEqual({value: '0.82×', low: '0.81×', high: '0.84×'});
  expect(ratio({median: 12.3456, low: 12.3452, high: 12.3468})).toEqual({value: '12.346×', low: '12.345×', high: '12.347×'});
  expect(ratio({median: 1.0038, low: 1.0031, high: 1.09})).toMatchObject({value: '1.004×', low: '1.003×'});
  expect(ratio({median: 0.0002131, low: 0.000188, high: 0.000232})).toEqual({value: '0.00021×', low: '0.00019×', high: '0.00023×'});
  expect(ratio({median: 244, low: 231, high: 260}).value).toBe('240×');
});

test('given sizes, times and digests read as people write them', () => {
  expect(bytes(2_097_152)).toBe('2\u00a0MiB');
  expect(bytes(1_536)).toBe('1.50\u00a0KiB');
  expect(time('2026-11-20T12:34:56Z')).toBe('2026-11-20 12:34 UTC');
  expect(time('2026-11-20T13:34:56+01:00')).toBe('2026-11-20 12:34 UTC');
  expect(duration(432)).toBe('7\u00a0min 12\u00a0s');
  expect(duration(0.2)).toBe('0.2\u00a0s');
  expect(duration(0.0143)).toBe('14\u00a0ms');
  expect(duration(0.0019)).toBe('1.9\u00a0ms');
  expect(duration(0)).toBe('0.0\u00a0s');
  expect(short('sha256:0123456789abcdef')).toBe('0123456789ab');
  expect(withUnit('84.1', 'k ops/s')).toBe('84.1\u00a0k ops/s');
  expect([word(0), word(3), word(13)]).toEqual(['no', 'three', '13']);
});

test('ticks of an axis can be told apart', () => {
  expect(tickLabels([0, 0.5, 1, 1.5, 2])).toEqual(['0', '0.5', '1.0', '1.5', '2.0']);
  expect(tickLabels([0, 0.2, 0.4, 1, 1.2, 1.4])).toEqual(['0', '0.2', '0.4', '1.0', '1.2', '1.4']);
  expect(tickLabels([0, 0.05, 0.1])).toEqual(['0', '0.05', '0.10']);
  expect(tickLabels([0, 1000, 2000])).toEqual(['0', '1,000', '2,000']);
  expect(tickLabels([])).toEqual([]);
});
