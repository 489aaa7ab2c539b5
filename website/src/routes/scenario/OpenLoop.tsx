// What does the open loop show? Latency from the intended start over the offered rate, the knee, and what was left undone.
import type {ReactNode} from 'react';
import RateChart, {type LineSeries} from '../../charts/RateChart';
import Capacity from '../../components/Capacity';
import Chart, {Multiples} from '../../components/Chart';
import ScrollTable from '../../components/ScrollTable';
import type {Measurement, Run} from '../../generated/records';
import {knees} from '../../lib/derived';
import {rowLabel} from '../../lib/figures';
import {count, decimals, figure, fixed, percent, scaleFor} from '../../lib/format';
import {achieved, offered, type RateGroup, rateGroups, rateSeries, undone} from '../../lib/openloop';
import {generatorAtCeiling, keepsNothing, measurement, type PageCell, type PageScenario} from '../../lib/record';

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
      {groups.map((group, index) => (
        <RateCharts key={group.label} group={group} run={run} index={index} />
      ))}
      {groups.map((group) => (
        <RateTable key={group.label} group={group} run={run} />
      ))}
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

function RateCharts({group, run, index}: {group: RateGroup; run: Run; index: number}): ReactNode {
  const figures = PERCENTILES.map(({metric, name}) => ({name, series: rateSeries(group, run, metric)})).filter(({series}) => series.length > 0);
  const values = figures.flatMap(({series}) => series.flatMap(({points}) => points.flatMap((point) => [point.median, ...point.trials]))).filter((us) => us > 0);
  if (values.length === 0) return null;
  const yMin = 10 ** Math.floor(Math.log10(Math.min(...values)));
  const yMax = 10 ** Math.ceil(Math.log10(Math.max(...values)));
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
                yUnit="µs, logarithmic"
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

function RateTable({group, run}: {group: RateGroup; run: Run}): ReactNode {
  const caption = `${group.label}: offered, achieved and skipped, with latency from the intended start`;
  return (
    <>
      <ScrollTable label={caption}>
        <table className="plain numbers">
          <caption className="hidden">{caption}</caption>
          <thead>
            <tr>
              <th scope="col">{group.label}</th>
              {['Offered, 1/s', 'Achieved, 1/s', 'Skipped', 'Most in flight', 'Generator late by, µs', 'p50, µs', 'p99, µs', 'p99.9, µs', 'Server CPU per op, µs'].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          {group.lines.map(({id, cells, knee, peak}) => (
            <tbody key={id}>
              <tr>
                <th className="group" scope="rowgroup" colSpan={10}>
                  {cells[0] ? rowLabel(cells[0], run) : id}
                </th>
              </tr>
              {cells.map((cell) => (
                <RateRow key={cell.key} label={rateLabel(cell)} cell={cell} />
              ))}
              {knee ? <RateRow label="Knee" cell={knee} rate={measurement(knee, 'knee_per_second')} /> : null}
              {peak ? <RateRow label="Closed-loop peak: response time under closed loop" cell={peak} rate={measurement(peak, 'ops_per_second')} closed /> : null}
            </tbody>
          ))}
        </table>
      </ScrollTable>
      <p className="fine">
        Skipped: due, and never sent since the bound on requests in flight was reached. * The load generator was more than 95 % busy: latency there is
        partly its own.
      </p>
    </>
  );
}

function RateRow({label, cell, rate, closed = false}: {label: string; cell: PageCell; rate?: Measurement | undefined; closed?: boolean}): ReactNode {
  const {due, skipped, inFlightMax, inFlightBound, sendDelayNsMax} = undone(cell);
  const open = due > 0;
  const got = closed ? rate : achieved(cell);
  return (
    <tr>
      <th scope="row">
        {label}
        {generatorAtCeiling(cell) ? '*' : ''}
      </th>
      <td>{closed ? '·' : count(Math.round(rate?.median ?? offered(cell)))}</td>
      <td>{got ? count(Math.round(got.median)) : '·'}</td>
      <td>{open ? (skipped > 0 ? percent(skipped / due, 2) : 'none') : '·'}</td>
      <td>{open ? `${count(inFlightMax)} of ${count(inFlightBound)}` : '·'}</td>
      <td>{open ? shown(sendDelayNsMax / 1000) : '·'}</td>
      {[...PERCENTILES.map(({metric}) => metric), 'server_cpu_ns_per_op'].map((metric) => (
        <td key={metric}>
          <Spread found={measurement(cell, metric)} />
        </td>
      ))}
    </tr>
  );
}

function Spread({found}: {found: Measurement | undefined}): ReactNode {
  if (!found) return '·';
  const {value, low, high} = figure(found, {unit: 'µs', factor: 1e-3});
  return (
    <>
      {value}
      {found.n > 1 ? (
        <span className="range">
          {low}–{high}
        </span>
      ) : null}
    </>
  );
}

function rateLabel({axes}: PageCell): string {
  const spaced = axes.arrival === 'fixed' ? 'evenly spaced' : axes.arrival === 'poisson' ? 'Poisson' : (axes.arrival ?? '');
  if (axes.rate_percent_of_slowest !== undefined) return [`${axes.rate_percent_of_slowest} % of the slowest's peak`, spaced].filter(Boolean).join(', ');
  return [axes.rate_percent === undefined ? 'given rate' : `${axes.rate_percent} % of its peak`, spaced].filter(Boolean).join(', ');
}

function shown(value: number | undefined): string {
  return value === undefined ? '–' : fixed(value, Math.max(decimals({median: value, low: value, high: value}), 0));
}
