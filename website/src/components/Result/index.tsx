// How does prose quote a figure? By the name of a stored one, which arrives with its unit, spread, n and link.
import Link from '@docusaurus/Link';
import {usePluginData} from '@docusaurus/useGlobalData';
import type {ReactNode} from 'react';
import {figure, scaleFor, withUnit} from '../../lib/format';
import type {Quote, QuoteName} from '../../lib/quotes';
import styles from './styles.module.css';

/** What the plugin hands to every page. */
export interface BenchmarksData {
  quotes: Partial<Record<QuoteName, Quote>>;
  /** Whether any run is stored. */
  any: boolean;
}

export function useBenchmarks(): BenchmarksData {
  return usePluginData('plumbkv-benchmarks') as BenchmarksData;
}

export default function Result({name}: {name: QuoteName}): ReactNode {
  const quote = useBenchmarks().quotes[name];
  if (!quote) return <span className={styles.absent}>not measured</span>;
  const {measurement, href} = quote;
  const scale = scaleFor(measurement.unit, measurement.high);
  const {value, low, high} = figure(measurement, scale);
  const spread = measurement.spread === 'range' ? 'range' : 'interval';
  return (
    <span className={styles.result}>
      <Link to={href}>{withUnit(value, scale.unit)}</Link>{' '}
      <span className={styles.spread}>
        ({low === high ? '' : `${spread} ${low}–${high}, `}n = {measurement.n})
      </span>
    </span>
  );
}
