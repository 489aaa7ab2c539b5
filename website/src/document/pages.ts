// The pages by name: the component that renders each kind of document. In the browser's bundle of no production build.
import type {ComponentType} from 'react';
import type {PageName} from '../../plugins/benchmarks/routes';
import Claims from '../routes/Claims';
import Compare from '../routes/Compare';
import Components from '../routes/Components';
import Gate from '../routes/Gate';
import Home from '../routes/Home';
import Latest from '../routes/Latest';
import Overview from '../routes/Overview';
import Scenario from '../routes/Scenario';
import Trend from '../routes/Trend';
import TrendList from '../routes/TrendList';
import Version from '../routes/Version';
import VersionOverview from '../routes/VersionOverview';

// Each component takes the data sets that `routes` names for it; they pass through files, where types end.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export const PAGES: Record<PageName, ComponentType<any>> = {
  home: Home,
  overview: Overview,
  versionOverview: VersionOverview,
  version: Version,
  scenario: Scenario,
  components: Components,
  claims: Claims,
  compare: Compare,
  gate: Gate,
  trend: Trend,
  trendList: TrendList,
  latest: Latest,
};
