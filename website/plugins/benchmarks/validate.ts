// Is this JSON a record this site understands? Judged by the JSON Schemas generated from the Rust types.
import {readFileSync} from 'node:fs';
import path from 'node:path';
import Ajv2020, {type ErrorObject, type ValidateFunction} from 'ajv/dist/2020';
import {type Blessings, type Calibration, type Claims, type Gate, type Index, type Run, SCHEMA_VERSION, type ScenarioRecord} from '../../src/generated/records';
import {ResultsProblem, parseJson} from './problem';

interface Records {
  index: Index;
  run: Run;
  scenario: ScenarioRecord;
  claims: Claims;
  calibration: Calibration;
  blessings: Blessings;
  gate: Gate;
}
type Kind = keyof Records;

interface Compiled {
  validate: ValidateFunction;
  /** The version that the schema pins; kinds of records age apart from each other. */
  version: number;
}

/** Checks records against the schemas in one folder. */
export class Validator {
  private readonly compiled: Record<Kind, Compiled>;

  constructor(schemaDir: string) {
    // The generator writes Rust's integer widths as formats, which say nothing to a JSON reader.
    const ajv = new Ajv2020({strict: false, validateFormats: false});
    const compile = (kind: Kind): Compiled => {
      const file = path.join(schemaDir, `${kind}.schema.json`);
      const schema = parseJson(file, readFileSync(file, 'utf8')) as {properties?: {schema_version?: {const?: number}}};
      return {validate: ajv.compile(schema), version: schema.properties?.schema_version?.const ?? SCHEMA_VERSION};
    };
    this.compiled = {
      index: compile('index'),
      run: compile('run'),
      scenario: compile('scenario'),
      claims: compile('claims'),
      calibration: compile('calibration'),
      blessings: compile('blessings'),
      gate: compile('gate'),
    };
  }

  /** The text as a typed record, or a [`ResultsProblem`] that names file and field. */
  check<K extends Kind>(kind: K, file: string, text: string): Records[K] {
    const stored = parseJson(file, text);
    this.checkVersion(kind, file, stored);
    const value = kind === 'blessings' ? stored : migrated(stored, this.compiled[kind].version);
    const {validate} = this.compiled[kind];
    if (!validate(value)) {
      throw new ResultsProblem(
        file,
        describe(validate.errors ?? []),
        'restore the file from version control or measure again',
      );
    }
    return value as Records[K];
  }

  private checkVersion(kind: Kind, file: string, value: unknown): void {
    const {schema, schema_version: version} = (value ?? {}) as {schema?: unknown; schema_version?: unknown};
    if (schema !== `plumbkv.${kind}`) {
      throw new ResultsProblem(
        file,
        `field "schema" should be "plumbkv.${kind}"`,
        'the file is not what the index says; restore it or measure again',
      );
    }
    const newest = this.compiled[kind].version;
    if (typeof version === 'number' && version > newest) {
      throw new ResultsProblem(
        file,
        `has schema_version ${version}, this site reads up to ${newest}`,
        'update the checkout to the version that wrote it',
      );
    }
  }
}

// Versions 2 and 3 of runs and their index, and 2 of calibrations and gates, added fields that may be absent, so an older record is one of the
// newest version without them.
function migrated(value: unknown, version: number): unknown {
  const record = value as {schema_version?: unknown};
  return typeof record.schema_version === 'number' && record.schema_version >= 1 && record.schema_version < version ? {...record, schema_version: version} : value;
}

function describe(errors: ErrorObject[] = []): string {
  const [error] = errors;
  if (!error) return 'does not match its schema';
  const field = error.instancePath.slice(1).replaceAll('/', '.') || 'the record';
  // An enum whose values have a description each is a choice of constants in the schema.
  const choices = errors.filter((e) => e.keyword === 'const' && e.instancePath === error.instancePath).map((e) => String(e.params.allowedValue));
  if (error.keyword === 'const') return `field "${field}" must be one of ${choices.join(', ')}`;
  const params = error.params as {additionalProperty?: string; allowedValues?: unknown[]};
  if (params.additionalProperty) return `field "${field}" must not hold "${params.additionalProperty}"`;
  if (params.allowedValues) return `field "${field}" must be one of ${params.allowedValues.join(', ')}`;
  return `field "${field}" ${error.message ?? 'is wrong'}`;
}
