// The matrix of benchmarks: every question with the newest figures that are stored, and ways to versions and machines.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {MatrixPageData, VersionEntry} from '../../plugins/benchmarks/overview/data';
import type {RawLink} from '../../plugins/benchmarks/routes';
import CopyBlock from '../components/CopyBlock';
import Matrix from '../components/Matrix';
import {HowToRead, TITLES} from '../components/Matrix/words';
import Page from '../components/Page';
import QuietLink from '../components/QuietLink';
import RawData from '../components/RawData';

/** Data of the page: the matrix, and all records as rows of one file. */
export type OverviewData = MatrixPageData & {database?: RawLink};

export default function Overview({overview}: {overview: OverviewData}): ReactNode {
  const {tables, others, versions, database} = overview;
  return (
    <Page title="Benchmarks" description="PlumbKV beside its rivals, question by question, from the newest stored runs." crumbs={[{label: 'Benchmarks'}]}>
      {versions.length > 0 ? (
        <>
          <HowToRead tables={tables} />
          {tables.map((table) => (
            <section key={table.key}>
              <h2>{TITLES[table.key]}</h2>
              <Matrix table={table} label={TITLES[table.key]} hasOrigins />
            </section>
          ))}
          <h2>Versions and machines</h2>
          <Versions versions={versions} />
          <h2>More</h2>
          <p>
            Scenarios not in the tables:{' '}
            {others.map(({key, title, href}, index) => (
              <span key={href}>
                {index > 0 ? ', ' : ''}
                <QuietLink to={href} title={title}>
                  {key}
                </QuietLink>
              </span>
            ))}
            .
          </p>
          <p>
            <Link to="/benchmarks/trends/">Trends over versions</Link>, <Link to="/benchmarks/compare/">compare two runs</Link>,{' '}
            <Link to="/benchmarks/claims/">claims</Link>, <Link to="/benchmarks/gate/">false alarms of the gate</Link>,{' '}
            <Link to="/benchmarks/method/">method</Link>.
          </p>
          {database ? <Database file={database} /> : null}
        </>
      ) : (
        <NoResults />
      )}
    </Page>
  );
}

function Versions({versions}: {versions: VersionEntry[]}): ReactNode {
  return (
    <ul>
      {versions.map(({version, href, machines}) => (
        <li key={version}>
          <Link to={href}>{version}</Link>:{' '}
          {machines.map((machine, index) => (
            <span key={machine.key}>
              {index > 0 ? ', ' : ''}
              <QuietLink to={machine.href} title={machine.title}>
                {machine.key}
              </QuietLink>
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

function Database({file}: {file: RawLink}): ReactNode {
  return (
    <>
      <p id="database">
        Every record as one SQLite file (<Link to="/benchmarks/method/database/">tables and example queries</Link>):
      </p>
      <RawData files={[file]} />
    </>
  );
}

function NoResults(): ReactNode {
  return (
    <>
      <p className="lead">This checkout has no stored runs. These commands measure on this machine and build the pages; the first one says how long it takes.</p>
      <CopyBlock lines={['make bench', 'make serve']} label="Commands that measure and show the pages" />
    </>
  );
}
