// How are commands offered? As plain text that can be selected, with a copy button where scripts run.
import useIsBrowser from '@docusaurus/useIsBrowser';
import {type ReactNode, useState} from 'react';
import {island} from '../../document/island';
import styles from './styles.module.css';

interface Props {
  /** Commands, one a line. */
  lines: string[];
  label: string;
}

function CopyBlock({lines, label}: Props): ReactNode {
  const [said, setSaid] = useState('Copy');
  const canCopy = useIsBrowser() && typeof navigator !== 'undefined' && Boolean(navigator.clipboard);
  const copy = () =>
    navigator.clipboard.writeText(lines.join('\n')).then(
      () => setSaid('Copied'),
      () => setSaid('Select and copy by hand'),
    );
  return (
    <div className={styles.block}>
      <pre className={styles.text} role="group" aria-label={label}>
        <code>{lines.join('\n')}</code>
      </pre>
      <div className={styles.bar}>
        {canCopy ? (
          <button type="button" className={styles.button} onClick={copy} aria-live="polite">
            {said}
          </button>
        ) : null}
      </div>
    </div>
  );
}

export default island('copy-block', CopyBlock);
