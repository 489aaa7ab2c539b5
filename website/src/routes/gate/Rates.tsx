// What did gates say, by what was injected? A row per size, and the share that said regression as a chart per kind.
import type {ReactNode} from 'react';
import DetectionChart, {type DetectionPoint} from '../../charts/DetectionChart';
import Chart, {Multiples} from '../../components/Chart';
import ScrollTable from '../../components/ScrollTable';
import type {CalibrationRate, InjectedAs} from '../../generated/records';
import {count, withUnit} from '../../lib/format';
import {injectedWords, interval, isFalseAlarm, KINDS, points, share, size} from '../../lib/gate';

interface Props {
  /** Name of the machine, unique on the page. */
  id: string;
  rates: CalibrationRate[];
}

export default function Rates({id, rates}: Props): ReactNode {
  if (rates.length === 0) return null;
  const kinds = (['spin', 'sleep', 'tail'] as const).filter((kind) => rates.some(({injected_as: as}) => as === kind));
  return (
    <>
      <h3>What gates said, by what was injected</h3>
      <Table id={id} rates={rates} />
      <p className="fine">
        Sizes are percent of the CPU time of the slowed build’s I/O threads. Intervals are the exact ones of a share at 95&nbsp;%, two-sided (
        <a href="https://doi.org/10.1093/biomet/26.4.404">Clopper and Pearson 1934</a>). Undecided is a gate that said <em>inconclusive</em> or{' '}
        <em>not measured</em>; it counts among those that did not say regression.
      </p>
      {kinds.length > 0 ? (
        <Multiples>
          {kinds.map((kind) => (
            <Detected key={kind} id={id} kind={kind} rates={rates} />
          ))}
        </Multiples>
      ) : null}
    </>
  );
}

function Table({id, rates}: Props): ReactNode {
  return (
    <ScrollTable label={`What gates said on ${id}, by what was injected`}>
      <table className="plain numbers">
        <thead>
          <tr>
            <th scope="col">Injected</th>
            <th scope="col">Said regression</th>
            <th scope="col">
              Share<span className="range">95&nbsp;% interval</span>
            </th>
            <th scope="col">Improvement</th>
            <th scope="col">Undecided</th>
            <th scope="col">Pass</th>
          </tr>
        </thead>
        <tbody>
          {rates.map((rate) => {
            const found = share(rate);
            const {gates, regression, improvement, undecided} = rate;
            return (
              <tr key={injectedWords(rate)}>
                <th scope="row">
                  {injectedWords(rate)}
                  <span className="range">{isFalseAlarm(rate) ? 'false alarms' : 'detection'}</span>
                </th>
                <td>
                  {count(regression)} of {count(gates)}
                </td>
                <td>
                  {found === undefined ? '·' : withUnit(points(found), '%')}
                  <span className="range">{interval(rate)}</span>
                </td>
                <td>{count(improvement)}</td>
                <td>{count(undecided)}</td>
                <td>{count(gates - regression - improvement - undecided)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollTable>
  );
}

function Detected({id, kind, rates}: Props & {kind: InjectedAs}): ReactNode {
  const {name, meaning} = KINDS[kind];
  const shown = rates.filter((rate) => (isFalseAlarm(rate) || rate.injected_as === kind) && rate.gates > 0);
  const max = Math.max(0, ...rates.map(({injected_percent: percent}) => percent));
  const title = `Share of gates on ${id} that said regression, by the slowdown injected as ${name}`;
  const told = shown.map((rate) => `${injectedWords(rate)} ${count(rate.regression)} of ${count(rate.gates)} (${interval(rate)})`);
  return (
    <Chart
      caption={`Injected as ${name}: ${meaning}`}
      name={title}
      chart={
        <DetectionChart
          id={`detected-${id}-${kind}`}
          title={title}
          desc={`Injected, gates that said regression, exact 95 % interval: ${told.join('; ')}.`}
          points={shown.map(pointOf)}
          max={max}
        />
      }
    />
  );
}

function pointOf(rate: CalibrationRate): DetectionPoint {
  return {
    percent: rate.injected_percent,
    label: isFalseAlarm(rate) ? 'nothing' : size(rate.injected_percent),
    share: share(rate) ?? 0,
    low: rate.rate_low,
    high: rate.rate_high,
    text: `${count(rate.regression)}/${count(rate.gates)}`,
  };
}
