// What each bundle holds of the documents: the server's renders them from files, the browser's has one route for all of
// them and neither their components nor their data. With `npm start` there is one bundle, and it holds everything.
import {readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import type {Plugin} from '@docusaurus/types';

type Configure = NonNullable<Plugin['configureWebpack']>;
type Config = Parameters<Configure>[0];
type Utils = Parameters<Configure>[2];

interface Site {
  siteDir: string;
  generatedFilesDir: string;
  baseUrl: string;
  /** Where `writeDocuments` wrote to. */
  documentsFolder: string;
  /** Addresses of the documents, with the site's base. */
  documents: string[];
}

/** A module without contents. */
const NOTHING = path.resolve(__dirname, 'nothing.js');

/** Changes a bundler's configuration in place. */
export function chooseContent(config: Config, isServer: boolean, utils: Pick<Utils, 'currentBundler'>, site: Site): void {
  const isBuild = config.mode === 'production';
  const content = isServer ? 'content.server' : isBuild ? 'content.client' : 'content.dev';
  const aliases: Record<string, string> = {'@document/content$': path.join(site.siteDir, 'src', 'document', `${content}.tsx`)};
  if (isServer) {
    config.plugins?.push(new utils.currentBundler.instance.DefinePlugin({DOCUMENTS_FOLDER: JSON.stringify(site.documentsFolder)}));
  } else if (isBuild) {
    aliases['@generated/routes$'] = writeClientRoutes(site);
    aliases['@generated/routesChunkNames$'] = writeClientChunkNames(site);
    // The theme loads a highlighter on every page, 110 KB, to teach it languages; no code of this site has colours.
    aliases[`${require.resolve('@docusaurus/theme-classic/lib/prism-include-languages')}$`] = NOTHING;
  }
  // Before the others: the first that fits is taken, and `@generated` fits as well.
  config.resolve = {...config.resolve, alias: {...aliases, ...(config.resolve?.alias as Record<string, string>)}};
}

// A table of every document's route would be half of the scripts that each page waits for, and grows with each run.
function writeClientRoutes({generatedFilesDir, baseUrl, documents}: Site): string {
  const table = readFileSync(path.join(generatedFilesDir, 'routes.js'), 'utf8');
  const file = path.join(generatedFilesDir, 'client-routes.js');
  writeFileSync(file, clientRoutes(table, documents, baseUrl));
  return file;
}

function writeClientChunkNames({generatedFilesDir, documents}: Site): string {
  const names = JSON.parse(readFileSync(path.join(generatedFilesDir, 'routesChunkNames.json'), 'utf8')) as Record<string, unknown>;
  const file = path.join(generatedFilesDir, 'client-routesChunkNames.json');
  writeFileSync(file, JSON.stringify(clientChunkNames(names, documents)));
  return file;
}

// As Docusaurus writes a route without subroutes; the hash tells routes of the same path apart.
const ROUTE = / {2}\{\n {4}path: '([^']*)',\n {4}component: ComponentCreator\('[^']*', '([^']*)'\),\n {4}exact: true\n {2}\},?\n/g;
const LAST = "  {\n    path: '*',";

/** The table of routes for the browser: one route in place of those of all documents, behind all others. */
export function clientRoutes(table: string, documents: string[], baseUrl: string): string {
  const known = new Set(documents);
  let taken = 0;
  let creator = '';
  const rest = table.replace(ROUTE, (route, at: string, hash: string) => {
    if (!known.has(at)) return route;
    taken += 1;
    // Any will do, since all have the same component; this one is always there.
    if (at === baseUrl) creator = `ComponentCreator('${at}', '${hash}')`;
    return '';
  });
  if (taken !== documents.length || creator === '' || !rest.includes(LAST)) {
    throw new Error(`routes.js is not written as expected: ${taken} of ${documents.length} documents were found in it; see plugins/benchmarks/bundles.ts`);
  }
  const paths = JSON.stringify([baseUrl, `${baseUrl}benchmarks/`, `${baseUrl}benchmarks/:document+/`]);
  return rest.replace(LAST, `  {\n    path: ${paths},\n    component: ${creator},\n    exact: true,\n    isDocument: true\n  },\n${LAST}`);
}

/** The chunks of each route, without those of the documents but the one at the site's root, which stands for all. */
export function clientChunkNames(names: Record<string, unknown>, documents: string[]): Record<string, unknown> {
  const [root, ...others] = [...documents].sort((a, b) => a.length - b.length);
  const known = new Set(others.filter((at) => at !== root));
  return Object.fromEntries(Object.entries(names).filter(([key]) => !known.has(key.replace(/-[^-]+$/, ''))));
}
