// What was found for one version on one machine? One card per scenario, then the machine and the runs.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {ScenarioCard, VersionData} from '../../plugins/benchmarks/routes';
import Environment from '../components/Environment';
import Findings from '../components/Findings';
import MeasuredBefore from '../components/MeasuredBefore';
import Page from '../components/Page';
import RawData from '../components/RawData';
import Notes from '../components/Notes';
import Reproduce from '../components/Reproduce';
import ScrollTable from '../components/ScrollTable';
import Sources from '../components/Sources';
import {diskSentence, isDurable} from '../lib/durable';
import {badge, remarks, trialsPerCell} from '../lib/finding';
import {regime} from '../lib/regime';
import {short, time} from '../lib/format';
import Summary from './version/Summary';

export default function Version({version}: {version: VersionData}): ReactNode {
  const {place, run, scenarios, runs, before} = version;
  const home = `/benchmarks/${place.version}/${place.machineKey}/`;
  const machine = run.machine.title || place.machineKey;
  const first = scenarios[0];
  const durable = scenarios.filter(({record}) => isDurable(record));
  const others = scenarios.filter((card) => !durable.includes(card));
  const trials = Math.max(0, ...scenarios.map(({record}) => trialsPerCell(record)));
  return (
    <Page
      title={place.runId === undefined ? `${place.version === 'local' ? 'Local runs' : `PlumbKV ${place.version}`} on ${machine}` : `Run ${place.runId}`}
      description={`Every scenario of PlumbKV ${place.version} measured on ${machine}.`}
      crumbs={[
        {label: 'Benchmarks', href: '/benchmarks/'},
        ...(place.runId === undefined
          ? [{label: `${place.version} on ${place.machineKey}`}]
          : [{label: `${place.version} on ${place.machineKey}`, href: home}, {label: `run ${place.runId}`}]),
      ]}
      place={place}
      badge={badge(run.profile, trials)}
    >
      {first ? <p className="lead regime">{regime(run, first.record)}</p> : null}

      {[
        ...others.map((card) => <Card key={card.record.scenario.key} card={card} isOfRun={place.runId !== undefined} />),
        ...(durable.length > 0 ? [<Durable key="durable-store" cards={durable} isOfRun={place.runId !== undefined} />] : []),
      ]}

      {place.hasComponents || run.components.length > 0 ? (
        <section>
          <h2 id="components">
            {place.hasComponents ? <Link to={`${home}components/`}>Components</Link> : 'Components'}
          </h2>
          <p>
            Criterion’s estimates of single parts, such as parsing a request or evicting a key, in a loop of their own: {run.components.length} in this
            run.
          </p>
        </section>
      ) : null}

      <MeasuredBefore groups={before} version={place.version} />

      <h2 id="environment">Environment</h2>
      {place.runId === undefined ? <p>Of the newest run, {run.id}; the page of each scenario has the environment of its own runs.</p> : null}
      <Environment run={run} />

      <h2 id="reproduce">Make these figures again</h2>
      <Reproduce run={run} />

      <Notes run={run} />

      {runs.length > 0 ? (
        <>
          <h2 id="runs">Runs</h2>
          <p>Pages of a run never change.</p>
          <ScrollTable label="Runs of this version on this machine">
            <table className="plain">
              <thead>
                <tr>
                  <th scope="col">Run</th>
                  <th scope="col">Started</th>
                  <th scope="col">Profile</th>
                  <th scope="col">State</th>
                  <th scope="col">Commit</th>
                </tr>
              </thead>
              <tbody>
                {runs.map(({id, href, startedAt, profile, state, commit}) => (
                  <tr key={id}>
                    <th scope="row">
                      <Link to={href}>{id}</Link>
                    </th>
                    <td>{time(startedAt)}</td>
                    <td>{profile}</td>
                    <td>{state}</td>
                    <td>{commit ? short(commit) : '–'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollTable>
        </>
      ) : null}

      <h2 id="raw">Raw data</h2>
      <RawData files={place.raw} />
    </Page>
  );
}

/** Engines inside a driver program: a group of their own, since a call and a request are different things. */
function Durable({cards, isOfRun}: {cards: ScenarioCard[]; isOfRun: boolean}): ReactNode {
  const disk = cards[0] && diskSentence(cards[0].run.environment);
  return (
    <section>
      <h2 id="durable-store">Durable store</h2>
      <p className="measure">
        {`Embedded engines, each inside a driver program, without a server.${disk ? ` The disk when the run began: ${disk}.` : ''}`}
      </p>
      {cards.map((card) => (
        <Card key={card.record.scenario.key} card={card} isOfRun={isOfRun} within />
      ))}
    </section>
  );
}

/** `within` a group that has a heading of its own. */
function Card({card, isOfRun, within = false}: {card: ScenarioCard; isOfRun: boolean; within?: boolean}): ReactNode {
  const Heading = within ? 'h3' : 'h2';
  const {record, run, href, sources} = card;
  return (
    <section>
      <Heading id={record.scenario.key}>
        <Link to={href}>{record.scenario.title}</Link>
      </Heading>
      <Summary record={record} run={run} />
      <Findings findings={remarks(record, run)} />
      {isOfRun ? null : <Sources links={sources} />}
    </section>
  );
}
