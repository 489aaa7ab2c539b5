// A percentile chart: how long replies took, from the median to the slowest. The axis stretches towards the tail.
import {scaleLinear, scaleLog} from 'd3-scale';
import {line} from 'd3-shape';
import type {ReactNode} from 'react';
import {latencyLabel} from '../lib/format';
import {LAST_PERCENTILE} from '../lib/metrics';
import {type Box, DirectLabels, Dots, Frame, type Look, XAxis, YAxis, logTicks, round} from './frame';

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
const BOX: Box = {left: 52, right: 246, top: 24, bottom: 196};
/** Below the median nothing is drawn: the axis has its room for the tail. */
const FIRST_PERCENTILE = 50;
const TICKS = [FIRST_PERCENTILE, 90, 99, 99.9, 99.99];

const nines = (percentile: number) => -Math.log10(1 - Math.min(percentile, LAST_PERCENTILE) / 100);

export default function PercentileChart({id, title, desc, series, minUs, maxUs}: Props): ReactNode {
  const x = scaleLinear([nines(FIRST_PERCENTILE), nines(LAST_PERCENTILE)], [BOX.left + 8, BOX.right - 6]);
  const y = scaleLog([minUs, maxUs], [BOX.bottom, BOX.top]);
  const [low = minUs] = y.domain();
  const path = line<{percentile: number; us: number}>((p) => round(x(nines(p.percentile))), (p) => round(y(Math.max(p.us, low))));
  const drawn = series.map((entry) => ({...entry, points: entry.points.filter((p) => p.percentile >= FIRST_PERCENTILE && p.percentile <= LAST_PERCENTILE)}));
  const ends = drawn.flatMap(({label, look, points}) => {
    const last = points.at(-1);
    return last ? [{label, look, x: x(nines(last.percentile)), y: y(Math.max(last.us, low))}] : [];
  });
  return (
    <Frame id={id} title={title} desc={desc} height={HEIGHT}>
      <YAxis ticks={logTicks(y, latencyLabel)} box={BOX} unit="logarithmic" />
      <XAxis
        ticks={TICKS.map((percentile) => ({at: x(nines(percentile)), label: `p${percentile}`}))}
        box={BOX}
        unit="percentile"
      />
      {[...drawn].reverse().map(({label, look, points, trials}) => (
        <g key={label} className={`series ${look}`}>
          <Dots points={trials.map(({percentile, us}) => ({x: x(nines(percentile)), y: y(Math.max(us, low))}))} />
          <path className="median" d={path(points) ?? ''} />
        </g>
      ))}
      <DirectLabels ends={ends} box={BOX} />
    </Frame>
  );
}
