// The frame of every chart: size, titles for those who cannot see it, axes, ticks, markers and labels.
//
// Charts are small multiples drawn at about the size at which they are read (360 units wide), so that their
// text is as large on a phone as on a wide screen. Colours come from CSS classes, so one SVG serves both schemes.
import type {ReactNode} from 'react';
import {fixed, shorten, tickLabels} from '../lib/format';
import {isConstant, type Look, markerPath} from './looks';

export type {Look} from './looks';

export const WIDTH = 360;

export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface FrameProps {
  /** Unique on the page; ids of title and description are made from it. */
  id: string;
  title: string;
  /** What the chart shows, in a sentence with its figures. */
  desc: string;
  height: number;
  children: ReactNode;
}

/** An SVG with name and description. */
export function Frame({id, title, desc, height, children}: FrameProps): ReactNode {
  return (
    <svg
      className="chart"
      viewBox={`0 0 ${WIDTH} ${height}`}
      width={WIDTH}
      height={height}
      role="img"
      aria-labelledby={`${id}-title ${id}-desc`}
    >
      <title id={`${id}-title`}>{title}</title>
      <desc id={`${id}-desc`}>{desc}</desc>
      {children}
    </svg>
  );
}

export interface Tick {
  at: number;
  label: string;
}

interface Scale {
  (value: number): number;
  ticks(count?: number): number[];
}

/** About `count` evenly spaced ticks; labels are multiplied by `factor`. */
export function evenTicks(scale: Scale, count: number, factor = 1): Tick[] {
  const values = scale.ticks(count);
  const labels = tickLabels(values.map((value) => value * factor));
  return values.map((value, index) => ({at: scale(value), label: labels[index] ?? ''}));
}

/** A tick at each power of ten of a logarithmic axis. */
export function decadeTicks(scale: Scale): Tick[] {
  return scale.ticks().flatMap((value) => {
    const power = Math.round(Math.log10(value));
    return Math.abs(Math.log10(value) - power) < 1e-9 ? [{at: scale(value), label: fixed(value, Math.max(0, -power))}] : [];
  });
}

/** Ticks at 1, 2 and 5 times each power of ten of a logarithmic axis, or at fewer of them where they would be many. */
export function logTicks(scale: Scale & {domain(): number[]}, label: (value: number) => string, most = 7): Tick[] {
  const [low = 1, high = 10] = scale.domain();
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const values: number[] = [];
    for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power += 1) {
      values.push(...steps.map((step) => step * 10 ** power).filter((value) => value >= low * 0.999 && value <= high * 1.001));
    }
    if (values.length <= most || steps.length === 1) return values.map((value) => ({at: scale(value), label: label(value)}));
  }
  return [];
}

/** The marker of a look at a point. */
export function Marker({look, x, y}: {look: Look; x: number; y: number}): ReactNode {
  return isConstant(look) ? null : <path className="marker" transform={`translate(${round(x)} ${round(y)})`} d={markerPath(look)} />;
}

/** Horizontal rules with their labels left of the plot. */
export function YAxis({ticks, box, unit}: {ticks: Tick[]; box: Box; unit: string}): ReactNode {
  return (
    <g className="axis">
      <text className="axis-unit" x={0} y={10}>
        {unit}
      </text>
      {ticks.map(({at, label}) => (
        <g key={label}>
          <line className="grid" x1={box.left} x2={box.right} y1={round(at)} y2={round(at)} />
          <text x={box.left - 6} y={round(at + 4)} textAnchor="end">
            {label}
          </text>
        </g>
      ))}
    </g>
  );
}

/** Tick marks with labels below the plot. */
export function XAxis({ticks, box, unit}: {ticks: Tick[]; box: Box; unit: string}): ReactNode {
  return (
    <g className="axis">
      <line className="baseline" x1={box.left} x2={box.right} y1={box.bottom} y2={box.bottom} />
      {ticks.map(({at, label}) => (
        <g key={label}>
          <line className="tick" x1={round(at)} x2={round(at)} y1={box.bottom} y2={box.bottom + 4} />
          <text x={round(at)} y={box.bottom + 16} textAnchor="middle">
            {label}
          </text>
        </g>
      ))}
      <text className="axis-unit" x={(box.left + box.right) / 2} y={box.bottom + 32} textAnchor="middle">
        {unit}
      </text>
    </g>
  );
}

/** One decimal, a tenth of what can be seen, keeps the SVG small and its golden file stable. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Every trial a dot: one path, since a page has thousands. On a bar they are hollow, so that they can be seen. */
export function Dots({points, isOnBar = false}: {points: {x: number; y: number}[]; isOnBar?: boolean}): ReactNode {
  if (points.length === 0) return null;
  const d = points.map(({x, y}) => `M${round(x)} ${round(y)}h0`).join('');
  return (
    <>
      <path className="trials" d={d} />
      {isOnBar ? <path className="trials-inside" d={d} /> : null}
    </>
  );
}

export interface LabelSpot {
  label: string;
  look: Look;
  /** Where the line ends. */
  x: number;
  y: number;
}

/** Labels beside the ends of their lines, moved apart and led back to them by a thin line. */
export function DirectLabels({ends, box}: {ends: LabelSpot[]; box: Box}): ReactNode {
  return (
    <g>
      {spreadLabels(ends, box.top, box.bottom).map(({label, look, x, y, from}) => (
        <g key={label} className={`series ${look}`}>
          <path className="leader" d={`M${round(x + 3)} ${round(from)}L${box.right + 2} ${round(y)}`} />
          <Marker look={look} x={box.right + 8} y={y} />
          <text className={`direct ${look}`} x={box.right + (isConstant(look) ? 6 : 16)} y={round(y + 4)}>
            {shorten(label, 15)}
          </text>
        </g>
      ))}
    </g>
  );
}

const LINE_HEIGHT = 13;

/** Moves labels apart so that none covers another, in the order of their lines, within the plot. */
export function spreadLabels(labels: LabelSpot[], top: number, bottom: number): (LabelSpot & {from: number})[] {
  const sorted = [...labels].sort((a, b) => a.y - b.y).map((label) => ({...label, from: label.y}));
  let floor = top;
  for (const label of sorted) {
    label.y = Math.max(label.y, floor);
    floor = label.y + LINE_HEIGHT;
  }
  let ceiling = bottom;
  for (const label of [...sorted].reverse()) {
    label.y = Math.min(label.y, ceiling);
    ceiling = label.y - LINE_HEIGHT;
  }
  return sorted;
}
