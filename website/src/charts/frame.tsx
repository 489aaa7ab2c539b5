// What do all charts share: size, titles for those who cannot see them, axes and their ticks?
//
// Charts are small multiples drawn at about the size at which they are read (360 units wide), so that their
// text is as large on a phone as on a wide screen. Colours come from CSS classes, so one SVG serves both schemes.
import type {ReactNode} from 'react';
import {fixed, shorten, tickLabels} from '../lib/format';

export const WIDTH = 360;

/** What a line or bar stands for; sets its colour and dash. */
export type Look = 'ours' | 'ours-limited' | 'ours-host' | 'ours-published' | 'ours-strict' | 'rival' | 'floor' | 'ceiling';

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

/** Two decimals keep the SVG small and its golden file stable. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
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
        <g key={label}>
          <path className="leader" d={`M${round(x + 3)} ${round(from)}L${box.right + 2} ${round(y)}`} />
          <text className={`direct ${look}`} x={box.right + 6} y={round(y + 4)}>
            {shorten(label, 16)}
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
