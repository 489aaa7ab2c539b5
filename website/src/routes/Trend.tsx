// How did a scenario's figures move from version to version? A chart per point and metric, on one machine each.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {Trend as Data, TrendFigure, TrendValue} from '../../plugins/benchmarks/trends';
import LineChart from '../charts/LineChart';
import Chart, {Multiples} from '../components/Chart';
import Page from '../components/Page';
import ScrollTable from '../components/ScrollTable';
import {figure as figureText, scaleFor, word, type Scale} from '../lib/format';
import {METRIC_WORDS} from '../lib/metrics';
import Blessings, {marks, told} from './trend/Blessings';

export default function Trend({trend}: {trend: Data}): ReactNode {
  return (
    <Page
      title={`${trend.title}: from version to version`}
      description={`${trend.title}: the points that stand for it, by version of PlumbKV.`}
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: 'trends', href: '/benchmarks/trends/'}, {label: trend.key}]}
    >
      <p className="lead">
        Each figure is of the longest run of its version that has it, of those the newest, on the same machine, natively. Versions were measured on different days: a step smaller than the spread between
        runs of one version says nothing. Servers of others are drawn as well, so that a day on which everything moved shows.
      </p>
      {trend.machines.map(({key, title, versions, figures}) => (
        <section key={key}>
          <h2 id={key}>{title}</h2>
          <p className="fine">
            {word(versions.length)} {versions.length === 1 ? 'version, so there is nothing to follow yet' : 'versions'}: {versions.join(', ')}.
          </p>
          <Multiples>
            {figures.map((figure, index) => (
              <TrendChart key={`${figure.label}-${figure.metric}`} id={`${key}-${index}`} machine={key} figure={figure} versions={versions} />
            ))}
          </Multiples>
          <Values figures={figures} label={`${trend.title} on ${key}: values by version`} />
        </section>
      ))}
    </Page>
  );
}

function TrendChart({id, machine, figure, versions}: {id: string; machine: string; figure: TrendFigure; versions: string[]}): ReactNode {
  const scale = scaleOf(figure);
  const series = figure.series.map(({label, look, revision, values}) => ({
    label: figure.series.some((other) => other.label === label && other.revision !== revision) ? `${label}, rev. ${revision}` : label,
    look,
    points: values.map(({version, median, trials}) => ({x: versions.indexOf(version), median: median * scale.factor, trials: trials.map((value) => value * scale.factor)})),
  }));
  const name = `${figure.label}: ${METRIC_WORDS[figure.metric] ?? figure.metric}`;
  return (
    <Chart
      caption={name}
      below={<Blessings blessings={figure.blessings} />}
      name={`${name} by version on ${machine}`}
      chart={
        <LineChart
          id={`trend-${id}`}
          title={`${name} by version on ${machine}`}
          desc={`In ${scale.unit || 'units'}: ${figure.series.map(({label, values}) => `${label} ${values.map((value) => `${value.version} ${shown(value, scale)}`).join(', ')}`).join('; ')}.${figure.blessings.map((one) => ` ${told(one)}.`).join('')}`}
          marks={marks(figure.blessings, versions)}
          series={series}
          xs={versions.map((_, index) => index)}
          xLabels={versions}
          xUnit="version"
          yUnit={scale.unit}
          yMax={Math.max(...series.flatMap(({points}) => points.flatMap((point) => [point.median, ...point.trials])))}
        />
      }
      table={{
        head: ['Server', ...versions.map((version) => `${version}, ${scale.unit}`)],
        rows: figure.series.map(({label, values}) => [
          label,
          ...versions.map((version) => {
            const found = values.find((value) => value.version === version);
            return found ? shown(found, scale) : '·';
          }),
        ]),
      }}
    />
  );
}

function Values({figures, label}: {figures: TrendFigure[]; label: string}): ReactNode {
  return (
    <details className="fold">
      <summary>Every value with its spread and its run</summary>
      <ScrollTable label={label}>
        <table className="plain">
          <thead>
            <tr>
              {['Figure', 'Server', 'Version', 'Median', 'Spread', 'Trials', 'Profile'].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {figures.flatMap((figure) => {
              const scale = scaleOf(figure);
              return figure.series.flatMap(({label: server, revision, values}) =>
                values.map((value) => {
                  const text = figureText(value, scale);
                  return (
                    <tr key={`${figure.label}-${figure.metric}-${server}-${revision}-${value.version}`}>
                      <th scope="row">
                        {figure.label}: {METRIC_WORDS[figure.metric] ?? figure.metric}
                      </th>
                      <td>{server}</td>
                      <td>
                        <Link to={value.href}>{value.version}</Link>
                      </td>
                      <td>
                        {text.value} {scale.unit}
                      </td>
                      <td>
                        {value.spread} {text.low}–{text.high}
                      </td>
                      <td>{value.n}</td>
                      <td>{value.profile}</td>
                    </tr>
                  );
                }),
              );
            })}
          </tbody>
        </table>
      </ScrollTable>
    </details>
  );
}

function scaleOf({unit, series}: TrendFigure): Scale {
  return scaleFor(unit, Math.max(0, ...series.flatMap(({values}) => values.map(({median}) => median))));
}

function shown(value: TrendValue, scale: Scale): string {
  return figureText(value, scale).value;
}
