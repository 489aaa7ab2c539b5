// How does a wide table fit a narrow screen? It scrolls inside its own labelled, focusable frame.
import type {ReactNode} from 'react';
import styles from './styles.module.css';

interface Props {
  /** Name of the frame for those who cannot see it. */
  label: string;
  children: ReactNode;
}

export default function ScrollTable({label, children}: Props): ReactNode {
  return (
    <div className={styles.outer}>
      <p className={styles.hint} aria-hidden="true">
        wider than the screen: scroll sideways →
      </p>
      <div className={styles.frame} role="region" aria-label={label} tabIndex={0}>
        {children}
      </div>
    </div>
  );
}
