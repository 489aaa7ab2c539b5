// Compressed files of a record: JSON and histograms under zstd. Both the build and the reader's browser read them; neither Node 20 nor
// browsers have zstd, so it is done in JavaScript. Pure.
import {Decompress} from 'fzstd';
import type {Cell, Histogram} from '../generated/records';
import {HISTOGRAMS, PACKED} from './record-files';

/** As in `bench-runner/src/export/packed.rs`: no record decompresses to more. */
export const LIMIT_BYTES = 256 * 1024 * 1024;

/** The content of a file, decompressed where its name says so. */
export function content(name: string, stored: Uint8Array, limit = LIMIT_BYTES): Uint8Array {
  if (!name.endsWith(PACKED)) return stored;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  // A block has 128 KB at most, so that little more than the limit is ever held.
  const decompress = new Decompress((part) => {
    bytes += part.length;
    if (bytes > limit) throw new Error(`decompresses to more than ${limit >> 20} MiB, which no record does`);
    parts.push(part.slice());
  });
  // In pieces: `push` decompresses all that it was given before it returns anything.
  for (let at = 0; at < stored.length; at += STEP) decompress.push(stored.subarray(at, at + STEP), false);
  decompress.push(new Uint8Array(0), true);
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const STEP = 64 * 1024;

/** A file's JSON text. */
export function text(name: string, stored: Uint8Array): string {
  return new TextDecoder().decode(content(name, stored));
}

/** The cell with the text of each histogram, as HdrHistogram's log has it: what the record has, or made of the histogram file. */
export async function withTexts(cell: Cell, file: Uint8Array | undefined): Promise<Cell> {
  const filled = (histograms: Histogram[]) => Promise.all(histograms.map(async ({hdr_v2: place, ...histogram}) => (place ? {...histogram, hdr_v2_deflate_base64: await deflated(place, file)} : histogram)));
  const trials = await Promise.all(cell.trials.map(async (trial) => ({...trial, histograms: await filled(trial.histograms)})));
  return {...cell, trials, ...(cell.merged_histograms ? {merged_histograms: await filled(cell.merged_histograms)} : {})};
}

// HDR V2 with deflate: cookie, length, zlib stream; in base64.
async function deflated({at, bytes}: {at: number; bytes: number}, file: Uint8Array | undefined): Promise<string> {
  const raw = file?.slice(at, at + bytes);
  if (raw?.length !== bytes) throw new Error(`${HISTOGRAMS} has no ${bytes} bytes at ${at}`);
  const stream = new Blob([raw]).stream().pipeThrough(new CompressionStream('deflate'));
  const zlib = new Uint8Array(await new Response(stream).arrayBuffer());
  const whole = new Uint8Array(8 + zlib.length);
  const head = new DataView(whole.buffer);
  head.setUint32(0, 0x1c849314);
  head.setUint32(4, zlib.length);
  whole.set(zlib, 8);
  return btoa(Array.from(whole, (byte) => String.fromCharCode(byte)).join(''));
}
