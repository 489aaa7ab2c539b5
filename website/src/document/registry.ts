// The islands by name. Each is a chunk of its own, fetched by the pages that have one.
import type {ComponentType} from 'react';
import type {IslandName} from './island';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Load = () => Promise<{default: ComponentType<any>}>;

export const ISLANDS: Record<IslandName, Load> = {
  'capacity-assumptions': () => import('../components/Capacity/Assumptions'),
  'compare-chooser': () => import('../routes/compare/Chooser'),
  'copy-block': () => import('../components/CopyBlock'),
  histograms: () => import('../components/Histograms'),
  'version-picker': () => import('../components/VersionPicker'),
};
