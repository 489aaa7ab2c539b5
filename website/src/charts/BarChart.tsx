// A bar chart: the cells of one point on one metric, bars from zero, each with its figure and its trials.
import {scaleLinear} from 'd3-scale';
import type {ReactNode} from 'react';
import {shorten} from '../lib/format';
import {Dots, Frame, type Look, WIDTH, XAxis, evenTicks, round} from './frame';

export interface Bar {
  label: string;
  look: Look;
  /** In the chart's unit, like the trials. */
  median: number;
  trials: number[];
  /** Text of the figure at the end of the bar: `84.1`. */
  text: string;
  /** A second text after it, such as the ratio to native: `0.82× native`. */
  note?: string;
}

interface Props {
  id: string;
  title: string;
  desc: string;
  bars: Bar[];
  unit: string;
  /** End of the shared axis, in the chart's unit. */
  max: number;
  /** A value that the bars are held against, drawn as a line. */
  reference?: {value: number; label: string};
}

const ROW = 38;

export default function BarChart({id, title, desc, bars, unit, max, reference}: Props): ReactNode {
  const top = reference ? 18 : 2;
  const bottom = top + bars.length * ROW + 2;
  // The figure stands at the end of its bar, so the longest bar leaves room for it.
  const box = {left: 2, right: WIDTH - 14, top, bottom};
  const x = scaleLinear([0, max * 1.001], [box.left, WIDTH - 128]);
  return (
    <Frame id={id} title={title} desc={desc} height={bottom + 38}>
      <XAxis ticks={evenTicks(x, 3)} box={{...box, right: WIDTH - 128}} unit={unit} />
      {reference ? (
        <g className="reference">
          <line x1={round(x(reference.value))} x2={round(x(reference.value))} y1={14} y2={bottom} />
          <text x={round(x(reference.value))} y={10} textAnchor="middle">
            {reference.label}
          </text>
        </g>
      ) : null}
      {bars.map(({label, look, median, trials, text, note}, index) => {
        const y = top + index * ROW;
        const furthest = Math.max(median, ...trials);
        return (
          <g key={label} className={`series ${look}`}>
            <text className="bar-label" x={box.left} y={y + 12}>
              {shorten(label, 56)}
            </text>
            <rect className="bar" x={box.left} y={y + 17} width={round(Math.max(x(median) - box.left, 1))} height={13} />
            <Dots points={trials.map((value) => ({x: x(value), y: y + 23.5}))} isOnBar />
            <text className={`direct ${look}`} x={round(x(furthest) + 7)} y={y + 28}>
              {text}
              {note ? <tspan className="note"> · {note}</tspan> : null}
            </text>
          </g>
        );
      })}
    </Frame>
  );
}
