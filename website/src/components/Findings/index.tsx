// Findings: the paragraphs that open a page, each marked with the trials and the spread behind it.
import type {ReactNode} from 'react';
import type {Finding} from '../../lib/sentences';
import styles from './styles.module.css';

export default function Findings({findings}: {findings: Finding[]}): ReactNode {
  if (findings.length === 0) return null;
  return (
    <div className={styles.findings}>
      {findings.map((finding) => (
        <Paragraph key={finding.text} finding={finding} />
      ))}
    </div>
  );
}

/** A test holds that no comparing word is printed outside an element with `data-verdict`, `data-n` and an interval. */
function Paragraph({finding: {kind, text, n, spread}}: {finding: Finding}): ReactNode {
  const marks = {...(n === undefined ? {} : {'data-n': n}), ...(spread === undefined ? {} : {'data-spread': spread})};
  if (kind === 'verdict') {
    return (
      <p data-verdict="sentence" {...marks}>
        {text}
      </p>
    );
  }
  return (
    <p className={kind === 'remark' ? styles.remark : styles.figures} {...marks}>
      {text}
    </p>
  );
}
