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

/** What the documentation says about a parameter. */
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
interface Required {
  readonly required: true;
}

/** Characters of a text that a message shows. */
const LONGEST_SHOWN = 60;

/** Text as it may be shown in a message: shortened, quotes replaced, what cannot be seen escaped. */
export function shown(text: string): string {
  const characters = [...text.slice(0, 2 * LONGEST_SHOWN)];
  const short = characters.slice(0, LONGEST_SHOWN).join('');
  return `${escapeInvisible(short.replaceAll("'", '?'))}${short.length < text.length ? '…' : ''}`;
}

/** Required latitude, -90 to 90. */
export function latitudeQuery(description = 'Latitude of the point, WGS84.'): Parameter<number> {
  return numberParameter('number', { min: -90, max: 90, description, unit: 'deg' }, { required: true });
}

/** Required longitude, -180 to 180. */
export function longitudeQuery(description = 'Longitude of the point, WGS84.'): Parameter<number> {
  return numberParameter('number', { min: -180, max: 180, description, unit: 'deg' }, { required: true });
}

/** Number within limits; absent: the default, or null. */
export function numberQuery(limits: NumberLimits & Default<number>): Parameter<number>;
export function numberQuery(limits: NumberLimits): Parameter<number | null>;
export function numberQuery(limits: NumberLimits & Partial<Default<number>>): Parameter<number | null> {
  return numberParameter<number | null>('number', limits, { default: limits.default ?? null });
}

/** Whole number within limits (`24.0` is whole); absent: the default. */
export function integerQuery(limits: NumberLimits & Default<number>): Parameter<number> {
  return numberParameter('whole number', limits, limits);
}

/** How far around a point: above 0, up to a limit, km. */
export function radiusQuery(limits: Default<number> & { max: number; description?: string }): Parameter<number> {
  return numberQuery({ description: 'Search radius.', ...limits, min: 0, exclusiveMin: true, unit: 'km' });
}

/** Number that is moved to the nearest limit instead of refused; absent: the default. */
export function clampedQuery({ description, ...limits }: NumberLimits & Default<number>): Parameter<number> {
  const { min, max } = limits;
  return parameter({
    ...limits,
    description: `${description} Below ${min} it counts as ${min}, above ${max} as ${max}.`,
    expected: `a number, taken as ${min} to ${max}`,
    schema: { type: 'number', default: limits.default },
    read: (text) => {
      const value = decimal(text);
      return value === null ? undefined : Math.min(max, Math.max(min, value));
    },
  });
}

/** Date `YYYY-MM-DD` that exists in the calendar; absent: a refusal when `required`, else null. */
export function dateQuery(options: Documented & Required): Parameter<string>;
export function dateQuery(options?: Documented): Parameter<string | null>;
export function dateQuery(options: Documented & Partial<Required> = {}): Parameter<string | null> {
  const schema = { type: 'string', format: 'date' };
  return optional<string>(options, 'a date YYYY-MM-DD', schema, (text) => (isCalendarDate(text) ? text : undefined));
}

/** Month `YYYY-MM`; absent: null. */
export function monthQuery(options: Documented): Parameter<string | null> {
  const month = /^\d{4}-(0[1-9]|1[0-2])$/;
  const schema = { type: 'string', pattern: month.source };
  return optional(options, 'a month YYYY-MM', schema, (text) => (month.test(text) ? text : undefined));
}

/** `true` or `false`, nothing else; absent: the default. */
export function booleanQuery(defaultValue = false, options: Documented = {}): Parameter<boolean> {
  return parameter({
    ...options,
    expected: 'true or false',
    schema: { type: 'boolean', default: defaultValue },
    default: defaultValue,
    read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  });
}

/** One of the words, exactly as written; absent: the default. */
export function enumQuery<const Word extends string>(
  words: readonly Word[],
  defaultWord: Word,
  options: Documented = {},
): Parameter<Word> {
  return parameter<Word>({
    ...options,
    expected: `one of ${words.join(', ')}`,
    schema: { type: 'string', enum: [...words], default: defaultWord },
    default: defaultWord,
    read: (text) => words.find((word) => word === text),
  });
}

/** One of the words, exactly as written; absent: null. */
export function optionalWordQuery<const Word extends string>(
  words: readonly Word[],
  options: Documented = {},
): Parameter<Word | null> {
  const schema = { type: 'string', enum: [...words] };
  return optional<Word>(options, `one of ${words.join(', ')}`, schema, (text) => words.find((word) => word === text));
}

/** Words between commas, each exactly as written; absent: all of them. */
export function wordsQuery<const Word extends string>(
  words: readonly Word[],
  options: Documented = {},
): Parameter<readonly Word[]> {
  return parameter<readonly Word[]>({
    ...options,
    expected: `some of ${words.join(', ')}, between commas`,
    schema: { type: 'string', default: words.join(',') },
    default: words,
    read: (text) => {
      const asked = [...new Set(text.split(','))].map((word) => words.find((known) => known === word));
      return asked.every((word) => word !== undefined) ? asked : undefined;
    },
  });
}

