// Components page: criterion's estimates of single parts, ours in one table, then beside like parts of other libraries.
import type {ReactNode} from 'react';
import type {Place} from '../../plugins/benchmarks/routes';
import BarChart from '../charts/BarChart';
import Chart, {Multiples} from '../components/Chart';
import Environment from '../components/Environment';
import Page from '../components/Page';
import RawData from '../components/RawData';
import Reproduce from '../components/Reproduce';
import ScrollTable from '../components/ScrollTable';
import type {Component, Run} from '../generated/records';
import {groupTitle, operationOf, overviewRows, partFigures, partRows, sizeOf} from '../lib/components';
import {count, type Figure} from '../lib/format';
import {bandwidth, componentFigure} from '../lib/tables';

export default function Components({run, place}: {run: Run; place: Place}): ReactNode {
  const home = `/benchmarks/${place.version}/${place.machineKey}/`;
  const groups = [...new Set(run.components.map(({group}) => group))];
  return (
    <Page
      title="Components"
      description={`Criterion's estimates of the parts of PlumbKV ${place.version} on ${place.machineKey}.`}
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: `${place.version} on ${place.machineKey}`, href: home}, {label: 'components'}]}
      place={place}
      scenario="components"
    >
      <p className="lead">
        One part in a loop of its own, its data warm in the caches: a floor for what the part costs inside the product, not a promise of what a request costs.
      </p>
      <p className="fine">
        Each is of one process, so no verdict is passed. Large: criterion’s slope (mean where it has none), CPU time of the one thread that does the work. Small:
        criterion’s 95 % interval over the samples of that process.
      </p>
      <h2 id="overview">Our parts</h2>
      <Overview groups={groups} components={run.components} />
      <h2 id="beside">Beside other libraries</h2>
      <p className="fine">
        Ours to theirs is our time over that of the library, in the same process on the same inputs: below 1 ours takes less. Its small figures put the ends of both
        intervals against each other, so they are wider than 95 %. Allocations are calls of the allocator, counted over 10,000 operations.
      </p>
      {groups.map((group) => (
        <Group key={group} group={group} components={run.components.filter((component) => component.group === group)} />
      ))}
      <h2 id="environment">Environment</h2>
      <Environment run={run} />
      <h2 id="reproduce">Make these figures again</h2>
      <Reproduce run={run} />
      <h2 id="raw">Raw data</h2>
      <RawData files={place.raw} />
    </Page>
  );
}

/** Every part of ours, with few entries and with many. */
function Overview({groups, components}: {groups: string[]; components: Component[]}): ReactNode {
  return (
    <ScrollTable label="Our parts: time per operation and allocations" isWide>
      <table className="plain numbers">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Fewest entries, ns</th>
            <th scope="col">Most entries, ns</th>
            <th scope="col">Allocations</th>
          </tr>
        </thead>
        {groups.map((group) => (
          <tbody key={group}>
            <tr>
              <th className="group" scope="rowgroup" colSpan={4}>
                {groupTitle(group)}
              </th>
            </tr>
            {overviewRows(components.filter((component) => component.group === group)).map(({operation, entries, small, large, allocations}) => (
              <tr key={operation}>
                <th scope="row">
                  {operation}
                  {entries ? <span className="range">{entries} entries</span> : null}
                </th>
                <Time figure={small} />
                {large ? <Time figure={large} /> : <td>–</td>}
                <td>{allocations ?? '–'}</td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </ScrollTable>
  );
}

function Time({figure: {value, low, high}}: {figure: Figure}): ReactNode {
  return (
    <td>
      {value}
      <span className="range">
        {low}–{high}
      </span>
    </td>
  );
}

/** Charts and the table of a group that has counterparts; sizes and speeds of one that handles bytes. */
function Group({group, components}: {group: string; components: Component[]}): ReactNode {
  const figures = partFigures(components);
  const isOfBytes = components.some(({bytes_per_op: size}) => size !== undefined);
  if (figures.length === 0 && !isOfBytes) return null;
  return (
    <section>
      <h3 id={group}>{groupTitle(group)}</h3>
      {figures.length > 0 ? (
        <Multiples>
          {figures.map(({label, bars, scale, max}, index) => (
            <Chart
              key={label}
              caption={label}
              name={`${groupTitle(group)}: ${label}`}
              chart={
                <BarChart
                  id={`${group.replaceAll('/', '-')}-${index}`}
                  title={`${groupTitle(group)}: ${label}`}
                  desc={`Time per operation in ${scale.unit}: ${bars.map((bar) => `${bar.label} ${bar.text}`).join(', ')}.`}
                  bars={bars}
                  unit={`${scale.unit} per operation`}
                  max={max}
                />
              }
            />
          ))}
        </Multiples>
      ) : null}
      {isOfBytes ? <ComponentTable group={group} components={components} /> : <PartTable group={group} components={components} />}
    </section>
  );
}

function PartTable({group, components}: {group: string; components: Component[]}): ReactNode {
  return (
    <ScrollTable label={`Parts of the group ${group}`}>
      <table className="plain numbers">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Time per operation, ns</th>
            <th scope="col">Ours to it</th>
            <th scope="col">Allocations per operation</th>
            <th scope="col">Estimate</th>
          </tr>
        </thead>
        <tbody>
          {partRows(components).map(({key, label, isOurs, time, ratio, allocations, estimate}) => (
            <tr key={key}>
              <th scope="row">{isOurs ? <strong>{partLabel(label)}</strong> : `… ${label}`}</th>
              <td>
                {time.value}
                <span className="range">
                  {time.low}–{time.high}
                </span>
              </td>
              <td>
                {ratio ? (
                  <>
                    {ratio.value}
                    <span className="range">
                      {ratio.low}–{ratio.high}
                    </span>
                  </>
                ) : (
                  '–'
                )}
              </td>
              <td>{allocations ?? '–'}</td>
              <td>{estimate}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollTable>
  );
}

/** `get-cached/4096` → `get cached, 4,096 entries`. */
function partLabel(name: string): string {
  const size = sizeOf(name);
  return size === undefined ? operationOf(name) : `${operationOf(name)}, ${count(size)} entries`;
}

function ComponentTable({group, components}: {group: string; components: Component[]}): ReactNode {
  return (
    <ScrollTable label={`Components of the group ${group}`}>
      <table className="plain numbers">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Time per operation, ns</th>
            <th scope="col">Bytes per operation</th>
            <th scope="col">Handled, GB/s</th>
            <th scope="col">Estimate</th>
          </tr>
        </thead>
        <tbody>
          {components.map(({key, name, ns_per_op: median, ns_per_op_low: low, ns_per_op_high: high, bytes_per_op: size, estimate}) => {
            const figure = componentFigure(median, low, high);
            return (
              <tr key={key}>
                <th scope="row">{name.replaceAll('-', ' ')}</th>
                <td>
                  {figure.value}
                  <span className="range">
                    {figure.low}–{figure.high}
                  </span>
                </td>
                <td>{size === undefined ? '–' : count(size)}</td>
                <td>{size === undefined ? '–' : bandwidth(size, median)}</td>
                <td>{estimate}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollTable>
  );
}
