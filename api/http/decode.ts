import { z } from 'zod';
import { escapeInvisible } from '../../schemas/errors.ts';
import { type Bbox, parseBbox } from '../../schemas/geo/position.ts';
import { isStateCode } from '../../schemas/reference/state-codes.ts';
import { isCalendarDate } from '../../schemas/time.ts';
import { decimal } from '../../schemas/units.ts';
import { ApiError } from './errors.ts';

/**
 * Text of a query string into values: the only place where text is converted. Each function makes the zod schema of one
 * parameter, from `string | undefined` to a typed value; only `repeatedQuery` accepts a parameter
 * more than once. Messages continue after the parameter's name: `lat` + ` is '5,0', expected a number from -90 to 90`.
 */
export type Parameter<Out> = z.ZodType<Out, string | undefined>;

interface Documented {
  readonly description?: string | undefined;
  readonly unit?: string | undefined;
}

interface NumberLimits extends Documented {
  readonly min: number;
  readonly max: number;
  /** `min` itself is refused. */
  readonly exclusiveMin?: boolean;
}
interface Default<Value> {
  readonly default: Value;
}

/** Characters of a text that a message shows. */
const LONGEST_SHOWN = 60;

/** Text as it may be shown in a message: shortened, quotes replaced, what cannot be seen escaped. */
export function shown(text: string): string {
  const characters = [...text.slice(0, 2 * LONGEST_SHOWN)];
  const short = characters.slice(0, LONGEST_SHOWN).join('');
  return `${escapeInvisible(short.replaceAll("'", '?'))}${short.length < text.length ? '…' : ''}`;
}

/** A point, required. */
export const pointQuery = {
  lat: number('number', { min: -90, max: 90, description: 'Latitude of the point, WGS84.', unit: 'deg' }),
  lon: number('number', { min: -180, max: 180, description: 'Longitude of the point, WGS84.', unit: 'deg' }),
};

/** Number within limits; absent: the default, or null. */
export function numberQuery(limits: NumberLimits & Default<number>): Parameter<number>;
export function numberQuery(limits: NumberLimits): Parameter<number | null>;
export function numberQuery(limits: NumberLimits & Partial<Default<number>>): Parameter<number | null> {
  return number<number | null>('number', limits, limits.default ?? null);
}

/** Whole number within limits (`24.0` is whole); absent: the default. */
export function integerQuery(limits: NumberLimits & Default<number>): Parameter<number> {
  return number('whole number', limits, limits.default);
}

/** How far around a point: above 0, up to a limit, km. */
export function radiusQuery(limits: Default<number> & { max: number; description?: string }): Parameter<number> {
  return numberQuery({ description: 'Search radius.', ...limits, min: 0, exclusiveMin: true, unit: 'km' });
}

/** Number that is moved to the nearest limit instead of refused; absent: the default. */
export function clampedQuery({ min, max, ...limits }: NumberLimits & Default<number>): Parameter<number> {
  const description = `${limits.description} Below ${min} it counts as ${min}, above ${max} as ${max}.`;
  const schema = { type: 'number', default: limits.default };
  const expected = `a number, taken as ${min} to ${max}`;
  return parameter({ ...limits, description }, expected, schema, limits.default, (text) => {
    const value = decimal(text);
    return value === null ? undefined : Math.min(max, Math.max(min, value));
  });
}

/** Date `YYYY-MM-DD` that exists in the calendar; absent: a refusal when `required`, else null. */
export function dateQuery(options: Documented & { readonly required: true }): Parameter<string>;
export function dateQuery(options?: Documented): Parameter<string | null>;
export function dateQuery(options: Documented & { readonly required?: true } = {}): Parameter<string | null> {
  const absent = options.required ? undefined : null;
  const schema = { type: 'string', format: 'date' };
  const read = (text: string) => (isCalendarDate(text) ? text : undefined);
  return parameter<string | null>(options, 'a date YYYY-MM-DD', schema, absent, read);
}

/** Month `YYYY-MM`; absent: null. */
export function monthQuery(options: Documented): Parameter<string | null> {
  const month = /^\d{4}-(0[1-9]|1[0-2])$/;
  const schema = { type: 'string', pattern: month.source };
  return textThat(options, 'a month YYYY-MM', schema, (text) => month.test(text));
}

/** `true` or `false`, nothing else; absent: the default. */
export function booleanQuery(absent: boolean, options: Documented): Parameter<boolean> {
  const schema = { type: 'boolean', default: absent };
  const read = (text: string) => [true, false].find((value) => text === String(value));
  return parameter(options, 'true or false', schema, absent, read);
}

/** One of the words, exactly as written; absent: the default, or null. */
export function enumQuery<const Word extends string, Absent extends Word | null>(
  words: readonly Word[],
  absent: Absent,
  options: Documented = {},
): Parameter<Word | Absent> {
  const schema = { type: 'string', enum: [...words], ...(absent !== null && { default: absent }) };
  const read = (text: string) => words.find((word) => word === text);
  return parameter<Word | Absent>(options, `one of ${words.join(', ')}`, schema, absent, read);
}

/** Words between commas, each exactly as written; absent: all of them. */
export function wordsQuery<const Word extends string>(
  words: readonly Word[],
  options: Documented = {},
): Parameter<readonly Word[]> {
  const schema = { type: 'string', default: words.join(',') };
  const expected = `some of ${words.join(', ')}, between commas`;
  return parameter<readonly Word[]>(options, expected, schema, words, (text) => {
    const asked = [...new Set(text.split(','))].map((word) => words.find((known) => known === word));
    return asked.every((word) => word !== undefined) ? asked : undefined;
  });
}

