// The frame of every page of results: title, way back, version picker, badge.
import Link from '@docusaurus/Link';
import {PageMetadata} from '@docusaurus/theme-common';
import type {ReactNode} from 'react';
import Told from '../Told';
import VersionPicker from '../VersionPicker';
import styles from './styles.module.css';

export interface Crumb {
  label: string;
  href?: string;
}

interface Props {
  title: string;
  description: string;
  crumbs: Crumb[];
  /** Shown with the picker; absent on pages above versions. */
  place?: {version: string; machineKey: string};
  /** Key of the scenario that the page is about, for the way to the same one of another version. */
  scenario?: string;
  badge?: string;
  children: ReactNode;
}

export default function Page({title, description, crumbs, place, scenario, badge, children}: Props): ReactNode {
  return (
    <>
      <PageMetadata title={title} description={description} />
      <main className="page">
        <div className={styles.top}>
          <nav aria-label="Breadcrumb">
            <ol className={styles.crumbs}>
              {crumbs.map(({label, href}) => (
                <li key={label}>{href ? <Link to={href}>{label}</Link> : <span aria-current="page">{label}</span>}</li>
              ))}
            </ol>
          </nav>
          {place ? <VersionPicker version={place.version} machineKey={place.machineKey} {...(scenario === undefined ? {} : {scenario})} /> : null}
        </div>
        <h1 className={styles.title}>{title}</h1>
        {badge ? <p className={styles.badge}>{badge}</p> : null}
        {children}
      </main>
    </>
  );
}

/** The finding: what was found, then the regime in which it holds. */
export function Finding({sentences, regime}: {sentences: string[]; regime: string}): ReactNode {
  return (
    <div className={styles.finding}>
      {sentences.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <p className={styles.regime}>{regime}</p>
    </div>
  );
}

/** Paragraphs of a plain text, parted by empty lines. */
export function Prose({text}: {text: string}): ReactNode {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter(Boolean)
    .map((paragraph) => (
      <p key={paragraph}>
        <Told text={paragraph} />
      </p>
    ));
}
