// How do the trials of a few servers lie beside ours? One row each on a common axis; the plumb line hangs at our median.
import {scaleLinear} from 'd3-scale';
import type {ReactNode} from 'react';
import {shorten} from '../lib/format';
import {Frame, type Look, WIDTH, XAxis, evenTicks, round} from './frame';

export interface PlumbRow {
  label: string;
  look: Look;
  /** In the chart's unit, like the trials. */
  median: number;
  trials: number[];
  text: string;
}

interface Props {
  id: string;
  title: string;
  desc: string;
  /** The first row is the one the line hangs at. */
  rows: PlumbRow[];
  unit: string;
}

const ROW = 46;
const TOP = 30;

export default function PlumbChart({id, title, desc, rows, unit}: Props): ReactNode {
  const max = Math.max(...rows.flatMap((row) => [row.median, ...row.trials]));
  const bottom = TOP + rows.length * ROW;
  const box = {left: 2, right: WIDTH - 10, top: TOP, bottom};
  const x = scaleLinear([0, max * 1.02], [box.left, box.right - 12]);
  const plumb = round(x(rows[0]?.median ?? 0));
  return (
    <Frame id={id} title={title} desc={desc} height={bottom + 74}>
      <line className="beam" x1={plumb - 26} x2={plumb + 26} y1={6} y2={6} />
      <line className="plumb" x1={plumb} x2={plumb} y1={6} y2={bottom + 40} />
      <path
        className="bob"
        transform={`translate(${plumb} ${bottom + 38})`}
        d="M0 0c6 0 9.5 2.600 9.5 6.400 0 5.700-5.700 11-9.5 19.200-3.800-8.200-9.5-13.500-9.5-19.200C-9.5 2.600-6 0 0 0z"
      />
      <g className="axis-only">
        <XAxis ticks={evenTicks(x, 4)} box={box} unit="" />
        <text className="axis-unit" x={box.left} y={bottom + 34}>
          {unit}
        </text>
      </g>
      {rows.map(({label, look, median, trials, text}, index) => {
        const y = TOP + index * ROW;
        return (
          <g key={label} className={`series ${look}`}>
            <text className="bar-label" x={box.left} y={y + 12}>
              {shorten(label, 40)} <tspan className={`direct ${look}`}>{text}</tspan>
            </text>
            <line className="grid" x1={box.left} x2={box.right} y1={y + 26} y2={y + 26} />
            {trials.map((value, trial) => (
              <circle key={trial} className="trial" cx={round(x(value))} cy={y + 26} r={3.5} />
            ))}
            <line className="mark" x1={round(x(median))} x2={round(x(median))} y1={y + 18} y2={y + 34} />
          </g>
        );
      })}
    </Frame>
  );
}
