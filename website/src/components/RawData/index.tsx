// Where are the records behind a page? As files that can be downloaded and checked.
import {useBaseUrlUtils} from '@docusaurus/useBaseUrl';
import type {ReactNode} from 'react';
import type {RawLink} from '../../../plugins/benchmarks/routes';
import {bytes, short} from '../../lib/format';
import {PACKED} from '../../lib/record-files';

export default function RawData({files}: {files: RawLink[]}): ReactNode {
  const {withBaseUrl} = useBaseUrlUtils();
  const packed = files.some(({name}) => name.endsWith(PACKED));
  return (
    <>
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
      {packed ? (
        <p className="fine">
          <code>zstdcat wire-single.json.zst | jq .</code> reads a file that ends in <code>.zst</code>. Histograms are at the places in{' '}
          <code>histograms.hdr.zst</code> that the records name (HDR V2, first byte and length after decompression).
        </p>
      ) : null}
    </>
  );
}
