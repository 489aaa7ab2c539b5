// Bars of one metric, a chart per point; a point that would make stubs of the others has an axis of its own.
import type {ReactNode} from 'react';
import BarChart from '../../charts/BarChart';
import type {BarPanel} from '../../lib/figures';
import Chart, {Multiples} from '../Chart';

interface Props {
  panels: BarPanel[];
  /** What the bars are: `throughput`. */
  what: string;
}

export default function Bars({panels, what}: Props): ReactNode {
  const charts = panels.flatMap(({scale, max, figures}, panel) => figures.map((figure) => ({...figure, scale, max, isOutlier: panel > 0})));
  return (
    <Multiples>
      {charts.map(({label, bars, scale, max, isOutlier}, index) => (
        <Chart
          key={label}
          caption={label}
          name={`${label}: ${what}`}
          chart={
            <BarChart
              id={`bars-${what.replaceAll(/\W+/g, '-')}-${index}`}
              title={`${label}: ${what}`}
              desc={`In ${scale.unit || 'number'}: ${bars.map((bar) => `${bar.label} ${bar.text}${bar.note ? ` (${bar.note})` : ''}`).join(', ')}.`}
              bars={bars}
              unit={isOutlier ? `${scale.unit}, another axis` : scale.unit}
              max={max}
            />
          }
        />
      ))}
    </Multiples>
  );
}
