// Under which names does the bundler write its files, so that a page that is done never changes?
//
// A page names its scripts and its style sheet. Were a hash of their contents part of the name, every page of every
// older version would change with each run that is added, since the table of routes is one of those contents. So the
// names are made from what does not change: the route's data set, the component, the entry.
import type {Plugin} from '@docusaurus/types';

type Configure = NonNullable<Plugin['configureWebpack']>;

// With real content hashes the bundler searches the emitted files for each of its eight-digit hashes and puts another
// in its place. A figure may contain those eight digits, and was altered once: no hash may touch data.
const NO_TOUCHING = {realContentHash: false};

/** What is changed in a build for production; a development server has such names already. */
export function stableNames(config: Parameters<Configure>[0], isServer: boolean): ReturnType<Configure> {
  if (isServer || config.mode !== 'production') return {optimization: NO_TOUCHING};
  for (const plugin of config.plugins ?? []) {
    const {options} = (plugin ?? {}) as {options?: {filename?: unknown; chunkFilename?: unknown}};
    if (plugin?.constructor.name.startsWith('CssExtract') && options) {
      options.filename = 'assets/css/[name].css';
      options.chunkFilename = 'assets/css/[name].css';
    }
  }
  return {
    output: {filename: 'assets/js/[name].js', chunkFilename: 'assets/js/[name].js'},
    optimization: {
      ...NO_TOUCHING,
      // Short ids are handed out so as not to collide, so one more module may change those of others.
      moduleIds: 'named',
      chunkIds: 'named',
      // Docusaurus puts into it what half of all pages share: a share that changes with their number.
      splitChunks: {cacheGroups: {common: {minChunks: 2}}},
    },
  };
}
