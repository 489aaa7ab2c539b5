// A table in a document: wider than the column of text it scrolls in a frame that the keyboard reaches.
import type {ComponentProps, ReactNode} from 'react';
import styles from './styles.module.css';

export default function WideTable(props: ComponentProps<'table'>): ReactNode {
  return (
    <div className={styles.frame} role="group" aria-label="Table" tabIndex={0}>
      <table {...props} />
    </div>
  );
}
