// Charts of a memory cap: memory against it, hits, survival by age, the early keys, the refused value.
import type {ReactNode} from 'react';
import BarChart, {type Bar} from '../../charts/BarChart';
import SurvivalChart, {medians} from '../../charts/SurvivalChart';
import Chart, {Multiples} from '../../components/Chart';
import ScrollTable from '../../components/ScrollTable';
import type {Run} from '../../generated/records';
import {earlyKeys, refusal, survival} from '../../lib/cap';
import {lineLabel, lookOf, rowLabel} from '../../lib/figures';
import {bytes, count, figure, fixed} from '../../lib/format';
import {measurement, type PageCell, type PageScenario, type Point, points, trialValues} from '../../lib/record';
import {scaleOfAll} from '../../lib/units';

interface Props {
  record: PageScenario;
  run: Run;
}

export default function CapCharts({record, run}: Props): ReactNode {
  const all = points(record, run);
  const filled = all.filter((point) => point.cells.some((cell) => survival(cell).length > 0));
  const lookedUp = record.cells.filter((cell) => earlyKeys(cell).length > 0);
  const refused = record.cells.filter((cell) => refusal(cell) !== undefined);
  return (
    <>
      <h2 id="memory">Memory against the cap</h2>
      <p className="fine">
        Accounted bytes as the server reports them, and growth of the process’s resident memory since its start as the kernel reports it; bars from
        zero, every trial a dot.
      </p>
      <Multiples>
        {all.map((point, index) => (
          <CapChart key={point.id} point={point} run={run} index={index} />
        ))}
      </Multiples>

      <HitRatios record={record} run={run} />

      {filled.length > 0 ? (
        <>
          <h2 id="survival">Which keys survive</h2>
          <Multiples>
            {filled.map((point, index) => (
              <Survival key={point.id} point={point} run={run} index={index} />
            ))}
          </Multiples>
        </>
      ) : null}

      {lookedUp.length > 0 ? <EarlyKeys cells={lookedUp} run={run} /> : null}
      {refused.length > 0 ? <Refusals cells={refused} run={run} /> : null}
    </>
  );
}

/** Hits on a skewed trace, against an exact LRU of the same bytes that the runner simulates. */
function HitRatios({record, run}: Props): ReactNode {
  const all = points(record, run).filter((point) => point.cells.some((cell) => cell.status === 'ok' && measurement(cell, 'hit_ratio')));
  if (all.length === 0) return null;
  return (
    <>
      <h2 id="hit-ratio">Hits against an exact LRU</h2>
      <p className="fine">
        Share of reads of a skewed trace that found their key under the cap; what was missed was written. The line is an exact LRU with as many bytes,
        simulated on the same trace.
      </p>
      <Multiples>
        {all.map((point, index) => {
          const cells = point.cells.filter((cell) => cell.status === 'ok' && measurement(cell, 'hit_ratio'));
          const exact = cells.map((cell) => measurement(cell, 'hit_ratio_exact_lru')?.median).find((value) => value !== undefined);
          const scale = {unit: '%', factor: 100};
          const bars = cells.flatMap((cell): Bar[] => {
            const found = measurement(cell, 'hit_ratio');
            const look = lookOf(cell, run);
            return found
              ? [{label: rowLabel(cell, run), look, median: found.median * 100, trials: trialValues(cell, 'hit_ratio').map((v) => v * 100), text: figure(found, scale).value}]
              : [];
          });
          return (
            <Chart
              key={point.id}
              caption={point.label}
              name={`${point.label}: hits`}
              chart={
                <BarChart
                  id={`hits-${index}`}
                  title={`${point.label}: share of reads that hit`}
                  desc={`In %: ${bars.map((bar) => `${bar.label} ${bar.text}`).join(', ')}${exact === undefined ? '' : `, exact LRU ${fixed(exact * 100, 1)}`}.`}
                  bars={bars}
                  unit="% of reads"
                  max={100}
                  {...(exact === undefined ? {} : {reference: {value: exact * 100, label: `exact LRU ${fixed(exact * 100, 1)} %`}})}
                />
              }
              table={{head: ['Server', 'Hits, %', 'Exact LRU, %'], rows: bars.map((bar) => [bar.label, bar.text, exact === undefined ? '·' : fixed(exact * 100, 1)])}}
            />
          );
        })}
      </Multiples>
    </>
  );
}

