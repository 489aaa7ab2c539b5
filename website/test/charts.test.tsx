// Do the charts draw what they are given? Each has a golden SVG; UPDATE_GOLDEN=1 writes it anew.
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import type {ReactNode} from 'react';
import {renderToStaticMarkup} from 'react-dom/server';
import {expect, test} from 'vitest';
import BarChart from '../src/charts/BarChart';
import DetectionChart from '../src/charts/DetectionChart';
import {spreadLabels} from '../src/charts/frame';
import LineChart from '../src/charts/LineChart';
import PercentileChart from '../src/charts/PercentileChart';
import RateChart from '../src/charts/RateChart';
import RatioChart from '../src/charts/RatioChart';
import SurvivalChart, {medians} from '../src/charts/SurvivalChart';

function golden(name: string, chart: ReactNode): string {
  const svg = `${renderToStaticMarkup(chart).replaceAll('><', '>\n<')}\n`;
  const file = path.join(__dirname, 'golden', `${name}.svg`);
  if (process.env.UPDATE_GOLDEN) {
    mkdirSync(path.dirname(file), {recursive: true});
    writeFileSync(file, svg);
  }
  if (!existsSync(file)) throw new Error(`no ${file}; look at the chart, then run: npm run test:update`);
  expect(svg).toBe(readFileSync(file, 'utf8'));
  return svg;
}

/** Dots of single trials, all in one path of each series. */
function dots(svg: string): number {
  return [...svg.matchAll(/class="trials" d="([^"]*)"/g)].reduce((sum, [, d = '']) => sum + (d.match(/M/g)?.length ?? 0), 0);
}

const about = {id: 'chart', title: 'A title', desc: 'What it shows.'};

test('line chart: hairlines per trial, median, direct labels', () => {
  const svg = golden(
    'line',
    <LineChart
      {...about}
      series={[
        {label: 'PlumbKV', look: 'ours', points: [{x: 1, median: 20, trials: [19, 20, 21]}, {x: 50, median: 80, trials: [78, 80, 83]}, {x: 1000, median: 70, trials: [69, 70, 74]}]},
        {label: 'Redis', look: 'rival', points: [{x: 1, median: 18, trials: [17, 18, 19]}, {x: 50, median: 81, trials: [80, 81, 82]}]},
      ]}
      xs={[1, 50, 1000]}
      xUnit="clients"
      yUnit="k ops/s"
      yMax={90}
    />,
  );
  expect(svg.match(/class="hairline"/g)).toHaveLength(6);
  expect(dots(svg)).toBe(15);
});

test('percentile chart: the axis stretches towards the tail', () => {
  golden(
    'percentile',
    <PercentileChart
      {...about}
      series={[
        {
          label: 'PlumbKV',
          look: 'ours',
          points: [0, 50, 90, 99, 99.9, 99.99, 100].map((percentile, index) => ({percentile, us: 40 * 1.5 ** index})),
          trials: [{percentile: 50, us: 58}, {percentile: 99, us: 140}],
        },
      ]}
      minUs={10}
      maxUs={1000}
    />,
  );
});

test('bar chart: bars begin at zero and carry figure and ratio', () => {
  const svg = golden(
    'bar',
    <BarChart
      {...about}
      bars={[
        {label: 'PlumbKV, native', look: 'ours', median: 80, trials: [78, 80, 83], text: '80'},
        {label: 'PlumbKV, container, host network', look: 'ours-host', median: 40, trials: [39, 40, 41], text: '40', note: '0.50× native'},
        {label: 'ceiling of the load generator', look: 'ceiling', median: 100, trials: [100], text: '100'},
      ]}
      unit="k ops/s"
      max={100}
      reference={{value: 90, label: 'cap'}}
    />,
  );
  const widths = [...svg.matchAll(/<rect class="bar" x="2" y="[\d.]+" width="([\d.]+)"/g)].map((match) => Number(match[1]));
  expect(widths).toHaveLength(3);
  expect((widths[0] ?? 0) / (widths[1] ?? 1)).toBeCloseTo(2, 2);
});

test('survival chart: steps by insertion age, median over trials', () => {
  golden(
    'survival',
    <SurvivalChart {...about} series={[{label: 'PlumbKV', look: 'ours', trials: [[0, 0.2, 0.6, 1], [0, 0.4, 0.8, 1], [0.1, 0.3, 0.7, 1]]}]} />,
  );
  expect(medians([[0, 1], [1, 1], [0.5, 0]])).toEqual([0.5, 1]);
  expect(medians([])).toEqual([]);
});

