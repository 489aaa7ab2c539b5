// Open loops of a scenario: a table per question where all servers have one rate, charts over the rates where there are more.
import type {ReactNode} from 'react';
import RateChart, {type LineSeries} from '../../charts/RateChart';
import Capacity from '../../components/Capacity';
import Chart, {Multiples} from '../../components/Chart';
import FigureTable from '../../components/FigureTable';
import type {Run} from '../../generated/records';
import {knees} from '../../lib/derived';
import {rowLabel} from '../../lib/figures';
import {decimals, fixed, scaleFor} from '../../lib/format';
import {type RateGroup, rateGroups, rateSeries} from '../../lib/openloop';
import {grids, isAtOneRate, rateTable} from '../../lib/ratetable';
import {keepsNothing, type PageScenario} from '../../lib/record';
import {spreadNote} from '../../lib/tables';

const PERCENTILES = [
  {metric: 'latency_ns_p50', name: 'p50'},
  {metric: 'latency_ns_p99', name: 'p99'},
  {metric: 'latency_ns_p999', name: 'p99.9'},
];

export default function OpenLoop({record, run}: {record: PageScenario; run: Run}): ReactNode {
  const groups = rateGroups(record, run);
  const capacity = knees(record).filter(({cell}) => !keepsNothing(run, cell.target));
  if (groups.length === 0) return null;
  return (
    <>
      <h2 id="open-loop">Latency at a given rate</h2>
      <p className="fine">
        Open loop: requests start when they are due, whether or not earlier ones were answered, and latency counts from that intended start. A
        triangle marks the knee: the highest rate at which 99 of 100 requests are answered within a millisecond, none is skipped and as many are
        answered as are offered.
      </p>
      {isAtOneRate(groups) ? (
        <Grids record={record} run={run} />
      ) : (
        groups.map((group, index) => <RateCharts key={group.label} group={group} run={run} index={index} />)
      )}
      <Rates groups={groups} record={record} run={run} isFolded={isAtOneRate(groups)} />
      {capacity.length > 0 ? (
        <>
          <h2 id="capacity">What the knee is enough for</h2>
          <p className="fine">
            Users that a measured knee serves, by how much of it is used and how often each user asks. Counted from the lower end of the knee’s
            spread on this machine, over loopback, with this load; no rate beyond the knee is used.
          </p>
          <Capacity
            label={record.scenario.title}
            rows={capacity.map(({cell, low}) => ({server: `${rowLabel(cell, run)}, ${cell.label.replace(/, knee$/, '')}`, kneePerSecond: low}))}
          />
        </>
      ) : null}
    </>
  );
}

function Grids({record, run}: {record: PageScenario; run: Run}): ReactNode {
  return grids(record, run).map(({metric, question, table}) => (
    <div key={metric}>
      <h3>{question}</h3>
      <FigureTable table={table} caption={`${record.scenario.title}: ${question}`} first="Load" note={spreadNote(table, 'server process')} />
    </div>
  ));
}

function Rates({groups, record, run, isFolded}: {groups: RateGroup[]; record: PageScenario; run: Run; isFolded: boolean}): ReactNode {
  const table = rateTable(groups, run);
  const note = `${spreadNote(table, 'server process')} Skipped: due, and never sent since the bound on requests in flight was reached.`;
  const shownTable = <FigureTable table={table} caption={`${record.scenario.title}: offered, achieved and skipped, with latency from the intended start`} first="Rate" note={note} />;
  if (!isFolded) return shownTable;
  return (
    <details className="fold">
      <summary>Offered, achieved and skipped, server by server</summary>
      {shownTable}
    </details>
  );
}

function RateCharts({group, run, index}: {group: RateGroup; run: Run; index: number}): ReactNode {
  const figures = PERCENTILES.map(({metric, name}) => ({name, series: rateSeries(group, run, metric)})).filter(({series}) => series.length > 0);
  const values = figures.flatMap(({series}) => series.flatMap(({points}) => points.flatMap((point) => [point.median, ...point.trials]))).filter((us) => us > 0);
  // One rate is no line.
  const rates = new Set(figures.flatMap(({series}) => series.flatMap(({points}) => points.map(({x}) => Math.round(x)))));
  if (values.length === 0 || rates.size < 2) return null;
  const [yMin, yMax] = [Math.min(...values) / 1.15, Math.max(...values) * 1.15];
  const xMax = Math.max(...figures.flatMap(({series}) => series.flatMap(({points, knee = 0}) => [knee, ...points.map((point) => point.x)])));
  const scale = scaleFor('1/s', xMax);
  return (
    <Multiples>
      {figures.map(({name, series}) => {
        const about = `${group.label}: ${name} from the intended start, over the offered rate`;
        return (
          <Chart
            key={name}
            caption={`${group.label}: ${name}`}
            name={about}
            chart={
              <RateChart
                id={`rate-${index}-${name.replace('.', '')}`}
                title={about}
                desc={`At the highest rate offered, in µs: ${series.map(({label, points}) => `${label} ${shown(points.at(-1)?.median)}`).join(', ')}.${kneeText(series, scale.factor, scale.unit)}`}
                series={series}
                xUnit={`offered, ${scale.unit}`}
                yUnit="logarithmic"
                xFactor={scale.factor}
                xMax={xMax * 1.02}
                yMin={yMin}
                yMax={yMax}
              />
            }
            table={{
              head: ['Server', 'Offered and latency: ' + `${scale.unit} → µs`],
              rows: series.map(({label, points}) => [label, points.map((point) => `${shown(point.x * scale.factor)} → ${shown(point.median)}`).join('; ')]),
            }}
          />
        );
      })}
    </Multiples>
  );
}

function kneeText(series: LineSeries[], factor: number, unit: string): string {
  const told = series.flatMap(({label, knee}) => (knee === undefined ? [] : [`${label} ${shown(knee * factor)}`]));
  return told.length > 0 ? ` Knee, in ${unit}: ${told.join(', ')}.` : '';
}

function shown(value: number | undefined): string {
  return value === undefined ? '–' : fixed(value, Math.max(decimals({median: value, low: value, high: value}), 0));
}