function CapChart({point, run, index}: {point: Point; run: Run; index: number}): ReactNode {
  const cap = point.axes.cap_bytes;
  const cells = point.cells.filter((cell) => cell.status === 'ok');
  const measured = cells.flatMap((cell) => ['accounted_bytes', 'rss_bytes_growth'].flatMap((metric) => measurement(cell, metric)?.high ?? []));
  const scale = scaleOfAll('bytes', [...measured, ...(cap ? [cap] : [])]);
  const bars = cells.flatMap((cell): Bar[] =>
    [
      {metric: 'accounted_bytes', word: 'accounted'},
      {metric: 'rss_bytes_growth', word: 'RSS growth'},
    ].flatMap(({metric, word}) => {
      const value = measurement(cell, metric);
      if (!value) return [];
      return [
        {
          label: `${rowLabel(cell, run)}: ${word}`,
          look: lookOf(cell, run),
          median: value.median * scale.factor,
          trials: trialValues(cell, metric).map((trial) => trial * scale.factor),
          text: figure(value, scale).value,
          ...(cap ? {note: `${fixed((value.median / cap) * 100, 0)} % of cap`} : {}),
        },
      ];
    }),
  );
  if (bars.length === 0) return null;
  const max = Math.max((cap ?? 0) * scale.factor, ...bars.flatMap((bar) => [bar.median, ...bar.trials]));
  return (
    <Chart
      caption={point.label}
      name={`${point.label}: memory against the cap`}
      chart={
        <BarChart
          id={`cap-${index}`}
          title={`${point.label}: memory against the cap${cap ? ` of ${bytes(cap)}` : ''}`}
          desc={`In ${scale.unit}: ${bars.map((bar) => `${bar.label} ${bar.text}`).join(', ')}.`}
          bars={bars}
          unit={scale.unit}
          max={max}
          {...(cap ? {reference: {value: cap * scale.factor, label: `cap ${bytes(cap)}`}} : {})}
        />
      }
      table={{
        head: ['Server and figure', `Median, ${scale.unit}`, 'Of the cap'],
        rows: bars.map((bar) => [bar.label, bar.text, bar.note ?? '']),
      }}
    />
  );
}

function Survival({point, run, index}: {point: Point; run: Run; index: number}): ReactNode {
  const series = point.cells.flatMap((cell) => {
    const trials = survival(cell);
    return trials.length > 0 ? [{label: lineLabel(cell, run), look: lookOf(cell, run), trials}] : [];
  });
  const slices = Math.max(...series.map(({trials}) => trials[0]?.length ?? 0));
  const quarters = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.min(Math.floor(part * slices), slices - 1));
  const share = (trials: number[][], slice: number) => fixed((medians(trials)[slice] ?? 0) * 100, 0);
  return (
    <Chart
      caption={point.label}
      name={`${point.label}: survival`}
      chart={
        <SurvivalChart
          id={`survival-${index}`}
          title={`${point.label}: share of keys still there, by order of insertion`}
          desc={`Of the first and of the last ${fixed(100 / slices, 1)} % of the keys, in percent: ${series
            .map(({label, trials}) => `${label} ${share(trials, 0)} and ${share(trials, slices - 1)}`)
            .join(', ')}.`}
          series={series}
        />
      }
      table={{
        head: ['Server', ...quarters.map((slice) => `slice ${slice + 1} of ${slices}, %`)],
        rows: series.map(({label, trials}) => [label, ...quarters.map((slice) => share(trials, slice))]),
      }}
    />
  );
}

function EarlyKeys({cells, run}: {cells: PageCell[]; run: Run}): ReactNode {
  const keys = [...new Set(cells.flatMap((cell) => earlyKeys(cell).map(({key}) => key)))];
  return (
    <>
      <h2 id="early-keys">The early keys</h2>
      <p className="fine">In how many trials a key written early was gone at the end.</p>
      <ScrollTable label="Early keys by server">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Server</th>
              {keys.map((key) => (
                <th key={key} scope="col">
                  key {key}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {cells.map((cell) => (
              <tr key={cell.key}>
                <th scope="row">{rowLabel(cell, run)}</th>
                {keys.map((key) => {
                  const found = earlyKeys(cell).find((entry) => entry.key === key);
                  return <td key={key}>{found ? `gone in ${found.gone} of ${found.looked}` : '·'}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
    </>
  );
}

function Refusals({cells, run}: {cells: PageCell[]; run: Run}): ReactNode {
  return (
    <>
      <h2 id="refusal">The value that cannot fit</h2>
      <ScrollTable label="Answer to the value that cannot fit, by server">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">Keys before</th>
              <th scope="col">Keys after</th>
              <th scope="col">Answer</th>
            </tr>
          </thead>
          <tbody>
            {cells.map((cell) => {
              const told = refusal(cell);
              return told ? (
                <tr key={cell.key}>
                  <th scope="row">{rowLabel(cell, run)}</th>
                  <td>{count(told.keysBefore)}</td>
                  <td>{count(told.keysAfter)}</td>
                  <td>
                    <code>{told.reply}</code>
                  </td>
                </tr>
              ) : null;
            })}
          </tbody>
        </table>
      </ScrollTable>
    </>
  );
}
