// The page of comparisons: any two stored runs, cell by cell. The reader's browser fetches the raw records (`Chooser`);
// without scripts the page lists every run with its pages.
import Link from '@docusaurus/Link';
import type {ReactNode} from 'react';
import type {ComparableRun} from '../../plugins/benchmarks/beyond';
import Page from '../components/Page';
import ScrollTable from '../components/ScrollTable';
import {time} from '../lib/format';
import Chooser from './compare/Chooser';

export default function Compare({compare: runs}: {compare: ComparableRun[]}): ReactNode {
  return (
    <Page
      title="Two runs side by side"
      description="Two stored runs of PlumbKV compared cell by cell."
      crumbs={[{label: 'Benchmarks', href: '/benchmarks/'}, {label: 'compare'}]}
    >
      <p className="lead">
        The same cells of two runs, compared only where both were measured on one machine. A difference counts where the intervals of the medians
        separate; ranges of fewer than six trials decide nothing. Runs of different days differ for more reasons than their versions.
      </p>
      {runs.length > 1 ? <Chooser /> : null}
      {runs.length < 2 ? <p>There are fewer than two runs stored in this checkout.</p> : null}
      <h2 id="runs">Runs</h2>
      <ScrollTable label="Every stored run">
        <table className="plain">
          <thead>
            <tr>
              {['Run', 'Version', 'Machine', 'Started', 'Profile'].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {runs.map(({id, version, machineKey, startedAt, profile, href}) => (
              <tr key={href}>
                <th scope="row">
                  <Link to={href}>{id}</Link>
                </th>
                <td>{version}</td>
                <td>{machineKey}</td>
                <td>{time(startedAt)}</td>
                <td>{profile}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
      <p className="fine">
        Without scripts: open the pages of two runs beside each other, or run <code>bench-runner compare A B</code> with their ids.
      </p>
    </Page>
  );
}
