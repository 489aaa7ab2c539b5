// Do ratios leave 1 out? One row each on a common logarithmic axis: the median a mark, its spread a line, 1 a dashed rule.
import {scaleLog} from 'd3-scale';
import type {ReactNode} from 'react';
import {fixed, shorten} from '../lib/format';
import {Frame, type Look, WIDTH, XAxis, round} from './frame';

export interface RatioBar {
  label: string;
  look: Look;
  median: number;
  low: number;
  high: number;
  text: string;
}

interface Props {
  id: string;
  title: string;
  desc: string;
  rows: RatioBar[];
  /** Ends of the shared axis; 1 lies between them. */
  min: number;
  max: number;
}

const ROW = 36;
const TOP = 18;
/** Least distance of two ticks. */
const APART = 24;
/** Width of the words above the rule. */
const WORDS = 76;
const TICKS = [0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10, 20, 50, 100];

export default function RatioChart({id, title, desc, rows, min, max}: Props): ReactNode {
  const bottom = TOP + rows.length * ROW;
  const box = {left: 2, right: WIDTH - 84, top: TOP, bottom};
  const x = scaleLog([min, max], [box.left + 8, box.right - 8]);
  const drawn = TICKS.filter((value) => value >= min && value <= max).map((value) => ({
    value,
    at: x(value),
    label: fixed(value, Number.isInteger(value) ? 0 : value === 1.25 ? 2 : 1),
  }));
  // Over a wide range the ticks around 1 would run into each other: 1 stays, and whatever keeps its distance.
  const ticks = drawn.filter(({value, at}) => value === 1 || (Math.abs(at - x(1)) >= APART && drawn.every((other) => other.value >= value || other.value === 1 || at - other.at >= APART)));
  const one = round(x(1));
  return (
    <Frame id={id} title={title} desc={desc} height={bottom + 38}>
      <XAxis ticks={ticks} box={box} unit="ratio, logarithmic" />
      <g className="reference">
        <line x1={one} x2={one} y1={TOP - 4} y2={bottom} />
        <text x={one} y={10} textAnchor={one < WORDS / 2 ? 'start' : 'middle'}>
          no difference
        </text>
      </g>
      {rows.map(({label, look, median, low, high, text}, index) => {
        const y = TOP + index * ROW;
        return (
          <g key={label} className={`series ${look}`}>
            <text className="bar-label" x={box.left} y={y + 12}>
              {shorten(label, 56)}
            </text>
            <line className="whisker" x1={round(x(low))} x2={round(x(high))} y1={y + 23} y2={y + 23} />
            <line className="mark" x1={round(x(median))} x2={round(x(median))} y1={y + 17} y2={y + 29} />
            <text className={`direct ${look}`} x={box.right + 4} y={y + 27}>
              {text}
            </text>
          </g>
        );
      })}
    </Frame>
  );
}
