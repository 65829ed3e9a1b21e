import { closest, distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { counted } from '../../schemas/command-line.ts';
import type { ErrorCode } from '../../schemas/errors.ts';
import { isInConus } from '../../schemas/geo/position.ts';
import { decimal } from '../../schemas/units.ts';
import { shown } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { type JsonObject, wasNull } from './body.ts';
import type { Endpoint } from './endpoint.ts';
import { paramNames } from './router.ts';

/** How zod ends what it says of a member that is absent. */
const ABSENT = /^(.+), received undefined$/;
/** Names that begin with it are ignored: clients add such parameters so that no cache answers. */
const IGNORED = '_';
/** A known name that is further away than this share of its letters is no likely meaning. */
const FAR = 0.5;
/** A name of fewer letters may be part of a known one by chance. */
const SHORTEST_PART = 3;

/** Input of an endpoint after validation; what it declares no schema for is null. */
export interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** A query as text: a parameter that comes more than once is a list. */
export type QueryText = Readonly<Record<string, string | string[]>>;

/**
 * Parameters of a query string; throws `invalid_parameter` where it is no percent-encoded UTF-8, or holds a NUL. Not Koa's
 * `ctx.query`, which takes malformed escapes as they are.
 */
export function parseQuery(search: string): QueryText {
  const query: Record<string, string | string[]> = Object.create(null);
  for (const pair of search.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decoded(equals === -1 ? pair : pair.slice(0, equals), null);
    const value = equals === -1 ? '' : decoded(pair.slice(equals + 1), name);
    const before = query[name];
    query[name] = before === undefined ? value : [before, value].flat();
  }
  return query;
}

/** A name, or the value of the parameter `name`. */
function decoded(text: string, name: string | null): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  const what = `${name === null ? 'query holds' : `${shown(name)} is`} '${shown(text)}'`;
  // The same rule as for strings in bodies: PostgreSQL cannot hold a NUL.
  if (text.includes('%00')) throw invalid(`${what}, expected no NUL character`);
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw invalid(`${what}, expected percent-encoded UTF-8`, cause);
  }
}

/**
 * Types what the router captured of the path of an endpoint, a query and a body; throws `invalid_parameter` or `bad_request` with the
 * first fault. Unknown names come first: ignoring one would silently leave its setting unchanged. The earlier variant ignores
 * unknown names. A change ignores the other fields of its resource, so that clients may send back the answer of GET.
 */
export function validator({ path, variant, params, query, body, resource }: Endpoint) {
  const names = paramNames(path);
  const own = Object.keys(resource?.shape ?? {});
  const known = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
  return (captures: readonly string[] = [], asked: QueryText, sent: JsonObject | null): Input => {
    if (variant === 'current') {
      const parameter = unknownName(asked, known);
      if (parameter !== null) {
        const name = shown(parameter.path[0] ?? '') || "''";
        throw invalid(`${name} is not a parameter of this endpoint${meantName(parameter)}`);
      }
      const field = body === null || sent === null ? null : unknownMember(body, sent, own);
      if (field !== null) {
        const place = shown(pointerOf(field.path));
        throw new ApiError('bad_request', `${place}: is not a field of this request${meantName(field)}`);
      }
    }
    const named = () => Object.fromEntries(names.map((name, at) => [name, captures[at]]));
    return {
      params: params && checked(params, named(), 'invalid_parameter', parameterMessage),
      query:
        query && checked(query, asked, 'invalid_parameter', (issue) => parameterMessage(issue) + hint(issue, asked)),
      body: body && checkedBody(body, sent),
    };
  };
}

function invalid(message: string, cause?: unknown): ApiError {
  return new ApiError('invalid_parameter', message, {}, { cause });
}

function checkedBody(schema: z.ZodType, body: JsonObject | null): unknown {
  const absent = body === null ? schema.safeParse(undefined) : null;
  if (absent?.success) return absent.data;
  if (body === null) throw new ApiError('bad_request', 'body is missing, expected a JSON object');
  return checked(schema, body, 'bad_request', (issue) => bodyMessage(issue, body));
}

