// How do the browser tests reach the built site? Through a small static server on a free port of the loopback.
import {createServer, type Server} from 'node:http';
import {existsSync, readFileSync, statSync} from 'node:fs';
import path from 'node:path';

export const BUILD_DIR = path.resolve(__dirname, '..', 'build');

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** Serves a build, with its page for what is not found; resolves to its address and a way to stop. */
export function serveBuild(build = BUILD_DIR, notFound = path.join(build, '404.html')): Promise<{url: string; stop: () => Promise<void>}> {
  if (!existsSync(notFound)) {
    throw new Error(`${build} holds no built site; run 'npm run build' first`);
  }
  const server: Server = createServer((request, response) => {
    const wanted = decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname);
    const file = resolveFile(build, wanted);
    const [status, sent] = file ? [200, file] : [404, notFound];
    response.writeHead(status, {'content-type': TYPES[path.extname(sent)] ?? 'application/octet-stream'});
    response.end(readFileSync(sent));
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      resolve({url: `http://127.0.0.1:${port}`, stop: () => new Promise((done) => server.close(() => done()))});
    });
  });
}

function resolveFile(build: string, wanted: string): string | undefined {
  const file = path.join(build, wanted);
  if (file !== build && !file.startsWith(build + path.sep)) return undefined;
  const candidate = existsSync(file) && statSync(file).isDirectory() ? path.join(file, 'index.html') : file;
  return existsSync(candidate) ? candidate : undefined;
}
