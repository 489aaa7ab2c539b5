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
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const offset = syntaxOffset(said, text);
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

// V8 says "… in JSON at position 123" or, where the text just stops, "Unexpected end of JSON input".
function syntaxOffset(said: string, text: string): number {
  const at = /position (\d+)/.exec(said);
  if (at?.[1]) return Math.min(Number(at[1]), text.length);
  return /end of JSON/.test(said) ? text.length : shortestBrokenPrefix(text);
}

// Newer V8s quote a snippet instead of a position. The fault lies where a prefix stops being a possible
// beginning of a JSON text: everything shorter fails by ending too early, everything longer fails otherwise.
function shortestBrokenPrefix(text: string): number {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (endsTooEarly(text.slice(0, middle + 1))) low = middle + 1;
    else high = middle;
  }
  return low;
}

function endsTooEarly(prefix: string): boolean {
  try {
    JSON.parse(prefix);
    return true;
  } catch (error) {
    return /end of JSON|Unterminated/.test(error instanceof Error ? error.message : '');
  }
}