/** Text of 1 to a number of characters (code points), without NUL; absent: null. */
export function textQuery({ max, ...options }: Documented & { readonly max: number }): Parameter<string | null> {
  const schema = { type: 'string', minLength: 1, maxLength: max };
  const isShort = (text: string) => text !== '' && [...text].length <= max && !text.includes('\0');
  return textThat(options, `a text of 1 to ${max} characters`, schema, isShort);
}

/** `minLon,minLat,maxLon,maxLat`, each minimum below its maximum; absent: null. Not clipped to any region. */
export function bboxQuery(): Parameter<Bbox | null> {
  const description = 'Region as minLon,minLat,maxLon,maxLat; not together with state.';
  const expected = 'minLon,minLat,maxLon,maxLat with each minimum below its maximum';
  const schema = { type: 'string', example: '-103.5,31.2,-94.1,37.2' };
  return parameter<Bbox | null>({ description }, expected, schema, null, (text) => {
    const box = parseBbox(text);
    return typeof box === 'string' ? undefined : box;
  });
}

/** Two-letter USPS code of a state, district or territory; absent: null. */
export function stateQuery(): Parameter<string | null> {
  const description = 'Region as the USPS code of a state; not together with bbox.';
  const schema = { type: 'string', pattern: '^[A-Z]{2}$', example: 'OK' };
  return textThat({ description }, 'a two-letter USPS state code', schema, isStateCode);
}

/** Cursor of a page: an id or an operation name as `next_cursor` gave it; absent: null. The route checks that it is known. */
export function cursorQuery({
  description = 'next_cursor of the previous page.',
}: Documented = {}): Parameter<string | null> {
  const isCursor = (text: string) => /^[A-Za-z0-9_.:-]{1,128}$/.test(text);
  return textThat({ description }, 'the next_cursor of an earlier page', { type: 'string' }, isCursor);
}

/** Error for a cursor that names no item of the caller's business. */
export function unknownCursor(cursor: string): ApiError {
  return new ApiError('invalid_parameter', `cursor is '${shown(cursor)}', expected the next_cursor of an earlier page`);
}

/** Parameter that may come several times, in order; absent: an empty list. */
export function repeatedQuery({
  maxItems,
  description,
}: Documented & { readonly maxItems: number }): z.ZodType<string[], string | string[] | undefined> {
  return z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((given = []) => [given].flat())
    .refine((items) => items.length <= maxItems, {
      error: (issue) => `is given ${(issue.input as string[]).length} times, expected at most ${maxItems}`,
    })
    .meta({
      description,
      override: ({ jsonSchema }) => {
        delete jsonSchema.anyOf;
        Object.assign(jsonSchema, { type: 'array', items: { type: 'string' }, maxItems });
      },
    });
}

/**
 * A parameter: `expected` is what fits, as it stands after that word, `schema` its JSON Schema in the documentation, `absent` its value
 * where it is left out, which is refused when there is none. `read` gives the value of a text, undefined when it is none.
 */
function parameter<Out>(
  { description, unit }: Documented,
  expected: string,
  schema: Readonly<Record<string, unknown>>,
  absent: Out | undefined,
  read: (text: string) => Out | undefined,
): Parameter<Out> {
  const once = z.string({
    error: ({ input }) => `is ${input === undefined ? 'required' : 'given more than once'}, expected ${expected}`,
  });
  const text: z.ZodType<string | undefined, string | undefined> = absent === undefined ? once : once.optional();
  return text
    .transform((given, context): Out => {
      const value = given === undefined ? absent : read(given);
      if (value !== undefined) return value;
      const message = `is '${shown(given ?? '')}', expected ${expected}`;
      context.addIssue({ code: 'custom', message, input: given });
      return z.NEVER;
    })
    .meta({ description, ...(unit !== undefined && { unit }), override: { ...schema } });
}

/** A text that fits a test; absent: null. */
function textThat(
  options: Documented,
  expected: string,
  schema: Readonly<Record<string, unknown>>,
  fits: (text: string) => boolean,
): Parameter<string | null> {
  return parameter<string | null>(options, expected, schema, null, (text) => (fits(text) ? text : undefined));
}

function number<Out extends number | null = number>(
  kind: 'number' | 'whole number',
  { min, max, exclusiveMin = false, ...documented }: NumberLimits & Partial<Default<number>>,
  absent?: Out,
): Parameter<number | Out> {
  const expected = exclusiveMin ? `a ${kind} above ${min}, up to ${max}` : `a ${kind} from ${min} to ${max}`;
  const schema = {
    type: kind === 'number' ? 'number' : 'integer',
    ...(exclusiveMin ? { exclusiveMinimum: min } : { minimum: min }),
    maximum: max,
    ...(typeof absent === 'number' && { default: absent }),
  };
  return parameter<number | Out>(documented, expected, schema, absent, (text) => {
    const value = decimal(text);
    if (value === null || value > max || value < min || (exclusiveMin && value === min)) return undefined;
    if (kind === 'whole number' && !Number.isInteger(value)) return undefined;
    return value + 0; // -0 becomes 0, which JSON would write the same
  });
}
