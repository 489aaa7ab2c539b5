// How does a reader get to another version? By a list fetched when the page is read, so that the page itself never
// changes when a version is added; without scripts a link leads to the page that lists them all.
import Link from '@docusaurus/Link';
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import {type ChangeEvent, type ReactNode, useEffect, useState} from 'react';
import {island} from '../../document/island';
import type {PickerEntry} from '../../../plugins/benchmarks/routes';
import styles from './styles.module.css';

interface Props {
  version: string;
  machineKey: string;
}

function VersionPicker({version, machineKey}: Props): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  const [entries, setEntries] = useState<PickerEntry[]>([]);
  useEffect(() => {
    let wanted = true;
    fetch(withBaseUrl('results/versions.json'))
      .then((reply) => (reply.ok ? (reply.json() as Promise<PickerEntry[]>) : []))
      .then((found) => wanted && setEntries(found))
      // The link beside the list still leads everywhere.
      .catch(() => undefined);
    return () => {
      wanted = false;
    };
  }, [withBaseUrl]);
  const here = `/benchmarks/${version}/${machineKey}/`;
  const go = (event: ChangeEvent<HTMLSelectElement>) => window.location.assign(withBaseUrl(event.target.value));
  return (
    <div className={styles.picker}>
      {entries.length > 0 ? (
        <label>
          Version{' '}
          <select value={here} onChange={go}>
            {entries.map(({href, version: name, machine}) => (
              <option key={href} value={href}>
                {name} · {machine}
              </option>
            ))}
          </select>
        </label>
      ) : (
        <span>
          Version {version} · {machineKey}
        </span>
      )}
      <Link to="/benchmarks/">All versions</Link>
    </div>
  );
}

export default island('version-picker', VersionPicker);