test('rate chart: a continuous axis, logarithmic latency, the knee marked on the axis', () => {
  const svg = golden(
    'rate',
    <RateChart
      {...about}
      series={[
        {
          label: 'PlumbKV',
          look: 'ours',
          knee: 75_000,
          points: [{x: 10_000, median: 120, trials: [118, 120, 125]}, {x: 60_000, median: 400, trials: [380, 400, 450]}, {x: 85_000, median: 9000, trials: [7000, 9000, 20_000]}],
        },
        {label: 'Redis', look: 'rival', points: [{x: 10_000, median: 130, trials: []}], traces: [[{x: 9_000, y: 110}, {x: 11_000, y: 140}]]},
      ]}
      xUnit="offered, k ops/s"
      yUnit="µs, logarithmic"
      xFactor={1e-3}
      xMax={90_000}
      yMin={100}
      yMax={100_000}
    />,
  );
  expect(svg.match(/class="knee"/g)).toHaveLength(1);
  expect(dots(svg)).toBe(9);
});

test('ratio chart: a rule at 1, the spread a line through the median', () => {
  const svg = golden(
    'ratio',
    <RatioChart
      {...about}
      rows={[
        {label: 'PlumbKV, native, same limits', look: 'ours-limited', median: 0.98, low: 0.95, high: 1.02, text: '0.98×'},
        {label: 'PlumbKV, container, published port', look: 'ours-published', median: 0.6, low: 0.55, high: 0.62, text: '0.60×'},
      ]}
      min={0.5}
      max={1.3}
    />,
  );
  const one = Number(/class="reference">\n<line x1="([\d.]+)"/.exec(svg)?.[1]);
  const ends = [...svg.matchAll(/class="whisker" x1="([\d.]+)" x2="([\d.]+)"/g)].map((match) => [Number(match[1]), Number(match[2])]);
  expect((ends[0]?.[0] ?? 0) < one && (ends[0]?.[1] ?? 0) > one).toBe(true);
  expect((ends[1]?.[1] ?? Infinity) < one).toBe(true);
});

test('detection chart: a point with its interval per size, no line between them', () => {
  const svg = golden(
    'detection',
    <DetectionChart
      {...about}
      points={[
        {percent: 10, label: '10', share: 1, low: 0.782, high: 1, text: '15/15'},
        {percent: 0, label: 'nothing', share: 0, low: 0, high: 0.088, text: '0/40'},
        {percent: 5, label: '5', share: 0.8, low: 0.519, high: 0.957, text: '12/15'},
        {percent: 5.2, label: '5.2', share: 0.7, low: 0.4, high: 0.9, text: '7/10'},
      ]}
      max={10}
    />,
  );
  const at = [...svg.matchAll(/cx="([\d.]+)" cy="([\d.]+)"/g)].map((match) => [Number(match[1]), Number(match[2])]);
  expect(at).toHaveLength(4);
  expect(at.map(([x]) => x)).toEqual(at.map(([x]) => x).sort((a = 0, b = 0) => a - b));
  expect(at[0]?.[1]).toBe(196);
  expect(at[3]?.[1]).toBe(26);
  expect(svg.match(/class="whisker"/g)).toHaveLength(4);
  expect(svg).not.toContain('class="median"');
  // Of two sizes that lie too close the second has its point, and its texts are left to the table.
  expect(svg).not.toContain('7/10');
});

test('a name of any length leaves the chart as wide as it is', () => {
  const svg = renderToStaticMarkup(<BarChart {...about} bars={[{label: 'x'.repeat(10_000), look: 'rival', median: 1, trials: [], text: '1'}]} unit="" max={1} />);
  expect(svg.length).toBeLessThan(3000);
});

test('names from a record are escaped', () => {
  const evil = '<script>alert(1)</script>';
  const svg = renderToStaticMarkup(
    <BarChart {...about} title={evil} bars={[{label: evil, look: 'rival', median: 1, trials: [], text: evil}]} unit={evil} max={1} />,
  );
  expect(svg).not.toContain('<script>');
  expect(svg).toContain('&lt;script&gt;');
});

test('labels beside lines keep their order, never overlap and stay inside', () => {
  const ends = [30, 31, 29, 190].map((y, index) => ({label: String(index), look: 'rival' as const, x: 0, y}));
  const placed = spreadLabels(ends, 24, 196).map(({y}) => y);
  for (let index = 1; index < placed.length; index += 1) expect((placed[index] ?? 0) - (placed[index - 1] ?? 0)).toBeGreaterThanOrEqual(13);
  expect(Math.min(...placed)).toBeGreaterThanOrEqual(24);
  expect(Math.max(...placed)).toBeLessThanOrEqual(196);
});
