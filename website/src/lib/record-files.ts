// Names of a run's files. Apart from `packed`, whose decompressor a page fetches only where it is wanted. Pure.

/** Ending of a compressed file's name. */
export const PACKED = '.zst';
/** The run's histograms, one after the other: HDR V2 without deflate. */
export const HISTOGRAMS = 'histograms.hdr.zst';
/** Whether a stored file is a scenario's record, of whichever version. */
export function isScenario(name: string, key?: string): boolean {
  const bare = name.endsWith(PACKED) ? name.slice(0, -PACKED.length) : name;
  return key === undefined ? bare.endsWith('.json') && bare !== 'run.json' : bare === `${key}.json`;
}
