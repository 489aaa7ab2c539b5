// A chart along a continuous axis (latency over the offered rate, throughput over the seconds): every trial thin or a dot,
// the median thick; a knee is a mark on the axis below its line.
import {type ScaleLinear, scaleLinear, type ScaleLogarithmic, scaleLog} from 'd3-scale';

import {line} from 'd3-shape';
import type {ReactNode} from 'react';
import {latencyLabel} from '../lib/format';
import {type Box, DirectLabels, Dots, Frame, type Look, Marker, XAxis, YAxis, evenTicks, logTicks, round} from './frame';

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
  /** Place on the x axis of the highest rate that was answered in time. */
  knee?: number;
  /** Whole lines of single trials, where trials do not share their places on the axis. */
  traces?: {x: number; y: number}[][];
}

interface Props {
  id: string;
  title: string;
  desc: string;
  series: LineSeries[];
  xUnit: string;
  yUnit: string;
  /** What a value on the x axis is multiplied by for its label. */
  xFactor?: number;
  xMax: number;
  yMax: number;
  /** Makes the y axis logarithmic from here; else it begins at zero. */
  yMin?: number;
}

type Linear = ScaleLinear<number, number>;
type Log = ScaleLogarithmic<number, number>;

/** More points than these are a curve, which needs no markers. */
const MOST_MARKERS = 12;
const HEIGHT = 250;
const BOX: Box = {left: 52, right: 246, top: 24, bottom: 196};

export default function RateChart({id, title, desc, series, xUnit, yUnit, xFactor = 1, xMax, yMax, yMin}: Props): ReactNode {
  const x = scaleLinear([0, xMax], [BOX.left, BOX.right - 6]);
  const y = yMin === undefined ? scaleLinear([0, yMax || 1], [BOX.bottom, BOX.top]).nice(5) : scaleLog([yMin, yMax], [BOX.bottom, BOX.top]);
  const ticks = yMin === undefined ? evenTicks(y as Linear, 5) : logTicks(y as Log, latencyLabel);
  const low = yMin === undefined ? 0 : (y.domain()[0] ?? yMin);
  const path = line<{x: number; y: number}>((point) => round(x(point.x)), (point) => round(y(Math.max(point.y, low))));
  const ends = series.flatMap(({label, look, points}) => {
    const last = points.at(-1);
    return last ? [{label, look, x: x(last.x), y: y(Math.max(last.median, low))}] : [];
  });
  return (
    <Frame id={id} title={title} desc={desc} height={HEIGHT}>
      <YAxis ticks={ticks} box={BOX} unit={yUnit} />
      <XAxis
        ticks={evenTicks(x, 4, xFactor)}
        box={BOX}
        unit={xUnit}
      />
      {[...series].reverse().map(({label, look, points, knee, traces = []}) => (
        <g key={label} className={`series ${look}`}>
          {traces.map((trace, index) => (
            <path key={index} className="hairline" d={path(trace) ?? ''} />
          ))}
          <Dots points={points.flatMap((point) => point.trials.map((value) => ({x: x(point.x), y: y(Math.max(value, low))})))} />
          <path className="median" d={path(points.map(({x: at, median}) => ({x: at, y: median}))) ?? ''} />
          {points.length <= MOST_MARKERS
            ? points.map((point) => <Marker key={point.x} look={look} x={x(point.x)} y={y(Math.max(point.median, low))} />)
            : null}
          {knee === undefined ? null : <path className="knee" d={`M${round(x(Math.min(knee, xMax)))} ${BOX.bottom - 1}l-4.500 -9h9z`} />}
        </g>
      ))}
      <DirectLabels ends={ends} box={BOX} />
    </Frame>
  );
}
