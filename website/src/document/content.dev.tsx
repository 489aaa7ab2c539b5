// The content of a document under `npm start`, where nothing is rendered on a server: an ordinary page of React, whose
// data sets reach it through the bundle.
import type {ReactNode} from 'react';
import type {DocumentProps} from './names';
import {PAGES} from './pages';

export type {DocumentProps};

export default function Content({page, ...data}: DocumentProps): ReactNode {
  const Page = PAGES[page?.name ?? 'home'];
  return <Page {...data} />;
}
