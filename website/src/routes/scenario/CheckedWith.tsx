// What does a load generator that nobody here wrote say of the same cells? Both figures side by side.
import type {ReactNode} from 'react';
import RatioTable from '../../components/RatioTable';
import ScrollTable from '../../components/ScrollTable';
import type {Measurement, Run} from '../../generated/records';
import {type CheckedPair, checkedPairs, repeatedRatios} from '../../lib/derived';
import {rowLabel} from '../../lib/figures';
import {figure, ratio, scaleFor, type Scale} from '../../lib/format';
import {generatorAtCeiling, measurement, type PageCell, type PageScenario, trialValues} from '../../lib/record';

const METRICS = [
  {metric: 'ops_per_second', name: 'Throughput', unit: '1/s'},
  {metric: 'latency_ns_p50', name: 'p50', unit: 'ns'},
  {metric: 'server_cpu_ns_per_op', name: 'Server CPU per op', unit: 'ns'},
];

export default function CheckedWith({record, run}: {record: PageScenario; run: Run}): ReactNode {
  const pairs = checkedPairs(record);
  if (pairs.length === 0) return null;
  const programs = [...new Set(pairs.map(({program}) => program))].join(' and ');
  const repeated = repeatedRatios(record, run);
  const scales = METRICS.map(({metric, unit}) => scaleOf(pairs, metric, unit));
  return (
    <>
      <h2 id="checked-with">Checked with {programs}</h2>
      <p className="fine">
        The same load in the same run by a program that nobody here wrote. Where it is at its own ceiling its throughput is its own, and server CPU per
        operation is what can agree. Ratio: ours to theirs, of the medians.
      </p>
      <ScrollTable label={`Figures of our load generator beside those of ${programs}`}>
        <table className="plain numbers">
          <thead>
            <tr>
              <th scope="col">Cell</th>
              {METRICS.flatMap(({name}, index) => [
                <th key={`${name}-ours`} scope="col">
                  {name}, ours{unitText(scales[index])}
                </th>,
                <th key={`${name}-theirs`} scope="col">
                  theirs{unitText(scales[index])}
                </th>,
                <th key={`${name}-ratio`} scope="col">
                  ratio
                </th>,
              ])}
            </tr>
          </thead>
          <tbody>
            {pairs.map(({program, ours, theirs}) => (
              <tr key={theirs.key}>
                <th scope="row">
                  {rowLabel(theirs, run)}: {theirs.label}
                  {theirs.label.includes(program) ? '' : `, by ${program}`}
                  {ours && generatorAtCeiling(ours) ? ' (our generator at its ceiling)' : ''}
                </th>
                {theirs.status === 'ok' ? (
                  METRICS.flatMap(({metric}, index) => trio(ours, theirs, metric, scales[index]))
                ) : (
                  <td className="words" colSpan={METRICS.length * 3}>
                    {theirs.status}
                    {theirs.reason ? `: ${theirs.reason}` : ''}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
      {repeated.groups.length > 0 ? (
        <>
          <h3 id="repeated">Do both see the same between the servers?</h3>
          <p className="fine">The ratio of the servers by our load generator, and below it the same ratio by {programs}.</p>
          <RatioTable table={repeated} caption={`Ratios between servers, by our load generator and by ${programs}`} first="Ratio" />
        </>
      ) : null}
    </>
  );
}

function trio(ours: PageCell | undefined, theirs: PageCell, metric: string, scale: Scale = {unit: '', factor: 1}): ReactNode[] {
  const [own, other] = [ours?.status === 'ok' ? measurement(ours, metric) : undefined, measurement(theirs, metric)];
  return [
    <td key={`${metric}-ours`}>{own ? <Shown found={own} scale={scale} /> : '·'}</td>,
    <td key={`${metric}-theirs`}>{other ? <Shown found={other} scale={scale} /> : '·'}</td>,
    <td key={`${metric}-ratio`}>{own && other && ours && other.median > 0 ? quotient(ours, theirs, metric, own, other) : '·'}</td>,
  ];
}

// A quotient of medians, cut at the digits that the trials of both allow.
function quotient(ours: PageCell, theirs: PageCell, metric: string, own: Measurement, other: Measurement): string {
  const [a, b] = [trialValues(ours, metric), trialValues(theirs, metric)].map((values) => (values.length > 0 ? values : undefined));
  const median = own.median / other.median;
  const low = Math.min(...(a ?? [own.low])) / Math.max(...(b ?? [other.high]));
  const high = Math.max(...(a ?? [own.high])) / Math.min(...(b ?? [other.low]));
  return ratio({median, low, high}).value;
}

function Shown({found, scale}: {found: Measurement; scale: Scale}): ReactNode {
  const {value, low, high} = figure(found, scale);
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

function scaleOf(pairs: CheckedPair[], metric: string, unit: string): Scale {
  const medians = pairs.flatMap(({ours, theirs}) => [ours, theirs].map((cell) => (cell ? (measurement(cell, metric)?.median ?? 0) : 0)));
  return scaleFor(unit, Math.max(0, ...medians));
}

function unitText(scale: Scale | undefined): string {
  return scale?.unit ? `, ${scale.unit}` : '';
}
