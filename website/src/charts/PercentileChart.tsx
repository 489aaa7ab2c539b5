// How long did replies take, from the typical to the slowest? The axis stretches towards the tail.
import {scaleLinear, scaleLog} from 'd3-scale';
import {line} from 'd3-shape';
import type {ReactNode} from 'react';
import {LAST_PERCENTILE} from '../lib/metrics';
import {type Box, DirectLabels, Frame, type Look, XAxis, YAxis, decadeTicks, round} from './frame';

export interface PercentileSeries {
  label: string;
  look: Look;
  /** Of the merged histograms of all trials. */
  points: {percentile: number; us: number}[];
  /** Percentiles of the single trials. */
  trials: {percentile: number; us: number}[];
}

interface Props {
  id: string;
  title: string;
  desc: string;
  series: PercentileSeries[];
  /** Ends of the shared logarithmic axis, µs. */
  minUs: number;
  maxUs: number;
}

const HEIGHT = 240;
const BOX: Box = {left: 52, right: 262, top: 24, bottom: 196};
const TICKS = [0, 90, 99, 99.9, 99.99];

const nines = (percentile: number) => -Math.log10(1 - Math.min(percentile, LAST_PERCENTILE) / 100);

export default function PercentileChart({id, title, desc, series, minUs, maxUs}: Props): ReactNode {
  const x = scaleLinear([0, nines(LAST_PERCENTILE)], [BOX.left + 4, BOX.right - 6]);
  const y = scaleLog([minUs, maxUs], [BOX.bottom, BOX.top]).nice();
  const [low = minUs] = y.domain();
  const path = line<{percentile: number; us: number}>((p) => round(x(nines(p.percentile))), (p) => round(y(Math.max(p.us, low))));
  const drawn = series.map((entry) => ({...entry, points: entry.points.filter((p) => p.percentile <= LAST_PERCENTILE)}));
  const ends = drawn.flatMap(({label, look, points}) => {
    const last = points.at(-1);
    return last ? [{label, look, x: x(nines(last.percentile)), y: y(Math.max(last.us, low))}] : [];
  });
  return (
    <Frame id={id} title={title} desc={desc} height={HEIGHT}>
      <YAxis ticks={decadeTicks(y)} box={BOX} unit="µs, logarithmic" />
      <XAxis
        ticks={TICKS.map((percentile) => ({at: x(nines(percentile)), label: percentile === 0 ? 'min' : `p${percentile}`}))}
        box={BOX}
        unit="share of replies answered by then"
      />
      {[...drawn].reverse().map(({label, look, points, trials}) => (
        <g key={label} className={`series ${look}`}>
          {trials.map(({percentile, us}, index) => (
            <circle key={index} className="trial" cx={round(x(nines(percentile)))} cy={round(y(Math.max(us, low)))} r={2} />
          ))}
          <path className="median" d={path(points) ?? ''} />
        </g>
      ))}
      <DirectLabels ends={ends} box={BOX} />
    </Frame>
  );
}
