// The content of a document while the site is built: its data sets are read from files, so that they pass through no bundle.
import {useLocation} from '@docusaurus/router';
import {readFileSync} from 'node:fs';
import path from 'node:path';
import type {ReactNode} from 'react';
import {type DocumentIndex, INDEX_FILE} from '../../plugins/benchmarks/documents';
import {WithinDocument} from './island';
import {CONTENT_ID, type DocumentProps} from './names';
import {PAGES} from './pages';

export type {DocumentProps};

/** Folder of the data sets, written into the server's bundle by `plugins/benchmarks/bundles.ts`. */
declare const DOCUMENTS_FOLDER: string;

let index: DocumentIndex | undefined;

function read<T>(file: string): T {
  return JSON.parse(readFileSync(path.join(DOCUMENTS_FOLDER, file), 'utf8')) as T;
}

export default function Content(_props: DocumentProps): ReactNode {
  const {pathname} = useLocation();
  index ??= read<DocumentIndex>(INDEX_FILE);
  const planned = index[pathname];
  if (!planned) throw new Error(`no document was planned for ${pathname}`);
  const Page = PAGES[planned.page];
  const data = Object.fromEntries(Object.entries(planned.data).map(([prop, file]) => [prop, read<unknown>(file)]));
  return (
    <div id={CONTENT_ID}>
      <WithinDocument.Provider value={true}>
        <Page {...data} />
      </WithinDocument.Provider>
    </div>
  );
}