function checked(
  schema: z.ZodType,
  value: unknown,
  code: ErrorCode,
  message: (issue: z.core.$ZodIssue) => string,
): unknown {
  const result = schema.safeParse(value, { error: faultWords });
  if (result.success) return result.data;
  throw new ApiError(code, message(result.error.issues[0] as z.core.$ZodIssue));
}

const FORMATS: Readonly<Record<string, string>> = {
  date: 'a date as YYYY-MM-DD',
  email: 'an email address',
  url: 'a URL',
};

/** What a fault says where its schema has no words of its own; undefined: as zod says it. */
export const faultWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'too_small':
      return boundWords(issue, issue.inclusive ? 'at least' : 'more than', issue.minimum);
    case 'too_big':
      return boundWords(issue, issue.inclusive ? 'at most' : 'less than', issue.maximum);
    case 'invalid_value': {
      const found = typeof issue.input === 'string' ? `, received '${shown(issue.input)}'` : '';
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}${found}`;
    }
    case 'invalid_format':
      return issue.format in FORMATS ? `must be ${FORMATS[issue.format]}` : undefined;
    case 'invalid_union':
      return unionWords(issue);
    default:
      return undefined;
  }
};

/** A member that says which kind of object it is, or a value of one of several types. */
function unionWords({
  discriminator,
  options,
  input,
  errors,
}: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string {
  if (typeof discriminator === 'string') {
    const found = Object(input)[discriminator];
    return `expected one of ${String(options).replaceAll(',', ', ')}, received ${typeof found === 'string' ? `'${shown(found)}'` : typeof found}`;
  }
  const types = errors.flat().map((error) => ('expected' in error ? error.expected : error.message));
  return `expected ${types.join(' or ')}, received ${typeof input}`;
}

function boundWords({ origin, input }: z.core.$ZodRawIssue, side: string, bound: number | bigint): string {
  if (origin === 'string')
    return `must have ${side} ${counted(Number(bound), 'character')}, received ${String(input).length}`;
  if (origin === 'array')
    return `must have ${side} ${counted(Number(bound), 'item')}, received ${Object(input).length}`;
  return `must be ${side} ${bound}, received ${input}`;
}

/** `lat is 'x', expected …`: the parameters' own messages read on after their name. */
function parameterMessage(issue: z.core.$ZodIssue): string {
  return [issue.path.join('.'), issue.message].filter((part) => part !== '').join(' ');
}

/** `/locations/7/lat: expected number, received string`: a JSON pointer first. A null member counts as absent; the message names it null. */
function bodyMessage(issue: z.core.$ZodIssue, body: JsonObject): string {
  const pointer = pointerOf(issue.path);
  const holder = holderOf(issue, body);
  const isNull = wasNull(holder, issue.path.at(-1) ?? '');
  const message = issue.message.replace(/^Invalid input: /, '').replace(/^./, (first) => first.toLowerCase());
  const missing = isNull ? '$1, received null' : 'is missing, $1';
  return `${pointer === '' ? 'body' : pointer}: ${message.replace(ABSENT, missing)}${meant(issue, holder)}`;
}

/** JSON pointer of a path. */
function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** What the caller of a query probably meant. */
function hint(issue: z.core.$ZodIssue, { lat, lon, lng }: QueryText): string {
  const number = (text: string | string[] | undefined) => (typeof text === 'string' ? (decimal(text) ?? text) : text);
  return meant(issue, { lat: number(lat), lon: number(lon), lng: number(lng) });
}

/** What holds the member that an issue is about, as it was sent; an empty object where there is none. */
function holderOf(issue: z.core.$ZodIssue, body: JsonObject): object {
  const memberOf = (value: unknown, part: PropertyKey): unknown => Object(value)[part];
  return Object(issue.path.slice(0, -1).reduce(memberOf, body));
}

/** Hints at coordinates by another name, or in the place of each other: the earlier variant and areas have another name for one. */
function meant(issue: z.core.$ZodIssue, { lat, lon, lng }: { lat?: unknown; lon?: unknown; lng?: unknown }): string {
  const name = issue.path.at(-1);
  if (name === 'lng' && lng === undefined && lon !== undefined) return ' (use lng)';
  if (name !== 'lat' || typeof lat !== 'number') return '';
  const isLat = (value: unknown) => typeof value === 'number' && isInConus({ lat: value, lon: lat });
  const found = Object.entries({ lon, lng }).find(([, value]) => isLat(value));
  return found === undefined ? '' : ` (lat and ${found[0]} look swapped)`;
}

/** A name that a request has and its endpoint does not know. */
interface UnknownName {
  /** Names and list positions that lead to it, itself last. */
  readonly path: readonly string[];
  /** Names that are known in its place. */
  readonly known: readonly string[];
}

/** First name of an object that is neither known nor ignored; null: there is none. */
export function unknownName(
  given: object,
  known: readonly string[],
  ignored: readonly string[] = [],
): UnknownName | null {
  const unknown = Object.keys(given).find(
    (name) => !name.startsWith(IGNORED) && !known.includes(name) && !ignored.includes(name),
  );
  return unknown === undefined ? null : { path: [unknown], known };
}

/**
 * First name at any depth of a body that its schema does not know; null: all are known. Those in `ignored` are passed over at the top.
 * Where a schema takes any value, as for a
 * GeoJSON geometry, every name is known. A value of another type than the schema's is left to the schema.
 */
function unknownMember(schema: z.core.$ZodType, value: unknown, ignored: readonly string[] = []): UnknownName | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unknownMember(schema.unwrap(), value);
  if (schema instanceof z.ZodPipe) return unknownMember(schema.in, value);
  if (typeof value !== 'object' || value === null) return null;
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const word = Reflect.get(value, schema.def.discriminator) as string;
    const option = schema.options.find(({ _zod }) => _zod.propValues?.[schema.def.discriminator]?.has(word));
    return option === undefined ? null : unknownMember(option, value);
  }
  const isList = Array.isArray(value);
  const shape = schema instanceof z.ZodObject && !isList ? schema.shape : null;
  const element = schema instanceof z.ZodArray && isList ? schema.element : null;
  const here = shape === null ? null : unknownName(value, Object.keys(shape), ignored);
  if (here !== null) return here;
  if (shape === null && element === null) return null;
  for (const [name, member] of Object.entries(value)) {
    const inner = element ?? shape?.[name];
    const found = inner === undefined ? null : unknownMember(inner, member);
    if (found !== null) return { ...found, path: [name, ...found.path] };
  }
  return null;
}

/** The known name nearest to an unknown one, or every known name, as the end of a message: `, did you mean radius_km?` */
export function meantName({ path, known }: UnknownName): string {
  const name = path.at(-1) ?? '';
  if (name === 'lng' && known.includes('lon')) return ' (use lon)';
  const meant = nearestName(name, known);
  if (meant !== null) return `, did you mean ${meant}?`;
  return known.length === 0 ? ', expected none' : `, expected ${known.map(shown).join(', ')}`;
}

/** The known name that an unknown one is most like: one of which it is a part, or with the fewest different letters; null: none. */
function nearestName(name: string, known: readonly string[]): string | null {
  const lower = name.slice(0, 100).toLowerCase();
  const holds = (text: string, part: string) => part.length >= SHORTEST_PART && text.includes(part);
  const related = known.filter((one) => holds(one, lower) || holds(lower, one));
  if (related.length > 0) return closest(lower, related);
  if (known.length === 0) return null;
  const nearest = closest(lower, [...known]);
  return distance(lower, nearest) <= FAR * nearest.length ? nearest : null;
}
