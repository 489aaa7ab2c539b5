// Which versions were measured, on which machines, and what was found? Lists all versions, or one.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {MachineSummary, OverviewData, RawLink} from '../../plugins/benchmarks/routes';
import CopyBlock from '../components/CopyBlock';
import Page from '../components/Page';
import RawData from '../components/RawData';
import {time} from '../lib/format';

export default function Overview({overview}: {overview: OverviewData}): ReactNode {
  const {version, versions, database} = overview;
  const [newest, ...older] = versions;
  return (
    <Page
      title={version ? `Benchmarks of ${version}` : 'Benchmarks'}
      description="Every stored run of PlumbKV by version and machine."
      crumbs={version ? [{label: 'Benchmarks', href: '/benchmarks/'}, {label: version}] : [{label: 'Benchmarks'}]}
    >
      {newest ? (
        <>
          <p className="lead">
            Each page is made from one stored run: figures with unit, spread and number of trials, the machine, the rivals measured beside, and the
            commands that make it again. <Link to="/docs/reading-the-numbers/">How to read them</Link>
          </p>
          {version ? null : (
            <p>
              <Link to="/benchmarks/trends/">From version to version</Link>, <Link to="/benchmarks/compare/">two runs side by side</Link>,{' '}
              <Link to="/benchmarks/claims/">what is claimed</Link>, <Link to="/benchmarks/gate/">how often the gate errs</Link>,{' '}
              <Link to="/benchmarks/method/">how it is measured</Link>.
            </p>
          )}
          <h2>{newest.version}</h2>
          {newest.machines.map((machine) => (
            <Machine key={machine.key} summary={machine} />
          ))}
          {older.length > 0 ? (
            <>
              <h2>Other versions</h2>
              <ul>
                {older.map((entry) => (
                  <li key={entry.version}>
                    <Link to={entry.href}>{entry.version}</Link>:{' '}
                    {entry.machines.map(({key, href, machine}, index) => (
                      <span key={key}>
                        {index > 0 ? ', ' : ''}
                        <Link to={href}>{machine.title || key}</Link>
                      </span>
                    ))}
                  </li>
                ))}
              </ul>
            </>
          ) : null}
          {database ? <Database file={database} /> : null}
        </>
      ) : (
        <NoResults />
      )}
    </Page>
  );
}

function Machine({summary}: {summary: MachineSummary}): ReactNode {
  const {href, key, machine, newest, runs, scenarios} = summary;
  return (
    <section>
      <h3>
        <Link to={href}>{machine.title || key}</Link>
      </h3>
      <p className="fine">
        {machine.cpu_model}, {machine.threads} threads, {machine.memory_gib} GiB, {machine.class} machine. Newest run {time(newest.startedAt)}, profile{' '}
        {newest.profile}
        {newest.state === 'interrupted' ? ', interrupted' : ''}; {runs === 1 ? 'one run' : `${runs} runs`} stored.
      </p>
      <dl className="findings">
        {scenarios.map(({key: scenario, title, href: to, findings, badge}) => (
          <div key={scenario}>
            <dt>
              <Link to={to}>{title}</Link>
            </dt>
            <dd>
              {findings.map((sentence) => (
                <p key={sentence}>{sentence}</p>
              ))}
              {badge ? <p className="fine">{badge}</p> : null}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Database({file}: {file: RawLink}): ReactNode {
  const query =
    "SELECT version, target, mode, label, round(median) AS per_second FROM measurement WHERE metric = 'ops_per_second' AND of_operation IS NULL";
  return (
    <>
      <h2 id="database">All of it as one database</h2>
      <p>Every record behind these pages as rows of one SQLite file, to ask what no page answers:</p>
      <RawData files={[file]} />
      <CopyBlock lines={[`sqlite3 -header -column ${file.name} "${query}"`]} label="Command that asks the database for every throughput" />
      <p>
        Tables, views and more questions: <Link to="/benchmarks/method/database/">the database of results</Link>.
      </p>
    </>
  );
}

function NoResults(): ReactNode {
  return (
    <>
      <p className="lead">No run is stored in this checkout yet. Make one: it takes about ten minutes and ends with these pages built from it.</p>
      <CopyBlock lines={['make bench', 'make serve']} label="Commands that measure and show the pages" />
    </>
  );
}
