// The docs plugin: the files of the catalogue, each read where it is in the repository.
//
// Docusaurus's own plugin does the work. Its content folder is the root of the repository, of which it
// would watch everything while `npm start` runs, so this one names the files to watch.
import path from 'node:path';
import contentDocs, {type Options, type PluginOptions} from '@docusaurus/plugin-content-docs';
import type {LoadContext, Plugin} from '@docusaurus/types';
import {ENTRIES} from './catalogue';
import {headings} from './headings';
import {parents} from './parents';
import {repositoryLinks} from './links';
import {snippets} from './snippets';

export {validateOptions} from '@docusaurus/plugin-content-docs';

/** Root of the repository, which all paths of the catalogue begin at. */
const ROOT = path.resolve(__dirname, '..', '..', '..');

/** Options of the plugin for a repository and a site at these addresses. */
export function options(repository: string, site: string): Options {
  return {
    path: ROOT,
    include: ENTRIES.map(({file}) => file),
    // Addresses of the catalogue begin at the site's base.
    routeBasePath: '/',
    sidebarPath: './sidebars.ts',
    breadcrumbs: false,
    editUrl: ({docPath}) => `${repository}/edit/main/${docPath}`,
    beforeDefaultRemarkPlugins: [
      [repositoryLinks, {repository, root: ROOT, site}],
      [snippets, {root: ROOT}],
      headings,
    ],
  };
}

export default async function docs(context: LoadContext, given: PluginOptions): Promise<Plugin> {
  const plugin = (await contentDocs(context, given)) as Plugin<unknown>;
  return {
    ...plugin,
    getPathsToWatch: () => ENTRIES.map(({file}) => path.join(ROOT, file)),
    async contentLoaded(args) {
      const addRoute: typeof args.actions.addRoute = (route) => parents(route, context.baseUrl).forEach(args.actions.addRoute);
      await plugin.contentLoaded?.({...args, actions: {...args.actions, addRoute}});
    },
  } as Plugin;
}
