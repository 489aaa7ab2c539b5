// Does the browser's table of routes hold one route for all documents, and all that are not documents?
import {expect, test} from 'vitest';
import {clientChunkNames, clientRoutes} from '../plugins/benchmarks/bundles';

const route = (at: string, hash: string) => `  {\n    path: '${at}',\n    component: ComponentCreator('${at}', '${hash}'),\n    exact: true\n  },\n`;
const GUIDE = `  {\n    path: '/docs',\n    component: ComponentCreator('/docs', 'ccc'),\n    routes: [\n      {\n        path: '/docs',\n        component: ComponentCreator('/docs', 'ddd')\n      }\n    ]\n  },\n`;
const END = "  {\n    path: '*',\n    component: ComponentCreator('*'),\n  },\n];\n";
const DOCUMENTS = ['/', '/benchmarks/', '/benchmarks/0.1.0/'];
const TABLE = `export default [\n${route('/benchmarks/', 'aaa')}${route('/benchmarks/0.1.0/', 'bbb')}${route('/search/', 'eee')}${GUIDE}${route('/', 'fff')}${END}`;

test('one route stands for all documents, behind every other and before the one of what does not exist', () => {
  const made = clientRoutes(TABLE, DOCUMENTS, '/');
  expect(made).toBe(
    `export default [\n${route('/search/', 'eee')}${GUIDE}  {\n    path: ["/","/benchmarks/","/benchmarks/:document+/"],\n    component: ComponentCreator('/', 'fff'),\n    exact: true,\n    isDocument: true\n  },\n${END}`,
  );
});

test('a table that is written in another way is refused, not half taken', () => {
  expect(() => clientRoutes(TABLE.replace('exact: true', 'exact: !0'), DOCUMENTS, '/')).toThrow(/2 of 3 documents/);
  expect(() => clientRoutes(TABLE.replace("path: '*'", 'path: "*"'), DOCUMENTS, '/')).toThrow(/not written as expected/);
});

test('chunks are named for the document at the root alone, and for what is no document', () => {
  const names = Object.fromEntries(['/benchmarks/-aaa', '/benchmarks/0.1.0/-bbb', '/docs-ccc', '/docs/-ddd', '/-fff'].map((key) => [key, {__comp: key}]));
  expect(Object.keys(clientChunkNames(names, DOCUMENTS))).toEqual(['/docs-ccc', '/docs/-ddd', '/-fff']);
});
