// Looks: the colour, dash and marker of what is drawn. Ours have the one accent; each rival has its own, everywhere the same.
import {symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolStar, symbolTriangle, type SymbolType, symbolWye} from 'd3-shape';

export type RivalLook = 'rival-1' | 'rival-2' | 'rival-3' | 'rival-4' | 'rival-5' | 'rival-6';

/** What a line or bar is of. `rival` alone is neutral grey. */
export type Look = 'ours' | 'ours-limited' | 'ours-host' | 'ours-published' | 'ours-strict' | 'ours-variant' | 'rival' | RivalLook | 'floor' | 'ceiling';

/** Rivals that are never in one chart may share a look. */
const RIVALS: Partial<Record<string, RivalLook>> = {
  'redis-server': 'rival-1',
  valkey: 'rival-2',
  memcached: 'rival-3',
  kevy: 'rival-4',
  dragonfly: 'rival-5',
  'redis-image': 'rival-6',
  rocksdb: 'rival-1',
  fjall: 'rival-2',
  lmdb: 'rival-3',
  redb: 'rival-4',
  sqlite: 'rival-5',
  postgresql: 'rival-1',
  mongodb: 'rival-2',
  elasticsearch: 'rival-3',
  nginx: 'rival-6',
};

export const RIVAL_LOOKS: RivalLook[] = ['rival-1', 'rival-2', 'rival-3', 'rival-4', 'rival-5', 'rival-6'];

/** The look of a rival by its key; one that is not listed gets one by the letters of its name. */
export function rivalLook(target: string): RivalLook {
  // A page that is merged from several runs tells programs of one key apart behind a tilde.
  const key = target.replace(/~.*$/, '');
  const sum = [...key].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return RIVALS[key] ?? RIVAL_LOOKS[sum % RIVAL_LOOKS.length] ?? 'rival-6';
}

const MARKERS: Record<Look, SymbolType> = {
  ours: symbolCircle,
  'ours-limited': symbolCircle,
  'ours-host': symbolCircle,
  'ours-published': symbolCircle,
  'ours-strict': symbolCircle,
  'ours-variant': symbolCircle,
  rival: symbolSquare,
  'rival-1': symbolSquare,
  'rival-2': symbolTriangle,
  'rival-3': symbolDiamond,
  'rival-4': symbolCross,
  'rival-5': symbolStar,
  'rival-6': symbolWye,
  floor: symbolCircle,
  ceiling: symbolCircle,
};

/** The outline of a look's marker around the origin. */
export function markerPath(look: Look): string {
  return (symbol(MARKERS[look], 34)() ?? '').replace(/-?\d+\.\d+/g, (number) => String(Math.round(Number(number) * 10) / 10));
}

/** Whether a look is of something that answers a constant: it has no marker. */
export function isConstant(look: Look): boolean {
  return look === 'floor' || look === 'ceiling';
}
