import { html, inlineCode } from './docs-html.ts';

/** The parts of a JSON schema that the pages show. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly 'x-default'?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly format?: string;
  readonly 'x-unit'?: string;
  readonly 'x-extensible-enum'?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

/** Fields of an answer are listed down to this depth. */
const DEEPEST = 4;

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** The object shapes of a value: one, or the members of a union except null. */
function objectShapes(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): readonly JsonSchema[] {
  const known = resolveRef(schema, schemas);
  const several = known.oneOf ?? known.anyOf;
  return several === undefined
    ? [known]
    : several.filter(({ type }) => type !== 'null').flatMap((one) => objectShapes(one, schemas));
}

/** Fields of a schema; nested fields have dotted names; a union has the fields of every shape. */
function fieldRows(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
  prefix = '',
  depth = 0,
): readonly Field[] {
  return objectShapes(schema, schemas).flatMap((known) => {
    if (known.items) return fieldRows(known.items, schemas, `${prefix}[]`, depth);
    if (depth >= DEEPEST) return [];
    return Object.entries(known.properties ?? {}).flatMap(([name, member]) => {
      const path = prefix === '' ? name : `${prefix}.${name}`;
      const field = {
        name: path,
        required: known.required?.includes(name) ?? false,
        schema: resolveRef(member, schemas),
      };
      return [field, ...fieldRows(member, schemas, path, depth + 1)];
    });
  });
}

/** Names of the fields of a value, without the fields that they are in. */
export function fieldNames(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): readonly string[] {
  return fieldRows(schema, schemas).map(({ name }) => name.split('.').at(-1) ?? name);
}

/** Fields of a body or an answer, one table for each shape. */
export function fieldTables(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
  mark: typeof requiredMark,
): string {
  const shapes = objectShapes(schema, schemas).filter((shape) => fieldRows(shape, schemas).length > 0);
  const tables = shapes.map((shape) => fieldTable(fieldRows(shape, schemas), mark));
  return tables.length < 2
    ? tables.join('')
    : tables.map((table, k) => `<p>${k === 0 ? 'Either' : 'Or'}</p>\n${table}`).join('\n');
}

function fieldTable(fields: readonly Field[], mark: typeof requiredMark): string {
  const rows = fields.map(
    ({ name, required, schema }) =>
      `<tr><td><code>${html(name)}</code>${mark(required)}</td><td class="limits">${html(schemaLimits(schema))}</td><td>${inlineCode(schemaMeaning(schema))}</td></tr>`,
  );
  return `<div class="scroll" tabindex="0"><table><thead><tr><th>Name</th><th>Values</th><th>Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

/** Description of a schema; of a nullable schema without one, that of its first described member. */
function schemaMeaning({ description, anyOf = [] }: JsonSchema): string {
  return description ?? anyOf.find((one) => one.description !== undefined)?.description ?? '';
}

/** Mark of a field that an answer may lack. */
export function alwaysMark(required: boolean | undefined): string {
  return required ? '' : '<span class="optional">not always</span>';
}

/** Mark of a required or optional field. */
export function requiredMark(required: boolean | undefined): string {
  return required ? '<span class="required">required</span>' : '<span class="optional">optional</span>';
}

function resolveRef(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return schema.$ref === undefined ? schema : (schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
}

/** Values that a schema accepts, in a few words. */
export function schemaLimits(schema: JsonSchema): string {
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.map((one) => (one.type === 'null' ? 'null' : schemaLimits(one))).join(' or ');
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? '';
  const kind = [schema.type]
    .flat()
    .filter((type) => type !== undefined)
    .join(' or ');
  const isWide = schema.maximum === undefined || schema.maximum >= Number.MAX_SAFE_INTEGER;
  const low = schema.exclusiveMinimum ?? schema.minimum;
  const unit = schema['x-unit'];
  const standard = schema.default ?? schema['x-default'];
  return [
    schemaWords(schema) ?? schema.format ?? kind,
    low !== undefined && low > Number.MIN_SAFE_INTEGER && !isWide
      ? `${schema.exclusiveMinimum === undefined ? '' : 'above '}${low} to ${schema.maximum}`
      : '',
    lengthRange(schema.minItems, schema.maxItems, ''),
    lengthRange(schema.minLength, schema.maxLength, ' characters'),
    unit === undefined || unit === '1' ? '' : `in ${unit}`,
    standard === undefined ? '' : `default ${standard}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

/** Enum values of a schema; those of an answer may grow and end in `…`. */
function schemaWords({ const: only, enum: closed, 'x-extensible-enum': open }: JsonSchema): string | null {
  if (only !== undefined) return String(only);
  if (closed) return closed.join(' | ');
  return open ? `${open.join(' | ')} | …` : null;
}

function lengthRange(least: number | undefined, most: number | undefined, of: string): string {
  if (most === undefined) return least === undefined ? '' : `at least ${least}${of}`;
  return least === undefined ? `up to ${most}${of}` : `${least} to ${most}${of}`;
}
