// A line chart along an axis of few values (clients, pipeline depth, versions): every trial a hairline, the median thick.
import {scaleLinear, scaleLog, scalePoint} from 'd3-scale';
import {line} from 'd3-shape';
import type {ReactNode} from 'react';
import {fixed} from '../lib/format';
import {type Box, DirectLabels, Dots, Frame, type Look, Marker, XAxis, YAxis, decadeTicks, evenTicks, round} from './frame';

export interface LinePoint {
  x: number;
  /** In the chart's unit, like the trials. */
  median: number;
  trials: number[];
}

export interface LineSeries {
  label: string;
  look: Look;
  points: LinePoint[];
}

interface Props {
  id: string;
  title: string;
  desc: string;
  series: LineSeries[];
  /** Values of the axis, in order; they stand at equal distances. */
  xs: number[];
  /** Words in the place of the values, such as versions. */
  xLabels?: string[];
  xUnit: string;
  yUnit: string;
  /** Top of the shared y axis, in the chart's unit. The axis begins at zero, or is logarithmic from `yMin`. */
  yMax: number;
  yMin?: number;
  /** Values of the axis at which something happened that the text beside the chart tells. */
  marks?: {x: number; faded: boolean}[];
}

const HEIGHT = 240;
const BOX: Box = {left: 44, right: 246, top: 24, bottom: 196};

export default function LineChart({id, title, desc, series, xs, xLabels, xUnit, yUnit, yMax, yMin, marks = []}: Props): ReactNode {
  const x = scalePoint<number>(xs, [BOX.left + 10, BOX.right - 6]);
  const y = yMin === undefined ? scaleLinear([0, yMax], [BOX.bottom, BOX.top]).nice(5) : scaleLog([yMin, yMax], [BOX.bottom, BOX.top]).nice();
  const ticks = yMin === undefined ? evenTicks(y, 5) : decadeTicks(y);
  const path = line<{x: number; y: number}>((point) => round(x(point.x) ?? 0), (point) => round(y(point.y)));
  const ends = series.flatMap(({label, look, points}) => {
    const last = points.at(-1);
    return last ? [{label, look, y: y(last.median), x: x(last.x) ?? BOX.right}] : [];
  });
  return (
    <Frame id={id} title={title} desc={desc} height={HEIGHT}>
      <YAxis ticks={ticks} box={BOX} unit={yUnit} />
      <XAxis ticks={xs.map((value, index) => ({at: x(value) ?? 0, label: xLabels?.[index] ?? fixed(value, 0)}))} box={BOX} unit={xUnit} />
      {marks.map(({x: at, faded}, index) => (
        <line key={index} className={faded ? 'event faded' : 'event'} x1={round(x(at) ?? 0)} x2={round(x(at) ?? 0)} y1={BOX.top} y2={BOX.bottom} />
      ))}
      {[...series].reverse().map(({label, look, points}) => (
        <g key={label} className={`series ${look}`}>
          {trialLines(points).map((trial, index) => (
            <path key={index} className="hairline" d={path(trial) ?? ''} />
          ))}
          <Dots points={points.flatMap((point) => point.trials.map((value) => ({x: x(point.x) ?? 0, y: y(value)})))} />
          <path className="median" d={path(points.map(({x: at, median}) => ({x: at, y: median}))) ?? ''} />
          {points.map((point) => (
            <Marker key={point.x} look={look} x={x(point.x) ?? 0} y={y(point.median)} />
          ))}
        </g>
      ))}
      <DirectLabels ends={ends} box={BOX} />
    </Frame>
  );
}

// Trials pair by their index along the axis; a line stops where its trial has no value.
function trialLines(points: LinePoint[]): {x: number; y: number}[][] {
  const most = Math.max(0, ...points.map((point) => point.trials.length));
  return Array.from({length: most}, (_, index) =>
    points.flatMap(({x, trials}) => {
      const value = trials[index];
      return value === undefined ? [] : [{x, y: value}];
    }),
  );
}
