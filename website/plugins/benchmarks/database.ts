// Is there a database of all records to download? Only where the caller of the build has just made one and says where.
import {createHash} from 'node:crypto';
import {existsSync, readFileSync} from 'node:fs';
import {ResultsProblem} from './problem';
import type {RawLink} from './routes';

/** One SQLite file with the rows of every record. */
export interface Database extends RawLink {
  diskPath: string;
}

/** Below the site's root. */
const SITE_PATH = 'results/plumbkv-results.sqlite';
const SQLITE = Buffer.from('SQLite format 3\0');

/** The database at `diskPath`; absent where none was made. Throws where the path holds something else. */
export function loadDatabase(diskPath: string | undefined): Database | undefined {
  if (!diskPath) return undefined;
  const next = "make it with 'bench-runner db rebuild --out FILE', or build without PLUMBKV_DATABASE";
  if (!existsSync(diskPath)) throw new ResultsProblem(diskPath, 'does not exist', next);
  const bytes = readFileSync(diskPath);
  if (!bytes.subarray(0, SQLITE.length).equals(SQLITE)) throw new ResultsProblem(diskPath, 'is no SQLite database', next);
  return {
    name: SITE_PATH.split('/').at(-1) ?? SITE_PATH,
    sitePath: SITE_PATH,
    diskPath,
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  };
}
