// Charts of throughput and times: lines along clients or depth, bars by point, percentiles, CPU per operation.
import type {ReactNode} from 'react';
import LineChart from '../../charts/LineChart';
import PercentileChart from '../../charts/PercentileChart';
import Bars from '../../components/Bars';
import Chart, {Multiples} from '../../components/Chart';
import type {Run} from '../../generated/records';
import {
  AXIS_UNITS,
  atPercentile,
  barPanels,
  beyondCeiling,
  lineFigures,
  lineMax,
  percentileFigures,
  percentileRange,
  type PercentileFigure,
  sharesAxis,
} from '../../lib/figures';
import {decimals, fixed, latencyLabel} from '../../lib/format';
import type {ShortLabels} from '../../lib/labels';
import {timesHead} from '../../lib/metrics';
import {byClass} from '../../lib/parts';
import type {PageScenario} from '../../lib/record';
import {isInProcess} from '../../lib/regime';

export interface ChartProps {
  record: PageScenario;
  run: Run;
  labels: ShortLabels;
}

/** More charts of one kind than these are folded: the tables above have all of their figures. */
const MOST_UNFOLDED = 9;

export default function WireCharts({record, run, labels}: ChartProps): ReactNode {
  const lines = byClass(record, run, (own, named) => lineFigures(own, run).map((found) => ({...found, common: named(found.common)})));
  const bars = barPanels(record, run, 'ops_per_second', '1/s', labels);
  const isEngine = isInProcess(run, record);
  // Of one thread in a process the CPU time is the time itself.
  const cpu = isEngine ? [] : barPanels(record, run, 'server_cpu_ns_per_op', 'ns', labels);
  const percentiles = byClass(record, run, (own, named) => percentileFigures(own, run).map((found) => ({...found, label: named(labels.short(found.label))})));
  const contained = record.cells.some((cell) => cell.status === 'ok' && cell.mode !== 'native');
  return (
    <>
      {lines.length > 0 ? <Lines figures={lines} /> : null}
      {bars.length > 0 ? (
        <>
          <h2 id="throughput-by-server">{contained ? 'Native and in a container' : `Throughput by ${isEngine ? 'engine' : 'server'}`}</h2>
          <p className="fine">
            Throughput, bars from zero; every trial is a dot.{contained ? ' Containers carry the ratio to native in the same run.' : ''} <Ceiling record={record} run={run} />
          </p>
          <Folding number={bars.reduce((sum, {figures}) => sum + figures.length, 0)} of="throughput">
            <Bars panels={bars} what="throughput" />
          </Folding>
        </>
      ) : null}
      {percentiles.length > 0 ? <Percentiles figures={percentiles} title={timesHead(record)} /> : null}
      {cpu.length > 0 ? (
        <>
          <h2 id="server-cpu">Server CPU time per operation</h2>
          <p className="fine">Less is better. Where the load generator is at its limit, this is the figure to compare.</p>
          <Folding number={cpu.reduce((sum, {figures}) => sum + figures.length, 0)} of="server CPU per operation">
            <Bars panels={cpu} what="server CPU per operation" />
          </Folding>
        </>
      ) : null}
    </>
  );
}

/** Folds many charts of one kind away. */
function Folding({number, of, children}: {number: number; of: string; children: ReactNode}): ReactNode {
  if (number <= MOST_UNFOLDED) return children;
  return (
    <details className="fold">
      <summary>
        {number} charts of {of}
      </summary>
      {children}
    </details>
  );
}

/** Why a bar can be longer than that of the server which only answers. */
function Ceiling({record, run}: Omit<ChartProps, 'labels'>): ReactNode {
  const beyond = beyondCeiling(record, run);
  if (beyond.length === 0) return null;
  return `The dashed ceiling is one program, over epoll, that parses a request and answers a constant. It shows how fast the load generator goes with that program, not a law: ${beyond.join(' and ')} answered more, because how replies arrive, one by one or in groups, changes what each costs the generator.`;
}

function Lines({figures}: {figures: ReturnType<typeof lineFigures>}): ReactNode {
  const yMax = lineMax(figures);
  const axis = figures[0]?.axis ?? 'clients';
  return (
    <>
      <h2 id="throughput">{axis === 'clients' ? 'Throughput against clients' : 'Throughput against pipeline depth'}</h2>
      <Multiples>
        {figures.map(({operation, common, xs, series, scale}, index) => {
          const caption = `${operation.replaceAll('_', ' ').toUpperCase()}${common ? ` ${common}` : ''}`;
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
            />
          );
        })}
      </Multiples>
    </>
  );
}

function Percentiles({figures, title}: {figures: PercentileFigure[]; title: string}): ReactNode {
  const isShared = sharesAxis(figures);
  const shared = percentileRange(figures);
  return (
    <>
      <h2 id="response-times">{title}</h2>
      <p className="fine">
        Lines: merged histograms of all trials. Dots: percentiles of single trials. {isShared ? 'All charts share their axes' : 'Each chart has an axis of its own'}; the axis
        of percentiles stretches towards the slowest.
      </p>
      <Folding number={figures.length} of={title.toLowerCase()}>
        <Multiples>
          {figures.map((figure, index) => (
            <Chart
              key={figure.label}
              caption={figure.label}
              name={`${figure.label}: ${title.toLowerCase()}`}
              chart={
                <PercentileChart
                  id={`percentiles-${index}`}
                  title={`${figure.label}: ${title.toLowerCase()} by percentile`}
                  desc={`Medians and 99th percentiles: ${figure.series.map((s) => `${s.label} ${latency(atPercentile(s, 50))} and ${latency(atPercentile(s, 99))}`).join(', ')}.`}
                  series={figure.series}
                  {...(isShared ? shared : percentileRange([figure]))}
                />
              }
            />
          ))}
        </Multiples>
      </Folding>
    </>
  );
}

function latency(us: number | undefined): string {
  return us === undefined ? '–' : latencyLabel(us);
}

function shown(value: number | undefined): string {
  return value === undefined ? '–' : fixed(value, Math.max(decimals({median: value, low: value, high: value}), 0));
}
