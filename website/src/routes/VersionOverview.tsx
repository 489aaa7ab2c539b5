// One version: for each of its machines the matrix of its own runs, and every page that it has.
import type {ReactNode} from 'react';
import type {VersionPageData} from '../../plugins/benchmarks/overview/data';
import Matrix from '../components/Matrix';
import {HowToRead, TITLES} from '../components/Matrix/words';
import MeasuredBefore from '../components/MeasuredBefore';
import Page from '../components/Page';
import QuietLink from '../components/QuietLink';

export default function VersionOverview({overview: {version, machines, before}}: {overview: VersionPageData}): ReactNode {
  return (
    <Page
      title={`Benchmarks of ${version}`}
      description={`What was measured of PlumbKV ${version}, by machine.`}
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: version}]}
    >
      {machines.map(({key, title, href, tables, scenarios}) => (
        <section key={key}>
          <h2 id={key}>
            <QuietLink to={href}>{title}</QuietLink>
          </h2>
          {tables.length > 0 ? <HowToRead tables={tables} /> : null}
          {tables.map((table) => (
            <section key={table.key}>
              <h3>{TITLES[table.key]}</h3>
              <Matrix table={table} label={`${TITLES[table.key]}, ${key}`} />
            </section>
          ))}
          <h3>All scenarios</h3>
          <p>
            {scenarios.map((scenario, index) => (
              <span key={scenario.href}>
                {index > 0 ? ', ' : ''}
                <QuietLink to={scenario.href}>{scenario.title}</QuietLink>
              </span>
            ))}
            .
          </p>
        </section>
      ))}
      <MeasuredBefore groups={before} version={version} />
    </Page>
  );
}
