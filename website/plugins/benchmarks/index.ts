// How do stored results become pages? Reads and checks them, lets `routes` plan, and hands the plan to Docusaurus.
import {copyFile, mkdir, writeFile} from 'node:fs/promises';
import path from 'node:path';
import type {LoadContext, Plugin} from '@docusaurus/types';
import {loadDatabase} from './database';
import {writeHistograms} from './histograms';
import {type LoadedRun, type RawFile, type Results, loadResults} from './load';
import {pickerEntries, routes} from './routes';
import {stableNames} from './stable-names';
import {Validator} from './validate';

export const PLUGIN_NAME = 'plumbkv-benchmarks';

/** Folders the pages are made from; `PLUMBKV_RESULTS` names another results folder for tests. */
export function folders(siteDir: string): {results: string; schema: string} {
  return {
    results: path.resolve(process.env.PLUMBKV_RESULTS ?? path.join(siteDir, '..', 'results')),
    schema: path.resolve(siteDir, '..', 'bench-runner', 'schema'),
  };
}

export default function benchmarks(context: LoadContext): Plugin<Results> {
  const {results: resultsDir, schema} = folders(context.siteDir);
  return {
    name: PLUGIN_NAME,

    getPathsToWatch() {
      return [path.join(resultsDir, 'index.json'), path.join(resultsDir, 'claims.json'), path.join(resultsDir, 'blessings.json'), path.join(resultsDir, 'calibration', '*.json'), path.join(resultsDir, 'local', 'index.json')];
    },

    async loadContent() {
      const database = loadDatabase(process.env.PLUMBKV_DATABASE);
      return {...loadResults(resultsDir, new Validator(schema)), ...(database ? {database} : {})};
    },

    async contentLoaded({content, actions}) {
      const base = context.baseUrl.replace(/\/$/, '');
      const plan = routes(content);
      const files = new Map<string, string>();
      for (const [name, value] of plan.data) {
        const file = await actions.createData(`${name.replaceAll('/', '--')}.json`, JSON.stringify(value));
        // By alias: a chunk is named after its module's path, and where the checkout lies must not matter.
        files.set(name, `@generated/${path.relative(context.generatedFilesDir, file).replaceAll(path.sep, '/')}`);
      }
      for (const route of plan.routes) {
        const modules = Object.fromEntries(Object.entries(route.data).map(([prop, name]) => [prop, files.get(name) ?? '']));
        actions.addRoute({path: `${base}${route.path}`, component: route.component, exact: true, modules});
      }
    },

    configureWebpack(config, isServer) {
      return stableNames(config, isServer);
    },

    async postBuild({content, outDir}) {
      const versions = path.join(outDir, 'results', 'versions.json');
      await mkdir(path.dirname(versions), {recursive: true});
      await writeFile(versions, `${JSON.stringify(pickerEntries(content), null, 2)}\n`);
      if (content.database) await copyFile(content.database.diskPath, path.join(outDir, content.database.sitePath));
      for (const {file} of content.calibrations ?? []) await offer(file, outDir);
      for (const loaded of runsOf(content)) {
        for (const file of loaded.files) await offer(file, outDir);
        await writeHistograms(outDir, loaded);
      }
    },
  };
}

async function offer({diskPath, sitePath}: RawFile, outDir: string): Promise<void> {
  const target = path.join(outDir, ...sitePath.split('/'));
  await mkdir(path.dirname(target), {recursive: true});
  await copyFile(diskPath, target);
}

function runsOf(content: Results): LoadedRun[] {
  return content.versions.flatMap(({machines}) => machines.flatMap(({runs}) => runs));
}
