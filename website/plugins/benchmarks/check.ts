// Are the stored results fit to be built? Run before the build, so that a fault is one line and not a stack trace.
import {loadResults} from './load';
import {folders} from './index';
import {ResultsProblem} from './problem';
import {Validator} from './validate';

const {results, schema} = folders(process.cwd());
try {
  loadResults(results, new Validator(schema));
} catch (error) {
  if (!(error instanceof ResultsProblem)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
