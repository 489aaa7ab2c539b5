// How often does the gate say regression, by the size that was injected? A point per size with its interval. No line joins
// them: what lies between was not measured.
import {scaleLinear} from 'd3-scale';
import type {ReactNode} from 'react';
import {type Box, Frame, WIDTH, XAxis, YAxis, round} from './frame';

export interface DetectionPoint {
  /** What was injected, percent; 0: nothing. */
  percent: number;
  /** On the axis: `5`, or `nothing`. */
  label: string;
  /** Share of gates that said regression, 0 to 1, and the ends of its interval. */
  share: number;
  low: number;
  high: number;
  /** Beside the point: `12/15`. */
  text: string;
}

interface Props {
  id: string;
  title: string;
  desc: string;
  points: DetectionPoint[];
  /** Largest size on the axis that this chart shares with others, percent. */
  max: number;
}

const HEIGHT = 236;
const BOX: Box = {left: 44, right: WIDTH - 4, top: 26, bottom: 196};
/** Half the width of an interval's ends. */
const CAP = 4;
/** Least distance of two ticks, and of two texts beside their points. */
const APART = {tick: 26, text: 40};

export default function DetectionChart({id, title, desc, points, max}: Props): ReactNode {
  const x = scaleLinear([0, max || 1], [BOX.left + 20, BOX.right - 40]);
  const y = scaleLinear([0, 1], [BOX.bottom, BOX.top]).clamp(true);
  const sorted = [...points].sort((a, b) => a.percent - b.percent).map((point) => ({...point, at: x(point.percent)}));
  const told = new Set(spaced(sorted, APART.text));
  return (
    <Frame id={id} title={title} desc={desc} height={HEIGHT}>
      <YAxis ticks={[0, 0.25, 0.5, 0.75, 1].map((share) => ({at: y(share), label: String(share * 100)}))} box={BOX} unit="% of gates that said regression" />
      <XAxis ticks={spaced(sorted, APART.tick)} box={BOX} unit="injected, % of CPU time" />
      {sorted.map((point) => {
        const {percent, share, low, high, text, at} = point;
        const injected = percent !== 0;
        return (
          <g key={percent} className={`series ${injected ? 'ours' : 'rival'}`}>
            <path className="whisker" d={whisker(at, y(low), y(high))} />
            <circle className={injected ? 'point' : 'point hollow'} cx={round(at)} cy={round(y(share))} r={4} />
            {told.has(point) ? (
              <text className={`direct ${injected ? 'ours' : 'rival'}`} x={round(at + 9)} y={round(Math.min(y(share) + 4, BOX.bottom - 5))}>
                {text}
              </text>
            ) : null}
          </g>
        );
      })}
    </Frame>
  );
}

function whisker(at: number, low: number, high: number): string {
  const [left, middle, right] = [round(at - CAP), round(at), round(at + CAP)];
  const [from, to] = [round(low), round(high)];
  return `M${left} ${from}H${right}M${middle} ${from}V${to}M${left} ${to}H${right}`;
}

/** Of neighbours that would run into each other the first stays. */
function spaced<T extends {at: number}>(sorted: T[], apart: number): T[] {
  const kept: T[] = [];
  for (const one of sorted) {
    const last = kept.at(-1);
    if (last === undefined || one.at - last.at >= apart) kept.push(one);
  }
  return kept;
}
