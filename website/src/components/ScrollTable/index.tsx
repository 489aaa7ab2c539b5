// The frame of a table: it scrolls sideways where the screen is too narrow, labelled and reachable by keyboard.
import clsx from 'clsx';
import type {ReactNode} from 'react';
import styles from './styles.module.css';

interface Props {
  /** Name of the frame for those who cannot see it. */
  label: string;
  /** Fits a wide screen, so that nothing scrolls there and its head sticks to the window. */
  isWide?: boolean;
  /** As wide as its table, not as the page. */
  isFit?: boolean;
  children: ReactNode;
}

export default function ScrollTable({label, isWide = false, isFit = false, children}: Props): ReactNode {
  return (
    <div className={clsx(styles.outer, isFit && styles.fit)}>
      {isFit ? null : (
        <p className={styles.hint} aria-hidden="true">
          wider than the screen: scroll sideways →
        </p>
      )}
      <div className={clsx(styles.frame, isWide && styles.wide)} role="region" aria-label={label} tabIndex={0}>
        {children}
      </div>
    </div>
  );
}
