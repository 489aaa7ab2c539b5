// How do two stored runs differ? The reader's browser fetches the raw records and compares them cell by cell; without
// scripts the page lists every run with its pages.
import Link from '@docusaurus/Link';
import {useHistory, useLocation} from '@docusaurus/router';
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import {type ReactNode, useEffect, useState} from 'react';
import type {ComparableRun} from '../../plugins/benchmarks/beyond';
import Page from '../components/Page';
import ScrollTable from '../components/ScrollTable';
import type {ScenarioRecord} from '../generated/records';
import {compareRecords, findRun, refusal} from '../lib/compare';
import {shorten, time} from '../lib/format';
import {MODE_LABELS} from '../lib/record';

export default function Compare({compare: runs}: {compare: ComparableRun[]}): ReactNode {
  const [ready, setReady] = useState(false);
  useEffect(() => setReady(true), []);
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
      {ready && runs.length > 1 ? <Chooser runs={runs} /> : null}
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

function Chooser({runs}: {runs: ComparableRun[]}): ReactNode {
  const history = useHistory();
  const {pathname, search} = useLocation();
  const asked = new URLSearchParams(search);
  const a = findRun(runs, asked.get('a')) ?? runs[1];
  const b = findRun(runs, asked.get('b')) ?? runs[0];
  if (!a || !b) return null;
  const shared = a.scenarios.filter(({key}) => b.scenarios.some((other) => other.key === key));
  const scenario = shared.find(({key}) => key === asked.get('scenario')) ?? shared[0];
  const go = (changed: Record<string, string>) => {
    const next = new URLSearchParams({a: a.id, b: b.id, ...(scenario ? {scenario: scenario.key} : {}), ...changed});
    history.replace(`${pathname}?${next.toString()}`);
  };
  const refused = refusal(a, b);
  return (
    <section>
      <h2 id="comparison">Comparison</h2>
      <p className="choices">
        {[
          {label: 'First', name: 'a', value: a.id},
          {label: 'Second', name: 'b', value: b.id},
        ].map(({label, name, value}) => (
          <label key={name}>
            {label}{' '}
            <select value={value} onChange={(event) => go({[name]: event.target.value})}>
              {runs.map(({id, version, machineKey}) => (
                <option key={`${version}-${id}`} value={id}>
                  {version} · {machineKey} · {id}
                </option>
              ))}
            </select>
          </label>
        ))}
        {scenario ? (
          <label>
            Scenario{' '}
            <select value={scenario.key} onChange={(event) => go({scenario: event.target.value})}>
              {shared.map(({key, title}) => (
                <option key={key} value={key}>
                  {shorten(title, 60)}
                </option>
              ))}
            </select>
          </label>
        ) : null}
      </p>
      {refused ? (
        <p role="status">{refused}</p>
      ) : scenario ? (
        <Rows key={`${a.id}-${b.id}-${scenario.key}`} a={a} b={b} scenario={scenario.key} />
      ) : (
        <p role="status">The runs share no scenario.</p>
      )}
    </section>
  );
}

function Rows({a, b, scenario}: {a: ComparableRun; b: ComparableRun; scenario: string}): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  const [records, setRecords] = useState<[ScenarioRecord, ScenarioRecord] | string>('Fetching the records …');
  useEffect(() => {
    let wanted = true;
    const fetched = [a, b].map(async (run) => {
      const path = run.scenarios.find(({key}) => key === scenario)?.sitePath ?? '';
      const reply = await fetch(withBaseUrl(path));
      if (!reply.ok) throw new Error(`${path}: HTTP ${reply.status}`);
      return (await reply.json()) as ScenarioRecord;
    });
    Promise.all(fetched)
      .then(([first, second]) => wanted && first && second && setRecords([first, second]))
      .catch((error: unknown) => wanted && setRecords(`The records could not be fetched: ${String(error)}`));
    return () => {
      wanted = false;
    };
  }, [a, b, scenario, withBaseUrl]);
  if (typeof records === 'string') return <p role="status">{records}</p>;
  const {rows, note} = compareRecords(...records);
  return (
    <>
      {note ? <p>{note}</p> : null}
      <ScrollTable label={`Cells of ${scenario} in both runs`}>
        <table className="plain numbers">
          <thead>
            <tr>
              <th scope="col">Cell</th>
              <th scope="col">Metric</th>
              <th scope="col">First</th>
              <th scope="col">Second</th>
              <th scope="col">Second to first</th>
              <th scope="col">Verdict on the second</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                <th scope="row">
                  {a.servers[row.target] ?? row.target}, {MODE_LABELS[row.mode]}: {row.label}
                </th>
                <td>
                  {row.metric}
                  {row.unit ? `, ${row.unit}` : ''}
                </td>
                <td>{row.a}</td>
                <td>{row.b}</td>
                <td>{row.ratio}</td>
                <td>{row.verdict}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollTable>
      {rows.length === 0 ? <p>No cell came to a figure in both runs.</p> : null}
    </>
  );
}
