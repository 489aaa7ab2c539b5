// A file of `results/` outside of the index, as the site offers it: its digest is that of the bytes that were read.
import {createHash} from 'node:crypto';
import path from 'node:path';
import type {RawFile} from './load';

/** `folder` is the one below `results/` that has the file. */
export function offered(folder: string, diskPath: string, bytes: Buffer): RawFile {
  const name = path.basename(diskPath);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return {name, sitePath: `results/${folder}/${name}`, diskPath, sha256, bytes: bytes.length};
}
