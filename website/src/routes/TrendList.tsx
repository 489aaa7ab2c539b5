// Which scenarios can be followed from version to version?
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import Page from '../components/Page';

export default function TrendList({list}: {list: {key: string; title: string}[]}): ReactNode {
  return (
    <Page
      title="From version to version"
      description="The points that stand for each scenario, by version of PlumbKV."
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: 'trends'}]}
    >
      {list.length === 0 ? <p className="lead">No run is stored in this checkout yet: nothing can be followed.</p> : null}
      <ul>
        {list.map(({key, title}) => (
          <li key={key}>
            <Link to={`/benchmarks/trends/${key}/`}>{title}</Link>
          </li>
        ))}
      </ul>
    </Page>
  );
}
