// Looks of rivals: a colour with contrast in both themes and a marker each, the same rival everywhere the same.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import {expect, test} from 'vitest';
import {markerPath, RIVAL_LOOKS, rivalLook} from '../src/charts/looks';
import {barPanels, lookOf} from '../src/lib/figures';
import {partsOf} from '../src/lib/parts';
import {storedScenarios} from './stored';

const tokens = readFileSync(path.join(__dirname, '..', 'src', 'css', 'tokens.css'), 'utf8');

/** The values of a token, in the order in which the themes set it: light, dark by the system, dark by choice. */
function values(token: string): string[] {
  return [...tokens.matchAll(new RegExp(`--plumb-${token}: (#[0-9a-f]{6});`, 'g'))].map(([, value]) => value ?? '');
}

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

test('every colour of a line is told from the paper, in both themes', () => {
  const papers = values('paper');
  expect(papers).toHaveLength(3);
  for (const look of ['ours', 'rival', ...RIVAL_LOOKS]) {
    const colours = values(look);
    expect(colours, look).toHaveLength(3);
    colours.forEach((colour, theme) => expect(contrast(colour, papers[theme] ?? ''), `${look} ${colour}`).toBeGreaterThanOrEqual(4.5));
  }
});

test('looks differ in their marker too, so that no colour has to be seen', () => {
  const markers = (['ours', ...RIVAL_LOOKS] as const).map(markerPath);
  expect(new Set(markers).size).toBe(markers.length);
  expect(markers.join('')).not.toMatch(/NaN|undefined/);
});

test('rivals of one class have looks of their own, and an unknown one has one as well', () => {
  for (const rivals of [['redis-server', 'valkey', 'memcached', 'kevy', 'dragonfly', 'redis-image'], ['rocksdb', 'fjall', 'lmdb', 'redb', 'sqlite'], ['postgresql', 'mongodb', 'elasticsearch', 'nginx']]) {
    expect(new Set(rivals.map(rivalLook)).size).toBe(rivals.length);
  }
  expect(RIVAL_LOOKS).toContain(rivalLook('a server of tomorrow'));
  expect(rivalLook('a server of tomorrow')).toBe(rivalLook('a server of tomorrow'));
});

test('on every stored page a rival has one look, no chart has a single bar, and none makes a stub of another', () => {
  for (const {name, record, run} of storedScenarios()) {
    for (const cell of record.cells) {
      if (run.targets.find(({key}) => key === cell.target)?.role === 'rival') expect(lookOf(cell, run)).toBe(rivalLook(cell.target));
    }
    const closed = {...record, cells: partsOf(record, run).closed};
    for (const [metric, unit] of [['ops_per_second', '1/s'], ['rss_bytes_peak', 'bytes'], ['open_ms', 'ms']] as const) {
      for (const {figures, max} of barPanels(closed, run, metric, unit, {shared: '', short: (label) => label})) {
        for (const {label, bars} of figures) {
          expect(bars.length, `${name}: ${label}`).toBeGreaterThan(1);
          expect(Math.max(...bars.flatMap(({median, trials}) => [median, ...trials])), `${name}: ${label}`).toBeGreaterThan(max / 10);
        }
      }
    }
  }
});
