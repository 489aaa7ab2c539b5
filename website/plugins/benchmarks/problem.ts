// How is a fault in the stored results told: which file, where in it, what to do next?

/** A fault in `results/` that must stop the build. Its message is one line. */
export class ResultsProblem extends Error {
  constructor(file: string, what: string, next: string) {
    super(`${file}: ${what.replace(/\s+/g, ' ').trim()}; ${next}`);
    this.name = 'ResultsProblem';
  }
}

/** Parses JSON; a syntax error names file, line and column. */
export function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const offset = syntaxOffset(text);
    const before = text.slice(0, offset);
    const line = before.split('\n').length;
    const column = offset - (before.lastIndexOf('\n') + 1) + 1;
    throw new ResultsProblem(
      file,
      `is not valid JSON at line ${line}, column ${column}`,
      'restore the file from version control or measure again',
    );
  }
}

// V8 names a position for some errors, quotes a snippet for others. The fault lies where a prefix stops being a
// possible beginning of a JSON text: shorter prefixes fail only by ending too early, longer ones fail before their end.
function syntaxOffset(text: string): number {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (couldGoOn(text.slice(0, middle + 1))) low = middle + 1;
    else high = middle;
  }
  return low;
}

function couldGoOn(prefix: string): boolean {
  try {
    JSON.parse(prefix);
    return true;
  } catch (error) {
    const said = error instanceof Error ? error.message : '';
    const at = /position (\d+)/.exec(said)?.[1];
    return /end of JSON|Unterminated/.test(said) || (at !== undefined && Number(at) >= prefix.length);
  }
}
