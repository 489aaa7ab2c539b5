// How fast are the single parts? Criterion's estimates, imported into the same records.
import type {ReactNode} from 'react';
import type {Place} from '../../plugins/benchmarks/routes';
import Environment from '../components/Environment';
import Page from '../components/Page';
import RawData from '../components/RawData';
import Reproduce from '../components/Reproduce';
import ScrollTable from '../components/ScrollTable';
import type {Component, Run} from '../generated/records';
import {isCompared, partRows} from '../lib/components';
import {count} from '../lib/format';
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
    >
      <p className="lead">
        One part in a loop of its own, its data warm in the caches: a floor for what the part costs inside the server, not a promise of what a request
        costs.
      </p>
      {groups.map((group) => (
        <section key={group}>
          <h2 id={group}>{group}</h2>
          <GroupTable group={group} components={run.components.filter((component) => component.group === group)} />
        </section>
      ))}
      <p className="fine">
        Large: criterion’s slope (mean where it has none). Small: criterion’s 95 % interval over the samples of one process. A ratio is our time to that of the
        library, measured in the same process on the same inputs; below 1 ours takes less. Its small figures put the ends of both intervals against each other, so they
        are wider than 95 %. Where there are allocations, calls of the allocator counted over
        10,000 operations, the time is CPU time of the one thread that does the work. The number behind a part is how many entries it had to do with.
      </p>
      <h2 id="environment">Environment</h2>
      <Environment run={run} />
      <h2 id="reproduce">Make these figures again</h2>
      <Reproduce run={run} />
      <h2 id="raw">Raw data</h2>
      <RawData files={place.raw} />
    </Page>
  );
}

function GroupTable({group, components}: {group: string; components: Component[]}): ReactNode {
  return isCompared(components) ? <PartTable group={group} components={components} /> : <ComponentTable group={group} components={components} />;
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
              <th scope="row">{isOurs ? <strong>{label}</strong> : `… ${label}`}</th>
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
                  '·'
                )}
              </td>
              <td>{allocations ?? '·'}</td>
              <td>{estimate}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollTable>
  );
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
                <th scope="row">{name}</th>
                <td>
                  {figure.value}
                  <span className="range">
                    {figure.low}–{figure.high}
                  </span>
                </td>
                <td>{size === undefined ? '·' : count(size)}</td>
                <td>{size === undefined ? '·' : bandwidth(size, median)}</td>
                <td>{estimate}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollTable>
  );
}
