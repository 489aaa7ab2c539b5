// The course of a long load: windows of one second of throughput, tail, memory and CPU, and the drift from first to last third.
import type {ReactNode} from 'react';
import RateChart from '../../charts/RateChart';
import Chart, {Multiples} from '../../components/Chart';
import ScrollTable from '../../components/ScrollTable';
import type {Run} from '../../generated/records';
import {rowLabel} from '../../lib/figures';
import {decimals, fixed, ratio} from '../../lib/format';
import {measurement, type PageScenario} from '../../lib/record';
import {isInProcess} from '../../lib/regime';
import {windowFigures} from '../../lib/windows';
import {rowWord} from './ClassTables';

const HAIRLINES = 'Each trial a hairline, the median of the trials thick.';

export default function Sustained({record, run}: {record: PageScenario; run: Run}): ReactNode {
  const figures = windowFigures(record, run);
  const drifts = record.cells.filter((cell) => cell.status === 'ok' && measurement(cell, 'drift_ratio'));
  if (figures.length === 0 && drifts.length === 0) return null;
  // A call inside the process has no loop.
  const hasResponseTimes = !isInProcess(run, record) && figures.some(({key}) => key !== 'rss');
  return (
    <>
      <h2 id="windows">Second by second</h2>
      <p className="fine">{hasResponseTimes ? `${HAIRLINES} Response times are those of a closed loop.` : HAIRLINES}</p>
      <Multiples>
        {figures.map(({key, name, label, scale, series, seconds, max}) => (
          <Chart
            key={`${label}-${key}`}
            caption={`${label}: ${name}`}
            name={`${label}: ${name} by second`}
            chart={
              <RateChart
                id={`window-${label.replace(/\W+/g, '-')}-${key}`}
                title={`${label}: ${name} by second`}
                desc={`Over ${fixed(seconds, 0)} s, first and last second in ${scale.unit}: ${series
                  .map(({label: server, points}) => `${server} ${shown(points[0]?.median)} and ${shown(points.at(-1)?.median)}`)
                  .join(', ')}.`}
                series={series}
                xUnit="seconds since the load began"
                yUnit={scale.unit}
                xMax={seconds}
                yMax={max}
              />
            }
            table={{
              head: [rowWord(run, record), ...tenths(seconds).map((second) => `${second} s, ${scale.unit}`)],
              rows: series.map(({label: server, points}) => [
                server,
                ...tenths(seconds).map((second) => shown(points.findLast((point) => point.x <= second + 0.5)?.median)),
              ]),
            }}
          />
        ))}
      </Multiples>
      {drifts.length > 0 ? (
        <>
          <h3>Drift</h3>
          <ScrollTable label="Drift of the throughput, last third of the time against the first">
            <table className="plain numbers">
              <thead>
                <tr>
                  <th scope="col">{rowWord(run, record)}</th>
                  <th scope="col">Last third against first third, throughput</th>
                </tr>
              </thead>
              <tbody>
                {drifts.map((cell) => {
                  const drift = measurement(cell, 'drift_ratio');
                  const text = drift && ratio(drift);
                  return (
                    <tr key={cell.key}>
                      <th scope="row">
                        {rowLabel(cell, run)}, {cell.label}
                      </th>
                      <td>
                        {text?.value}
                        {drift && drift.n > 1 ? (
                          <span className="range">
                            {text?.low}–{text?.high}
                          </span>
                        ) : null}
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </ScrollTable>
        </>
      ) : null}
    </>
  );
}

/** At most six moments at which a table tells where the lines were. */
function tenths(seconds: number): number[] {
  const parts = Math.min(6, Math.max(1, Math.floor(seconds)));
  return Array.from({length: parts}, (_, index) => Math.round(((index + 1) / parts) * seconds));
}

function shown(value: number | undefined): string {
  return value === undefined ? '–' : fixed(value, Math.max(decimals({median: value, low: value, high: value}), 0));
}
