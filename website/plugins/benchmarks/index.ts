// How do stored results become pages? Reads and checks them, lets `routes` plan, and hands the plan to Docusaurus.
import {copyFile, mkdir, writeFile} from 'node:fs/promises';
import path from 'node:path';
import type {LoadContext, Plugin} from '@docusaurus/types';
import {compareData} from './beyond';
import {reportAtExit} from './build-report';
import {chooseContent} from './bundles';
import {loadDatabase} from './database';
import {writeDocuments} from './documents';
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
  const documentsFolder = path.join(context.generatedFilesDir, PLUGIN_NAME, 'documents');
  let documents: string[] = [];
  return {
    name: PLUGIN_NAME,

    getPathsToWatch() {
      return [path.join(resultsDir, 'index.json'), path.join(resultsDir, 'claims.json'), path.join(resultsDir, 'blessings.json'), path.join(resultsDir, 'calibration', '*.json'), path.join(resultsDir, 'gates', '*.json'), path.join(resultsDir, 'local', 'index.json')];
    },

    async loadContent() {
      const database = loadDatabase(process.env.PLUMBKV_DATABASE);
      return {...loadResults(resultsDir, new Validator(schema)), ...(database ? {database} : {})};
    },

    async contentLoaded({content, actions}) {
      const index = await writeDocuments(documentsFolder, routes(content), context.baseUrl);
      documents = Object.keys(index);
      for (const [at, {page, data}] of Object.entries(index)) {
        const route = {path: at, component: '@site/src/document/index.tsx', exact: true};
        // Where there is no server to render a document, its data set out with the scripts.
        actions.addRoute(process.env.NODE_ENV === 'production' ? route : {...route, props: {page: {name: page}}, modules: modulesOf(data)});
      }
    },

    getClientModules() {
      return [path.join(context.siteDir, 'src', 'document', 'navigation.ts')];
    },

    configureWebpack(config, isServer, utils) {
      const {siteDir, generatedFilesDir, baseUrl} = context;
      chooseContent(config, isServer, utils, {siteDir, generatedFilesDir, baseUrl, documentsFolder, documents});
      return stableNames(config, isServer);
    },

    async postBuild({content, outDir}) {
      reportAtExit(context.generatedFilesDir);
      await writeList(outDir, 'versions.json', pickerEntries(content));
      await writeList(outDir, 'runs.json', compareData(content));
      if (content.database) await copyFile(content.database.diskPath, path.join(outDir, content.database.sitePath));
      for (const {file} of [...(content.calibrations ?? []), ...(content.gates ?? []), ...(content.power ? [content.power] : [])]) await offer(file, outDir);
      for (const loaded of runsOf(content)) {
        for (const file of loaded.files) await offer(file, outDir);
      }
    },
  };
}

/** A list that scripts fetch, so that a page is the same whatever else is stored. */
async function writeList(outDir: string, name: string, list: unknown[]): Promise<void> {
  const file = path.join(outDir, 'results', name);
  await mkdir(path.dirname(file), {recursive: true});
  await writeFile(file, `${JSON.stringify(list, null, 1)}\n`);
}

function modulesOf(data: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([prop, file]) => [prop, `@generated/${PLUGIN_NAME}/documents/${file}`]));
}

async function offer({diskPath, sitePath}: RawFile, outDir: string): Promise<void> {
  const target = path.join(outDir, ...sitePath.split('/'));
  await mkdir(path.dirname(target), {recursive: true});
  await copyFile(diskPath, target);
}

function runsOf(content: Results): LoadedRun[] {
  return content.versions.flatMap(({machines}) => machines.flatMap(({runs}) => runs));
}
