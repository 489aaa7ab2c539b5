// A survival chart: which keys are still there after the cap was passed, by age of insertion, oldest left.
import {scaleLinear} from 'd3-scale';
import {curveStepAfter, line} from 'd3-shape';
import type {ReactNode} from 'react';
import {type Box, DirectLabels, Frame, type Look, XAxis, YAxis, round} from './frame';

export interface SurvivalSeries {
  label: string;
  look: Look;
  /** Share of keys still there, 0 to 1, by equal slices of the insertion order; one list per trial. */
  trials: number[][];
}

interface Props {
  id: string;
  title: string;
  desc: string;
  series: SurvivalSeries[];
}

const HEIGHT = 240;
const BOX: Box = {left: 44, right: 246, top: 24, bottom: 196};

export default function SurvivalChart({id, title, desc, series}: Props): ReactNode {
  const x = scaleLinear([0, 1], [BOX.left, BOX.right - 6]);
  const y = scaleLinear([0, 1], [BOX.bottom, BOX.top]);
  const path = line<[number, number]>(([at]) => round(x(at)), ([, share]) => round(y(share))).curve(curveStepAfter);
  const steps = (shares: number[]): [number, number][] => {
    const points = shares.map((share, index): [number, number] => [index / shares.length, share]);
    return [...points, [1, shares.at(-1) ?? 0]];
  };
  const drawn = series.map((entry) => ({...entry, median: medians(entry.trials)}));
  const ends = drawn.map(({label, look, median}) => ({label, look, x: x(1), y: y(median.at(-1) ?? 0)}));
  return (
    <Frame id={id} title={title} desc={desc} height={HEIGHT}>
      <YAxis ticks={[0, 0.25, 0.5, 0.75, 1].map((share) => ({at: y(share), label: String(share * 100)}))} box={BOX} unit="% of keys still there" />
      <XAxis
        ticks={[
          {at: x(0), label: 'first'},
          {at: x(0.5), label: 'half way'},
          {at: x(1), label: 'last'},
        ]}
        box={BOX}
        unit="order of insertion"
      />
      {[...drawn].reverse().map(({label, look, trials, median}) => (
        <g key={label} className={`series ${look}`}>
          {trials.map((shares, index) => (
            <path key={index} className="hairline" d={path(steps(shares)) ?? ''} />
          ))}
          <path className="median" d={path(steps(median)) ?? ''} />
        </g>
      ))}
      <DirectLabels ends={ends} box={BOX} />
    </Frame>
  );
}

/** Median over the trials, slice by slice. */
export function medians(trials: number[][]): number[] {
  const slices = Math.min(...trials.map((shares) => shares.length));
  return Array.from({length: Number.isFinite(slices) ? slices : 0}, (_, slice) => {
    const sorted = trials.map((shares) => shares[slice] ?? 0).sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
  });
}
