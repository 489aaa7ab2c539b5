// Two stored runs, chosen by the reader and compared cell by cell from their raw records. The choice is in the address.
import {useHistory, useLocation} from '@docusaurus/router';
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import {type ReactNode, useEffect, useState} from 'react';
import type {ComparableRun} from '../../../plugins/benchmarks/beyond';
import ScrollTable from '../../components/ScrollTable';
import {island} from '../../document/island';
import type {ScenarioRecord} from '../../generated/records';
import {fetchedJson} from '../../lib/fetched';
import {compareRecords, findRun, refusal} from '../../lib/compare';
import {shorten} from '../../lib/format';
import {MODE_LABELS} from '../../lib/record';

function Chooser(): ReactNode {
  const runs = useFetched<ComparableRun[]>(['results/runs.json']);
  if (typeof runs === 'string') return <p role="status">{runs}</p>;
  return <Choices runs={runs[0] ?? []} />;
}

function Choices({runs}: {runs: ComparableRun[]}): ReactNode {
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
  const records = useFetched<ScenarioRecord>([a, b].map((run) => run.scenarios.find(({key}) => key === scenario)?.sitePath ?? ''));
  if (typeof records === 'string') return <p role="status">{records}</p>;
  const [first, second] = records;
  if (!first || !second) return null;
  const {rows, note} = compareRecords(first, second);
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

/** JSON files of the site, or what to say in their place. */
function useFetched<T>(paths: string[]): T[] | string {
  const {withBaseUrl} = useBaseUrlUtils();
  const [found, setFound] = useState<T[] | string>('Fetching the records …');
  const wantedPaths = paths.join(' ');
  useEffect(() => {
    let wanted = true;
    const fetched = wantedPaths.split(' ').map((path) => fetchedJson<T>(withBaseUrl(path)));
    Promise.all(fetched)
      .then((all) => wanted && setFound(all))
      .catch((error: unknown) => wanted && setFound(`The records could not be fetched: ${String(error)}`));
    return () => {
      wanted = false;
    };
  }, [wantedPaths, withBaseUrl]);
  return found;
}

export default island('compare-chooser', Chooser);
