// The content of a document in the browser: the HTML that was built, kept as it is. React hydrates the frame around it
// and leaves the content alone; the islands within it become alive afterwards.
import Head from '@docusaurus/Head';
import {useLocation} from '@docusaurus/router';
import NotFoundContent from '@theme/NotFound/Content';
import {createElement, type ReactNode, useEffect, useRef} from 'react';
import Islands from './Islands';
import {CONTENT_ID, type DocumentProps} from './names';
import './styles';

export type {DocumentProps};

/** What the page brought along when it was loaded. This module is evaluated before React takes the page over. */
const loaded = {
  pathname: window.location.pathname,
  content: document.getElementById(CONTENT_ID)?.innerHTML,
  title: document.title,
  tags: [...document.head.querySelectorAll('meta[data-rh], link[data-rh]')].map((tag, key) =>
    createElement(tag.localName, {key, ...Object.fromEntries(tag.getAttributeNames().flatMap((name) => (name === 'data-rh' ? [] : [[name, tag.getAttribute(name)]])))}),
  ),
};

// One object for good: React writes the HTML again where it sees another.
const HTML = {__html: loaded.content ?? ''};

export default function Content(_props: DocumentProps): ReactNode {
  const {pathname} = useLocation();
  const ref = useRef<HTMLDivElement>(null);
  const isHere = pathname === loaded.pathname;
  // Another document has its own HTML, which only the server of the site can give.
  useEffect(() => {
    if (!isHere) window.location.reload();
  }, [isHere]);
  if (!isHere) return null;
  const head = (
    <Head>
      <title>{loaded.title}</title>
      {loaded.tags}
    </Head>
  );
  // The site answers with its page of what does not exist.
  if (loaded.content === undefined) {
    return (
      <>
        {head}
        <NotFoundContent />
      </>
    );
  }
  return (
    <>
      {head}
      <div id={CONTENT_ID} ref={ref} dangerouslySetInnerHTML={HTML} suppressHydrationWarning />
      <Islands within={ref} />
    </>
  );
}
