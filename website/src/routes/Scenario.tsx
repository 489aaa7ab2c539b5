// The page of one scenario of one run: finding, table, charts, then everything needed to doubt it.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {Place} from '../../plugins/benchmarks/routes';
import Environment from '../components/Environment';
import FigureTable from '../components/FigureTable';
import Page, {Finding, Prose} from '../components/Page';
import RawData from '../components/RawData';
import Notes from '../components/Notes';
import Reproduce from '../components/Reproduce';
import type {Run} from '../generated/records';
import {badge, findings, regime, trialsPerCell} from '../lib/finding';
import type {PageScenario} from '../lib/record';
import {table} from '../lib/tables';
import CapCharts from './scenario/CapCharts';
import StartupCharts from './scenario/StartupCharts';
import WireCharts from './scenario/WireCharts';

interface Props {
  record: PageScenario;
  run: Run;
  place: Place;
}

const CHARTS: Record<string, (props: {record: PageScenario; run: Run}) => ReactNode> = {
  wire: WireCharts,
  memory_cap: CapCharts,
  startup: StartupCharts,
};

const JUMPS = [
  ['figures', 'Figures'],
  ['charts', 'Charts'],
  ['what-and-why', 'What and why'],
  ['checks', 'Checks'],
  ['environment', 'Environment'],
  ['reproduce', 'Make them again'],
  ['raw', 'Raw data'],
];

export default function Scenario({record, run, place}: Props): ReactNode {
  const {scenario} = record;
  const home = `/benchmarks/${place.version}/${place.machineKey}/`;
  const permalink = `${home}run/${place.runId}/${scenario.key}/`;
  const Charts = CHARTS[scenario.kind] ?? WireCharts;
  return (
    <Page
      title={scenario.title}
      description={`${scenario.title}: PlumbKV ${place.version} measured on ${place.machineKey}, run ${place.runId}.`}
      crumbs={[
        {label: 'Benchmarks', href: '/benchmarks/'},
        {label: `${place.version} on ${place.machineKey}`, href: home},
        ...(place.newest ? [] : [{label: `run ${place.runId}`, href: `${home}run/${place.runId}/`}]),
        {label: scenario.key},
      ]}
      place={place}
      badge={badge(record.profile, trialsPerCell(record))}
    >
      <Finding sentences={findings(record, run)} regime={regime(run, record)} />

      <nav aria-label="On this page">
        <ul className="jump">
          {JUMPS.map(([id, label]) => (
            <li key={id}>
              <a href={`#${id}`}>{label}</a>
            </li>
          ))}
        </ul>
      </nav>

      <h2 id="figures">Figures</h2>
      <FigureTable table={table(record, run, 'headline')} caption={`${scenario.title}: figures by server and mode`} />
      {scenario.kind === 'wire' ? (
        <p className="fine">
          Response times are those of a closed loop: each client waits for its reply before it sends again, so they say how long a reply took at
          that pace and not what latency is under a given load. The row of the ceiling is a server that only parses and answers: what the load
          generator itself can drive. <Link to="/docs/reading-the-numbers/">Reading the numbers</Link>
        </p>
      ) : null}

      <div id="charts">
        <Charts record={record} run={run} />
      </div>

      <h2 id="what-and-why">What is measured, and why</h2>
      <Prose text={scenario.analysis} />
      <h3>What makes a figure valid</h3>
      <Prose text={scenario.validity} />
      <h3>What the figures do not say</h3>
      <Prose text={scenario.not_measured} />

      <h2 id="checks">Checks and resources</h2>
      <FigureTable table={table(record, run, 'checks')} caption={`${scenario.title}: replies checked, and what it cost`} />

      <h2 id="environment">Environment</h2>
      <Environment run={run} processes={record.processes} />

      <h2 id="reproduce">Make these figures again</h2>
      <Reproduce run={run} />

      <Notes run={run} />

      <h2 id="raw">Raw data</h2>
      <p>
        Whole histograms and every trial, as written by {run.tool.name} {run.tool.version}
        {place.newest ? (
          <>
            . This page moves on with newer runs; <Link to={permalink}>the page of this run</Link> stays
          </>
        ) : null}
        .
      </p>
      <RawData files={place.raw} />

      <nav aria-label="Scenarios of this version">
        <h2 id="others">Other scenarios</h2>
        <ul>
          {place.siblings
            .filter(({key}) => key !== scenario.key)
            .map(({key, title, href}) => (
              <li key={key}>
                <Link to={href}>{title}</Link>
              </li>
            ))}
          {place.hasComponents ? (
            <li>
              <Link to={`${home}components/`}>Components</Link>
            </li>
          ) : null}
        </ul>
      </nav>
    </Page>
  );
}
