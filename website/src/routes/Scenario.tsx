// The page of one scenario: finding, table, charts, then everything needed to doubt it.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {Place, ScenarioSources} from '../../plugins/benchmarks/routes';
import Environment from '../components/Environment';
import EnvironmentShort from '../components/Environment/Short';
import Findings from '../components/Findings';
import Histograms from '../components/Histograms';
import Page, {Prose} from '../components/Page';
import RawData from '../components/RawData';
import Notes from '../components/Notes';
import Reproduce from '../components/Reproduce';
import Sources from '../components/Sources';
import type {Run} from '../generated/records';
import {badge, findings, isWire, labelsOf, trialsPerCell} from '../lib/finding';
import {diskSentence, isDurable, withoutStock} from '../lib/durable';
import {rateGroups} from '../lib/openloop';
import {partsOf, withCells} from '../lib/parts';
import {histogramSources} from '../lib/histograms';
import {isAtOneRate} from '../lib/ratetable';
import {type PageScenario, roleOf} from '../lib/record';
import {environmentGroups, plainKey} from '../lib/sources';
import {comparisons} from '../lib/verdict';
import CapCharts from './scenario/CapCharts';
import CheckedWith from './scenario/CheckedWith';
import ClassTables, {Absent, Checks} from './scenario/ClassTables';
import Derived from './scenario/Derived';
import DurableCharts from './scenario/DurableCharts';
import DurableTables from './scenario/DurableTables';
import OpenLoop from './scenario/OpenLoop';
import PerKeyCharts from './scenario/PerKeyCharts';
import StartupCharts from './scenario/StartupCharts';
import Sustained from './scenario/Sustained';
import Verdicts from './scenario/Verdicts';
import WireCharts, {type ChartProps} from './scenario/WireCharts';

interface Props {
  record: PageScenario;
  run: Run;
  /** The runs that the record is made of. */
  sources: ScenarioSources;
  place: Place;
}

const CHARTS: Partial<Record<string, (props: ChartProps) => ReactNode>> = {
  wire: WireCharts,
  memory_cap: CapCharts,
  memory_per_key: PerKeyCharts,
  startup: StartupCharts,
};

/** The sections of a page that is long enough to need a list of them. */
function jumps(has: {verdicts: boolean; open: boolean; figures: boolean}): [id: string, label: string][] {
  return [
    ...(has.verdicts ? ([['verdicts', 'Against each rival']] as [string, string][]) : []),
    ...(has.open ? ([['open-loop', 'At a given rate']] as [string, string][]) : []),
    ...(has.figures ? ([['figures', 'Figures']] as [string, string][]) : []),
    ['charts', 'Charts'],
    ['what-and-why', 'What and why'],
    ['checks', 'Checks'],
    ['environment', 'Environment'],
    ['reproduce', 'Make them again'],
    ['raw', 'Raw data'],
  ];
}

/** What the rows of constant answers are, where the table has them. */
function floors(record: PageScenario, run: Run): string {
  const roles = new Set(record.cells.map(({target}) => roleOf(run, target)));
  return [
    roles.has('ceiling') ? 'The ceiling is one program that parses a request and answers a constant: it shows about how much the load generator can drive. ' : '',
    roles.has('floor') ? 'A floor answers a constant and stores nothing: what requests cost on this machine before a store does anything. ' : '',
  ].join('');
}