/** Text of 1 to a number of characters (code points), without NUL; absent: null. */
export function textQuery({ max, ...options }: Documented & { readonly max: number }): Parameter<string | null> {
  const schema = { type: 'string', minLength: 1, maxLength: max };
  return optional(options, `a text of 1 to ${max} characters`, schema, (text) =>
    text !== '' && [...text].length <= max && !text.includes('\0') ? text : undefined,
  );
}

/** `minLon,minLat,maxLon,maxLat`, each minimum below its maximum; absent: null. Not clipped to any region. */
export function bboxQuery(): Parameter<Bbox | null> {
  const description = 'Region as minLon,minLat,maxLon,maxLat; not together with state.';
  const expected = 'minLon,minLat,maxLon,maxLat with each minimum below its maximum';
  return optional<Bbox>({ description }, expected, { type: 'string', example: '-103.5,31.2,-94.1,37.2' }, (text) => {
    const box = parseBbox(text);
    return typeof box === 'string' ? undefined : box;
  });
}

/** Two-letter USPS code of a state, district or territory; absent: null. */
export function stateQuery(): Parameter<string | null> {
  const description = 'Region as the USPS code of a state; not together with bbox.';
  const schema = { type: 'string', pattern: '^[A-Z]{2}$', example: 'OK' };
  return optional<string>({ description }, 'a two-letter USPS state code', schema, (text) =>
    isStateCode(text) ? text : undefined,
  );
}

/** Cursor of a page: an id or an operation name as `next_cursor` gave it; absent: null. The route checks that it is known. */
export function cursorQuery({
  description = 'next_cursor of the previous page.',
}: Documented = {}): Parameter<string | null> {
  return optional({ description }, 'the next_cursor of an earlier page', { type: 'string' }, (text) =>
    /^[A-Za-z0-9_.:-]{1,128}$/.test(text) ? text : undefined,
  );
}

/** Error for a cursor that names no item of the caller's business. */
export function unknownCursor(cursor: string): ApiError {
  return new ApiError('invalid_parameter', `cursor is '${shown(cursor)}', expected the next_cursor of an earlier page`);
}

/** Parameter that may come several times, in order; absent: an empty list. */
export function repeatedQuery(
  options: Documented & { readonly maxItems: number },
): z.ZodType<string[], string | string[] | undefined> {
  return z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((given) => (given === undefined ? [] : typeof given === 'string' ? [given] : given))
    .refine((items) => items.length <= options.maxItems, {
      error: (issue) => `is given ${(issue.input as string[]).length} times, expected at most ${options.maxItems}`,
    })
    .meta({
      ...documented(options),
      override: ({ jsonSchema }) => {
        delete jsonSchema.anyOf;
        Object.assign(jsonSchema, { type: 'array', items: { type: 'string' }, maxItems: options.maxItems });
      },
    });
}

interface Reading<Out> extends Documented {
  /** What fits, as it stands after 'expected'. */
  readonly expected: string;
  /** JSON Schema in the documentation. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required?: true;
  readonly default?: Out;
  /** Value of the text, undefined when it is none. */
  readonly read: (text: string) => Out | undefined;
}

function parameter<Out>(reading: Reading<Out>): Parameter<Out> {
  const once = z.string({
    error: (issue) =>
      issue.input === undefined
        ? `is required, expected ${reading.expected}`
        : `is given more than once, expected ${reading.expected}`,
  });
  const text: z.ZodType<string | undefined, string | undefined> = reading.required ? once : once.optional();
  return text
    .transform((given, context): Out => {
      const value = given === undefined ? reading.default : reading.read(given);
      if (value !== undefined) return value;
      context.addIssue({
        code: 'custom',
        message: `is '${shown(given ?? '')}', expected ${reading.expected}`,
        input: given,
      });
      return z.NEVER;
    })
    .meta({ ...documented(reading), override: { ...reading.schema } });
}

/** A parameter that is null when it is absent, unless it is required. */
function optional<Out>(
  options: Documented & Partial<Required>,
  expected: string,
  schema: Reading<Out>['schema'],
  read: Reading<Out>['read'],
): Parameter<Out | null> {
  return parameter<Out | null>({ ...options, expected, schema, default: null, read });
}

function documented({ description, unit }: Documented): Documented {
  return { ...(description === undefined ? {} : { description }), ...(unit === undefined ? {} : { unit }) };
}

function numberParameter<Out extends number | null>(
  kind: 'number' | 'whole number',
  limits: NumberLimits & Partial<Default<number>>,
  absent: Required | Default<Out>,
): Parameter<number | Out> {
  const { min, max, exclusiveMin = false, description, unit } = limits;
  return parameter<number | Out>({
    ...{ description, unit, ...absent },
    expected: exclusiveMin ? `a ${kind} above ${min}, up to ${max}` : `a ${kind} from ${min} to ${max}`,
    schema: {
      type: kind === 'number' ? 'number' : 'integer',
      ...(exclusiveMin ? { exclusiveMinimum: min } : { minimum: min }),
      maximum: max,
      ...(limits.default === undefined ? {} : { default: limits.default }),
    },
    read: (text) => {
      const value = decimal(text);
      if (value === null || value > max || value < min || (exclusiveMin && value === min)) return undefined;
      if (kind === 'whole number' && !Number.isInteger(value)) return undefined;
      return value + 0; // -0 becomes 0, which JSON would write the same
    },
  });
}
