// How does a test get a site built from results of its own? By a real build into a folder of its own.
import {execFile} from 'node:child_process';
import path from 'node:path';
import {promisify} from 'node:util';

const SITE = path.resolve(__dirname, '..');

/** Builds the site from `results` into `out`, with more variables if need be; builds under different names share nothing and may run at once. */
export async function buildSite(name: string, results: string, out: string, environment: Record<string, string> = {}): Promise<void> {
  const cli = path.join(SITE, 'node_modules', '@docusaurus', 'core', 'bin', 'docusaurus.mjs');
  await promisify(execFile)(process.execPath, [cli, 'build', '--out-dir', out], {
    cwd: SITE,
    maxBuffer: 1 << 24,
    env: {
      ...process.env,
      PLUMBKV_RESULTS: results,
      DOCUSAURUS_GENERATED_FILES_DIR_NAME: `.docusaurus/${name}`,
      DOCUSAURUS_NO_PERSISTENT_CACHE: 'true',
      ...environment,
    },
  });
}