export default function Scenario({record, run, sources, place}: Props): ReactNode {
  const {scenario} = record;
  const home = `/benchmarks/${place.version}/${place.machineKey}/`;
  const durable = isDurable(record);
  const Charts = durable ? DurableCharts : (CHARTS[scenario.kind] ?? WireCharts);
  const {closed, open, absent} = partsOf(record, run);
  const labels = labelsOf(record, run);
  const looped = withCells(record, closed);
  return (
    <Page
      title={scenario.title}
      description={`${scenario.title}: PlumbKV ${place.version} measured on ${place.machineKey}, ${sources.links.length === 1 ? 'run' : 'runs'} ${sources.links.map(({id}) => id).join(', ')}.`}
      crumbs={[
        {label: 'Benchmarks', href: '/benchmarks/'},
        {label: `${place.version} on ${place.machineKey}`, href: home},
        ...(place.runId === undefined ? [] : [{label: `run ${place.runId}`, href: `${home}run/${place.runId}/`}]),
        {label: scenario.key},
      ]}
      place={place}
      scenario={scenario.key}
      badge={badge(record.profile, trialsPerCell(record))}
    >
      {place.runId === undefined ? <Sources links={sources.links} /> : null}
      <Findings findings={findings(record, run)} />
      <EnvironmentShort run={run} record={record} />

      <nav aria-label="On this page">
        <ul className="jump">
          {jumps({verdicts: comparisons(record, run).length > 0, open: open.length > 0, figures: closed.length > 0}).map(([id, label]) => (
            <li key={id}>
              <a href={`#${id}`}>{label}</a>
            </li>
          ))}
        </ul>
      </nav>

      <Verdicts record={record} run={run} labels={labels} />

      {open.length > 0 ? <OpenLoop record={record} run={run} /> : null}

      <Closed record={looped} run={run} labels={labels} isFolded={open.length > 0 && isAtOneRate(rateGroups(record, run))} />
      <Absent absent={absent} />
      <CheckedWith record={record} run={run} />

      <div id="charts">
        <Sustained record={withoutStock(looped)} run={run} />
        <Derived record={record} run={run} />
        {closed.length > 0 ? <Charts record={looped} run={run} labels={labels} /> : null}
      </div>

      <h2 id="what-and-why">What is measured, and why</h2>
      <Prose text={scenario.analysis} />
      <h3>What makes a figure valid</h3>
      <Prose text={scenario.validity} />
      <h3>What the figures do not say</h3>
      <Prose text={scenario.not_measured} />

      <h2 id="checks">Checks</h2>
      <details className="fold">
        <summary>Trials, replies checked and what else ran, cell by cell</summary>
        <Checks record={record} run={run} labels={labels} />
      </details>

      <h2 id="environment">Environment</h2>
      {environmentGroups(record, sources.runs).map(({run: measured, others, record: own}) => (
        <div key={measured.id}>
          {others.length > 0 ? <p>The same for {others.map(({id}) => `run ${id}`).join(' and ')}.</p> : null}
          <Environment run={measured} record={own} />
        </div>
      ))}

      <h2 id="reproduce">Make these figures again</h2>
      {sources.runs.map((measured) => (
        <Reproduce
          key={measured.id}
          run={measured}
          taking={new Set(record.cells.flatMap((cell) => (cell.run_id === measured.id ? [plainKey(cell.target)] : [])))}
        />
      ))}

      <Notes run={run} />

      <h2 id="raw">Raw data</h2>
      <p>
        Whole histograms and every trial, as written by {run.tool.name} {run.tool.version}.
      </p>
      <RawData files={place.raw} />
      <Histograms files={histogramSources(place.raw, scenario.key)} />
      <p>
        See also: <Link to={`/benchmarks/trends/${scenario.key}/`}>trend over versions</Link>, <Link to="/benchmarks/compare/">compare two runs</Link>,{' '}
        <Link to="/benchmarks/claims/">claims</Link>.
      </p>

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

/** Figures of closed loops, and of what has no loop; folded where the scenario asks at a given rate. */
function Closed({record, run, labels, isFolded}: ChartProps & {isFolded: boolean}): ReactNode {
  if (record.cells.length === 0) return null;
  const durable = isDurable(record);
  const disk = durable ? diskSentence(run.environment) : undefined;
  const tables = (
    <>
      <ClassTables record={record} run={run} labels={labels} note={disk && `The disk when the run began: ${disk}.`} />
      {durable ? <DurableTables record={record} run={run} labels={labels} /> : null}
      {isWire(record) ? (
        <p className="fine">
          Closed loop: each client waits for its reply before it sends again. A response time says how long a reply took at that pace, not what
          latency is under a given load. {floors(record, run)}
          <Link to="/docs/reading-the-numbers/">Reading the numbers</Link>
        </p>
      ) : null}
    </>
  );
  return (
    <>
      <h2 id="figures">{isFolded ? 'In a closed loop' : 'Figures'}</h2>
      {isFolded ? (
        <details className="fold">
          <summary>Every figure of the closed loops</summary>
          {tables}
        </details>
      ) : (
        tables
      )}
    </>
  );
}
