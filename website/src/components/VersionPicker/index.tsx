// The way to another version, and whether there is a newer one: from a list fetched when the page is read, so that the page
// itself never changes when a version is added. Without scripts, links lead to the newest figures and to all versions.
import Link from '@docusaurus/Link';
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import {type ChangeEvent, type ReactNode, useEffect, useState} from 'react';
import type {PickerEntry} from '../../../plugins/benchmarks/routes';
import {island} from '../../document/island';
import {entryHref, newerThan} from '../../lib/picker';
import styles from './styles.module.css';

interface Props {
  version: string;
  machineKey: string;
  /** Key of the page's scenario; absent on the page of a version. */
  scenario?: string;
}

function VersionPicker({version, machineKey, scenario}: Props): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  const [entries, setEntries] = useState<PickerEntry[]>([]);
  useEffect(() => {
    let wanted = true;
    fetch(withBaseUrl('results/versions.json'))
      .then((reply) => (reply.ok ? (reply.json() as Promise<PickerEntry[]>) : []))
      .then((found) => wanted && setEntries(found))
      // The links beside the list still lead everywhere.
      .catch(() => undefined);
    return () => {
      wanted = false;
    };
  }, [withBaseUrl]);
  const here = entries.find((entry) => entry.version === version && entry.machine === machineKey);
  const newer = newerThan(entries, version, scenario);
  const go = (event: ChangeEvent<HTMLSelectElement>) => window.location.assign(withBaseUrl(event.target.value));
  return (
    <div className={styles.picker}>
      {here ? (
        <label>
          Version{' '}
          <select value={entryHref(here, scenario)} onChange={go}>
            {entries.map((entry) => (
              <option key={entry.href} value={entryHref(entry, scenario)}>
                {entry.version} · {entry.machine}
                {scenario !== undefined && !entry.scenarios.includes(scenario) ? ' (other scenarios)' : ''}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <span>
          Version {version} · {machineKey}
        </span>
      )}
      {newer ? (
        <strong>
          Newer: <Link to={entryHref(newer, scenario)}>{newer.version}</Link>
        </strong>
      ) : null}
      {scenario === undefined ? null : <Link to={`/benchmarks/latest/${scenario}/`}>Newest figures</Link>}
      <Link to="/benchmarks/">All versions</Link>
    </div>
  );
}

export default island('version-picker', VersionPicker);
