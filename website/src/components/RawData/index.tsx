// Where are the records behind a page? As files that can be downloaded and checked.
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import type {ReactNode} from 'react';
import type {RawLink} from '../../../plugins/benchmarks/routes';
import {bytes, short} from '../../lib/format';

export default function RawData({files}: {files: RawLink[]}): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  return (
    <ul>
      {files.map(({name, sitePath, bytes: size, sha256}) => (
        <li key={sitePath}>
          <a href={withBaseUrl(sitePath)} download>
            {name}
          </a>{' '}
          <span className="fine">
            {bytes(size)}, SHA-256 {short(sha256)}…
          </span>
        </li>
      ))}
    </ul>
  );
}
