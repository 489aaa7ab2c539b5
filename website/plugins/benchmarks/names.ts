// Which names may become part of an address, and how is a file of the results called in a message?
import path from 'node:path';
import {ResultsProblem} from './problem';

/** Names that become parts of an address and of a path. */
export const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]*$/;

/** The name, or a [`ResultsProblem`] where it cannot be part of an address. */
export function safe(file: string, what: string, name: string): string {
  if (SAFE_NAME.test(name)) return name;
  throw new ResultsProblem(file, `${what} ${JSON.stringify(name)} cannot be part of an address`, 'use letters, digits, dots and dashes');
}

/** Path of a file as messages name it: from the root of the checkout, wherever that lies. */
export function shown(root: string, file: string): string {
  return path.join('results', path.relative(root, file));
}
