// Which charts does a scenario over the wire have? Throughput along its axis, response times, native against container.
import type {ReactNode} from 'react';
import BarChart from '../../charts/BarChart';
import LineChart from '../../charts/LineChart';
import PercentileChart from '../../charts/PercentileChart';
import Chart, {Multiples} from '../../components/Chart';
import type {Run} from '../../generated/records';
import {
  AXIS_UNITS,
  atPercentile,
  type BarFigure,
  barFigures,
  barMax,
  lineFigures,
  lineMax,
  percentileFigures,
  percentileRange,
  type PercentileFigure,
  scaleOf,
  throughputScale,
} from '../../lib/figures';
import {decimals, fixed} from '../../lib/format';
import {byClass} from '../../lib/parts';
import type {PageScenario} from '../../lib/record';

interface Props {
  record: PageScenario;
  run: Run;
}

export default function WireCharts({record, run}: Props): ReactNode {
  const lines = byClass(record, run, (own, named) => lineFigures(own, run).map((found) => ({...found, common: named(found.common)})));
  const scale = throughputScale(record);
  const labelled = <T extends {label: string}>(figures: (own: PageScenario) => T[]): T[] =>
    byClass(record, run, (own, named) => figures(own).map((found) => ({...found, label: named(found.label)})));
  const bars = labelled((own) => barFigures(own, run, 'ops_per_second', scale));
  const cpuScale = scaleOf(record, 'server_cpu_ns_per_op', 'ns');
  const cpu = labelled((own) => barFigures(own, run, 'server_cpu_ns_per_op', cpuScale));
  const percentiles = labelled((own) => percentileFigures(own, run));
  const contained = record.cells.some((cell) => cell.status === 'ok' && cell.mode !== 'native');
  return (
    <>
      {lines.length > 0 ? <Lines figures={lines} /> : null}
      {bars.length > 0 ? (
        <>
          <h2 id="throughput-by-server">{contained ? 'Native and in a container' : 'Throughput by server'}</h2>
          <p className="fine">
            Throughput, bars from zero; every trial is a dot.{contained ? ' Containers carry the ratio to native in the same run.' : ''}
          </p>
          <Bars figures={bars} what="throughput" unit={scale.unit} />
        </>
      ) : null}
      {percentiles.length > 0 ? <Percentiles figures={percentiles} /> : null}
      {cpu.length > 0 ? (
        <>
          <h2 id="server-cpu">Server CPU time per operation</h2>
          <p className="fine">Less is better. Where the load generator is at its ceiling, this is the figure to compare.</p>
          <Bars figures={cpu} what="server CPU per operation" unit={cpuScale.unit} />
        </>
      ) : null}
    </>
  );
}

function Lines({figures}: {figures: ReturnType<typeof lineFigures>}): ReactNode {
  const yMax = lineMax(figures);
  const axis = figures[0]?.axis ?? 'clients';
  return (
    <>
      <h2 id="throughput">{axis === 'clients' ? 'Throughput against clients' : 'Throughput against pipeline depth'}</h2>
      <Multiples>
        {figures.map(({operation, common, xs, series, scale}, index) => {
          const caption = `${operation.toUpperCase()}${common ? ` ${common}` : ''}`;
          const told = series.map(({label, points}) => {
            const last = points.at(-1);
            return last ? `${label} ${shown(last.median)} at ${last.x}` : '';
          });
          return (
            <Chart
              key={caption}
              caption={caption}
              name={`${caption}: throughput along ${AXIS_UNITS[axis]}`}
              chart={
                <LineChart
                  id={`throughput-${index}`}
                  title={`${caption}: throughput along ${AXIS_UNITS[axis]}`}
                  desc={`In ${scale.unit}: ${told.filter(Boolean).join(', ')}.`}
                  series={series}
                  xs={xs}
                  xUnit={AXIS_UNITS[axis]}
                  yUnit={scale.unit}
                  yMax={yMax}
                />
              }
              table={{
                head: ['Server', ...xs.map((x) => `${x} ${axis === 'clients' ? 'clients' : 'deep'}, ${scale.unit}`)],
                rows: series.map(({label, points}) => [label, ...xs.map((x) => shown(points.find((p) => p.x === x)?.median))]),
              }}
            />
          );
        })}
      </Multiples>
    </>
  );
}

/** Bars of one metric, one chart per point. */
export function Bars({figures, what, unit}: {figures: BarFigure[]; what: string; unit: string}): ReactNode {
  const max = barMax(figures);
  return (
    <Multiples>
      {figures.map(({label, bars}, index) => (
        <Chart
          key={label}
          caption={label}
          name={`${label}: ${what}`}
          chart={
            <BarChart
              id={`bars-${what.replaceAll(' ', '-')}-${index}`}
              title={`${label}: ${what}`}
              desc={`In ${unit}: ${bars.map((bar) => `${bar.label} ${bar.text}${bar.note ? ` (${bar.note})` : ''}`).join(', ')}.`}
              bars={bars}
              unit={unit}
              max={max}
            />
          }
          table={{
            head: ['Server', `Median, ${unit}`, 'To native', `Trials, ${unit}`],
            rows: bars.map((bar) => [bar.label, bar.text, bar.note ?? '', bar.trials.map(shown).join(', ')]),
          }}
        />
      ))}
    </Multiples>
  );
}

const TABLE_PERCENTILES = [50, 90, 95, 99, 99.9, 99.99];

function Percentiles({figures}: {figures: PercentileFigure[]}): ReactNode {
  const range = percentileRange(figures);
  return (
    <>
      <h2 id="response-times">Response time under closed loop</h2>
      <p className="fine">
        Lines: merged histograms of all trials. Dots: percentiles of single trials. All charts share their axes; the axis of percentiles stretches
        towards the slowest replies.
      </p>
      <Multiples>
        {figures.map(({label, series}, index) => (
          <Chart
            key={label}
            caption={label}
            name={`${label}: response time`}
            chart={
              <PercentileChart
                id={`percentiles-${index}`}
                title={`${label}: response time under closed loop by percentile`}
                desc={`Medians and 99th percentiles in µs: ${series
                  .map((s) => `${s.label} ${shown(atPercentile(s, 50))} and ${shown(atPercentile(s, 99))}`)
                  .join(', ')}.`}
                series={series}
                {...range}
              />
            }
            table={{
              head: ['Server', ...TABLE_PERCENTILES.map((p) => `p${p}, µs`)],
              rows: series.map((s) => [s.label, ...TABLE_PERCENTILES.map((p) => shown(atPercentile(s, p)))]),
            }}
          />
        ))}
      </Multiples>
    </>
  );
}

function shown(value: number | undefined): string {
  return value === undefined ? '–' : fixed(value, Math.max(decimals({median: value, low: value, high: value}), 0));
}
