// How does a quantity follow a continuous one (latency an offered rate, throughput the seconds)? Every trial thin or a
// dot, the median thick; a knee is a mark on the axis below its line.
import {scaleLinear, scaleLog} from 'd3-scale';
import {line} from 'd3-shape';
import type {ReactNode} from 'react';
import {type Box, DirectLabels, Frame, type Look, XAxis, YAxis, decadeTicks, evenTicks, round} from './frame';

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

const HEIGHT = 250;
const BOX: Box = {left: 52, right: 262, top: 24, bottom: 196};

export default function RateChart({id, title, desc, series, xUnit, yUnit, xFactor = 1, xMax, yMax, yMin}: Props): ReactNode {
  const x = scaleLinear([0, xMax], [BOX.left, BOX.right - 6]);
  const y = yMin === undefined ? scaleLinear([0, yMax || 1], [BOX.bottom, BOX.top]).nice(5) : scaleLog([yMin, yMax], [BOX.bottom, BOX.top]).nice();
  const ticks = yMin === undefined ? evenTicks(y, 5) : decadeTicks(y);
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
          {points.flatMap((point) =>
            point.trials.map((value, index) => (
              <circle key={`${point.x}-${index}`} className="trial" cx={round(x(point.x))} cy={round(y(Math.max(value, low)))} r={2} />
            )),
          )}
          <path className="median" d={path(points.map(({x: at, median}) => ({x: at, y: median}))) ?? ''} />
          {knee === undefined ? null : <path className="knee" d={`M${round(x(Math.min(knee, xMax)))} ${BOX.bottom - 1}l-4.500 -9h9z`} />}
        </g>
      ))}
      <DirectLabels ends={ends} box={BOX} />
    </Frame>
  );
}
