// Tables that follow from the ratios of a scenario: the container ladder, switches, adjacent client counts with their
// plateau, and how much a longer run differs from a shorter one.
import type {ReactNode} from 'react';
import RatioChart from '../../charts/RatioChart';
import Chart, {Multiples} from '../../components/Chart';
import RatioTable from '../../components/RatioTable';
import ScrollTable from '../../components/ScrollTable';
import type {Mode, Run} from '../../generated/records';
import {compared, type Compared, ladder, PLATEAU_GAIN, plateaus, ratioTable, withoutClients} from '../../lib/derived';
import {lookOf, rowLabel} from '../../lib/figures';
import {percent, ratio as ratioText} from '../../lib/format';
import {MODES, type PageScenario} from '../../lib/record';
import {rowWord} from './ClassTables';

interface Props {
  record: PageScenario;
  run: Run;
}

/** What each step of the ladder adds to the one before. */
const STEPS: Partial<Record<Mode, string>> = {
  native_limited: 'the limits of a control group',
  container_host: 'the container on the host’s network',
  container_published: 'its published port',
  container_no_io_uring: 'a seccomp profile without io_uring',
};

const COSTS = ['ops_per_second', 'latency_ns_p50', 'latency_ns_p99', 'server_cpu_ns_per_op'];

export default function Derived({record, run}: Props): ReactNode {
  const steps = ladder(record, run);
  const modes = new Set(record.cells.filter(({status}) => status === 'ok').map(({mode}) => mode));
  const climbs = modes.size > 1;
  const laddered = climbs && modes.has('native_limited') ? MODES.flatMap((mode) => (modes.has(mode) && STEPS[mode] ? [STEPS[mode]] : [])).join(', ') : '';
  const switches = ratioTable(record, 'variant', [...COSTS, 'rss_bytes_peak', 'rss_bytes_per_key'], ({numerator}) => ({
    group: withoutVariant(numerator),
    row: `${rowLabel(numerator, run)}: ${numerator.axes.variant ?? 'switched'} against without`,
  }));
  const adjacent = ratioTable(record, 'adjacent', COSTS, ({numerator, denominator}) => ({
    group: `${withoutClients(numerator.label)}, ${rowLabel(numerator, run)}`,
    row: `${numerator.axes.clients ?? '?'} clients against ${denominator.axes.clients ?? '?'}`,
    rank: numerator.axes.clients ?? 0,
  }));
  const stability = ratioTable(record, 'stability', COSTS, ({numerator, denominator}) => ({
    group: numerator.label.replace(/, [\d.]+[kM]? requests/, ''),
    row: `${rowLabel(numerator, run)}: ${requests(numerator)} against ${requests(denominator)}`,
  }));
  return (
    <>
      {climbs && steps.groups.length > 0 ? (
        <>
          <h2 id="ladder">Each step against native</h2>
          <p className="fine">
            The same program file in every row, measured in the same run{laddered ? `. From step to step one thing changes: ${laddered}` : ''}.
          </p>
          <RatioCharts record={record} run={run} />
          <RatioTable table={steps} caption={`${record.scenario.title}: each way of running against native`} first="Ratio to native" />
        </>
      ) : null}
      {switches.groups.length > 0 ? (
        <>
          <h2 id="switches">One switch, same program</h2>
          <RatioTable table={switches} caption={`${record.scenario.title}: ratio with the switch to without`} first="Ratio" />
        </>
      ) : null}
      {adjacent.groups.length > 0 ? (
        <>
          <h2 id="adjacent">From one client count to the next</h2>
          <RatioTable table={adjacent} caption={`${record.scenario.title}: more clients against the next fewer`} first="Ratio" />
          <Plateaus record={record} run={run} />
        </>
      ) : null}
      {stability.groups.length > 0 ? (
        <>
          <h2 id="stability">Does a longer run say the same?</h2>
          <RatioTable table={stability} caption={`${record.scenario.title}: the longer request count against the shorter`} first="Ratio" />
        </>
      ) : null}
    </>
  );
}

/** Throughput of every step as a ratio to native, one chart per point. */
function RatioCharts({record, run}: Props): ReactNode {
  const pairs = compared(record, 'overhead').filter(({ratio}) => ratio.metric === 'ops_per_second' || ratio.metric === 'startup_ms');
  // A single step is in the table below.
  const points = [...new Set(pairs.map(pointOf))].filter((point) => pairs.filter((pair) => pointOf(pair) === point).length > 1);
  const ends = pairs.flatMap(({ratio}) => [ratio.low, ratio.high]).filter((value) => value > 0);
  if (ends.length === 0 || points.length === 0) return null;
  const [min, max] = [Math.min(0.8, ...ends) * 0.95, Math.max(1.25, ...ends) * 1.05];
  return (
    <Multiples>
      {points.map((point, index) => {
        const own = pairs.filter((pair) => pointOf(pair) === point);
        const what = own[0]?.ratio.metric === 'startup_ms' ? 'start' : 'throughput';
        const rows = own.map(({ratio, numerator}) => ({
          label: rowLabel(numerator, run),
          look: lookOf(numerator, run),
          median: ratio.median,
          low: ratio.low,
          high: ratio.high,
          text: ratioText(ratio).value,
        }));
        return (
          <Chart
            key={point}
            caption={`${point}: ${what} to native`}
            name={`${point}: ratio of the ${what} to native`}
            chart={
              <RatioChart
                id={`ladder-${index}`}
                title={`${point}: ratio of the ${what} to native`}
                desc={rows.map((row) => `${row.label} ${row.text}`).join(', ')}
                rows={rows}
                min={min}
                max={max}
              />
            }
            table={{
              head: ['Step', 'Ratio', 'From', 'To', 'Pairs'],
              rows: own.map(({ratio, numerator}) => {
                const text = ratioText(ratio);
                return [rowLabel(numerator, run), text.value, text.low, text.high, String(ratio.n)];
              }),
            }}
          />
        );
      })}
    </Multiples>
  );
}

function Plateaus({record, run}: Props): ReactNode {
  const found = plateaus(record, run);
  if (found.length === 0) return null;
  return (
    <>
      <h3>Where throughput stops growing</h3>
      <ScrollTable label="Plateau by server and load">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{rowWord(run, record)}</th>
              <th scope="col">Load</th>
              <th scope="col">From</th>
              <th scope="col">Measured up to</th>
            </tr>
          </thead>
          <tbody>
            {found.map(({server, load, from, upTo}) => (
              <tr key={`${server}-${load}`}>
                <th scope="row">{server}</th>
                <td>{load}</td>
                <td>{from} clients</td>
                <td>{upTo} clients</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
      <p className="fine">
        From that count on no measured step brought {percent(PLATEAU_GAIN - 1)} more operations per second, by the median ratio. A server that is not
        listed still grew at the last step.
      </p>
    </>
  );
}

function pointOf({numerator}: Compared): string {
  return numerator.placement === 'together' ? `${numerator.label}, on one CPU` : numerator.label;
}

function withoutVariant({label, axes}: Compared['numerator']): string {
  return axes.variant ? label.replace(`, ${axes.variant}`, '') : label;
}

function requests({axes, label}: Compared['numerator']): string {
  return /[\d.]+[kM]? requests/.exec(label)?.[0] ?? `${axes.requests ?? '?'} requests`;
}
