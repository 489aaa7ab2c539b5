// The documents of the site on disk: which page each address has, and the data sets of the pages as files. The server's
// bundle reads them while it renders (`src/document/content.server.tsx`), so they pass through no bundler: records in the
// module graph took 5.9 GB of memory with 28 runs.
import {createHash} from 'node:crypto';
import {mkdir, rm, writeFile} from 'node:fs/promises';
import path from 'node:path';
import type {PageName, Plan} from './routes';

/** What is at each address, with the site's base. */
export type DocumentIndex = Record<string, {page: PageName; data: Record<string, string>}>;

export const INDEX_FILE = 'index.json';

/** Writes every data set and the index of a plan into `folder`, one after the other: never are all in memory. */
export async function writeDocuments(folder: string, {routes, data}: Plan, baseUrl: string): Promise<DocumentIndex> {
  await rm(folder, {recursive: true, force: true});
  await mkdir(folder, {recursive: true});
  for (const [name, value] of data) await writeFile(path.join(folder, fileOf(name)), JSON.stringify(value()));
  const base = baseUrl.replace(/\/$/, '');
  const index: DocumentIndex = Object.fromEntries(
    routes.map((route) => [`${base}${route.path}`, {page: route.page, data: Object.fromEntries(Object.entries(route.data).map(([prop, name]) => [prop, fileOf(name)]))}]),
  );
  await writeFile(path.join(folder, INDEX_FILE), JSON.stringify(index));
  return index;
}

// Names of data sets are as long as a record likes; names of files are not.
function fileOf(name: string): string {
  return `${createHash('sha256').update(name).digest('hex').slice(0, 32)}.json`;
}
