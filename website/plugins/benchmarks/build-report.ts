// What a build took: the largest resident memory of its process, and its time. Written when the process ends, and held to its
// bound by `e2e/size.spec.ts`.
import {writeFileSync} from 'node:fs';
import path from 'node:path';

export interface BuildReport {
  /** Bundler, worker threads and all: they are threads of one process. */
  peak_rss_bytes: number;
  elapsed_s: number;
}

export const REPORT_FILE = 'build-report.json';

/** Has the report of this process written into `folder` at its end. */
export function reportAtExit(folder: string): void {
  process.once('exit', () => {
    const report: BuildReport = {peak_rss_bytes: process.resourceUsage().maxRSS * 1024, elapsed_s: Math.round(process.uptime())};
    writeFileSync(path.join(folder, REPORT_FILE), `${JSON.stringify(report)}\n`);
  });
}
