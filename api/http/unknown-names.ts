import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { shown } from './decode.ts';

/** Names that begin with it are ignored: clients add such parameters so that no cache answers. */
const IGNORED = '_';
/** A known name that is further away than this share of its letters is no likely meaning. */
const FAR = 0.5;
/** A name of fewer letters may be part of a known one by chance. */
const SHORTEST_PART = 3;

/** A name that a request has and its endpoint does not know. */
interface UnknownName {
  /** Names and list positions that lead to it, itself last. */
  readonly path: readonly (string | number)[];
  /** Names that are known in its place. */
  readonly known: readonly string[];
}

/** First name of an object that is not among the known ones; null: all are known. */
export function unknownName(given: object, known: readonly string[]): UnknownName | null {
  const unknown = Object.keys(given).find((name) => !name.startsWith(IGNORED) && !known.includes(name));
  return unknown === undefined ? null : { path: [unknown], known };
}

/**
 * First name at any depth of a body that its schema does not know; null: all are known. Where a schema takes any value, as for a
 * GeoJSON geometry, every name is known. A value of another type than the schema's is left to the schema.
 */
export function unknownMember(schema: z.core.$ZodType, value: unknown): UnknownName | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unknownMember(schema.unwrap(), value);
  if (schema instanceof z.ZodPipe) return unknownMember(schema.in, value);
  if (schema instanceof z.ZodArray) return Array.isArray(value) ? unknownInList(schema.element, value) : null;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const { discriminator } = schema.def;
    const word = (value as Readonly<Record<string, unknown>>)[discriminator];
    const option = schema.options.find((one) => one instanceof z.ZodObject && isOfWord(one.shape[discriminator], word));
    return option === undefined ? null : unknownMember(option, value);
  }
  return schema instanceof z.ZodObject ? unknownInObject(schema.shape, value) : null;
}

function isOfWord(schema: z.core.$ZodType | undefined, word: unknown): boolean {
  return schema instanceof z.ZodLiteral && schema.values.has(word as string);
}

function unknownInObject(shape: z.core.$ZodShape, value: object): UnknownName | null {
  const here = unknownName(value, Object.keys(shape));
  if (here !== null) return here;
  for (const [name, member] of Object.entries(value)) {
    const schema = shape[name];
    const found = schema === undefined ? null : unknownMember(schema, member);
    if (found !== null) return { ...found, path: [name, ...found.path] };
  }
  return null;
}

function unknownInList(schema: z.core.$ZodType, values: readonly unknown[]): UnknownName | null {
  for (const [index, value] of values.entries()) {
    const found = unknownMember(schema, value);
    if (found !== null) return { ...found, path: [index, ...found.path] };
  }
  return null;
}

/** The known name nearest to an unknown one, or every known name, as the end of a message: `, did you mean radius_km?` */
export function meantName({ path, known }: UnknownName): string {
  const name = String(path.at(-1));
  if (name === 'lng' && known.includes('lon')) return ' (use lon)';
  const meant = nearestName(name, known);
  if (meant !== null) return `, did you mean ${meant}?`;
  return known.length === 0 ? ', expected none' : `, expected ${known.map(shown).join(', ')}`;
}

/** The known name that an unknown one is most like: one of which it is a part, or with the fewest different letters; null: none. */
function nearestName(name: string, known: readonly string[]): string | null {
  const lower = name.slice(0, 100).toLowerCase();
  const related = known.filter(
    (one) =>
      (lower.length >= SHORTEST_PART && one.includes(lower)) || (one.length >= SHORTEST_PART && lower.includes(one)),
  );
  if (related.length > 0) return closest(lower, related);
  if (known.length === 0) return null;
  const nearest = closest(lower, [...known]);
  return distance(lower, nearest) <= FAR * nearest.length ? nearest : null;
}
