import { z } from 'zod';
import type { ErrorCode } from '../../schemas/errors.ts';
import { isInConus } from '../../schemas/geo/position.ts';
import { decimal } from '../../schemas/units.ts';
import { shown } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import type { QueryText } from '../http/target.ts';
import { meantName, unknownMember, unknownName } from '../http/unknown-names.ts';
import { type JsonObject, wasNull } from './body.ts';
import type { Endpoint } from './endpoint.ts';
import { paramNames } from './router.ts';
import type { Context } from './state.ts';

/** How zod ends what it says of a member that is absent. */
const ABSENT = /^(.+), received undefined$/;

/** Input of an endpoint after validation; what it declares no schema for is null. */
export interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** Parameters of the path of an endpoint as the router captured them. */
export function paramsOf(
  { path }: Pick<Endpoint, 'path'>,
  { captures = [] }: Pick<Context, 'captures'>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(paramNames(path).map((name, at) => [name, captures[at] as string]));
}

/**
 * Typed values of path, query and body; throws `invalid_parameter` or `bad_request` with the first fault. A name that the endpoint
 * does not know comes first: what it was meant to change would silently stay as it is. The earlier variant ignores such names.
 */
export function validInput(
  endpoint: Endpoint,
  params: Readonly<Record<string, string>>,
  query: QueryText,
  body: JsonObject | null,
): Input {
  if (endpoint.variant === 'current') refuseUnknownNames(endpoint, query, body);
  return {
    params: endpoint.params === null ? null : checked(endpoint.params, params, 'invalid_parameter', parameterMessage),
    query: endpoint.query === null ? null : checkedQuery(endpoint.query, query),
    body: endpoint.body === null ? null : checkedBody(endpoint.body, body),
  };
}

function refuseUnknownNames(
  { query: schema, body: bodySchema }: Pick<Endpoint, 'query' | 'body'>,
  query: QueryText,
  body: JsonObject | null,
): void {
  const parameter = unknownName(query, schema instanceof z.ZodObject ? Object.keys(schema.shape) : []);
  if (parameter !== null)
    throw new ApiError(
      'invalid_parameter',
      `${shown(String(parameter.path[0])) || "''"} is not a parameter of this endpoint${meantName(parameter)}`,
    );
  const field = bodySchema === null || body === null ? null : unknownMember(bodySchema, body);
  if (field !== null)
    throw new ApiError(
      'invalid_parameter',
      `${shown(pointerOf(field.path))}: is not a field of this request${meantName(field)}`,
    );
}

function checkedQuery(schema: z.ZodType, query: QueryText): unknown {
  return checked(schema, query, 'invalid_parameter', (issue) => parameterMessage(issue) + hint(issue, query));
}

function checkedBody(schema: z.ZodType, body: JsonObject | null): unknown {
  if (body === null) {
    const absent = schema.safeParse(undefined);
    if (absent.success) return absent.data;
    throw new ApiError('bad_request', 'body is missing, expected a JSON object');
  }
  return checked(schema, body, 'bad_request', (issue) => bodyMessage(issue, body) + bodyHint(issue, body));
}

function checked(
  schema: z.ZodType,
  value: unknown,
  code: ErrorCode,
  message: (issue: z.core.$ZodIssue) => string,
): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ApiError(code, message(result.error.issues[0] as z.core.$ZodIssue));
}

/** `lat is 'x', expected …`: the parameters' own messages read on after their name. */
function parameterMessage(issue: z.core.$ZodIssue): string {
  return [issue.path.join('.'), issue.message].filter((part) => part !== '').join(' ');
}

/** `/locations/7/lat: expected number, received string`: a JSON pointer first. A null member counts as absent; the message names it null. */
function bodyMessage(issue: z.core.$ZodIssue, body: JsonObject): string {
  const pointer = pointerOf(issue.path);
  const isNull = wasNull(holderOf(issue, body), issue.path.at(-1) ?? '');
  const message = lowerFirst(issue.message.replace(/^Invalid input: /, ''));
  const missing = isNull ? '$1, received null' : 'is missing, $1';
  return `${pointer === '' ? 'body' : pointer}: ${message.replace(ABSENT, missing)}`;
}

/** JSON pointer of a path. */
function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** What the caller probably meant. */
function hint(issue: z.core.$ZodIssue, query: QueryText): string {
  if (issue.path[0] === 'lng' && query.lng === undefined && query.lon !== undefined) return ' (use lng)';
  const [lat, lon, lng] = [query.lat, query.lon, query.lng].map((text) =>
    typeof text === 'string' ? decimal(text) : null,
  );
  return swapped(issue, lat, { lon, lng });
}

function bodyHint(issue: z.core.$ZodIssue, body: JsonObject): string {
  const { lat, lon, lng }: { lat?: unknown; lon?: unknown; lng?: unknown } = holderOf(issue, body);
  if (issue.path.at(-1) === 'lng' && lng === undefined && lon !== undefined) return ' (use lng)';
  return swapped(issue, lat, { lon, lng });
}

/** What holds the member that an issue is about, as it was sent; an empty object where there is none. */
function holderOf(issue: z.core.$ZodIssue, body: JsonObject): object {
  const holder = issue.path
    .slice(0, -1)
    .reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown>)?.[part], body);
  return typeof holder === 'object' && holder !== null ? holder : {};
}

/** `longitudes` by what each is called: the earlier variant and areas have another name for it. */
function swapped(issue: z.core.$ZodIssue, lat: unknown, longitudes: Readonly<Record<string, unknown>>): string {
  if (issue.path.at(-1) !== 'lat' || typeof lat !== 'number') return '';
  const found = Object.entries(longitudes).find(
    ([, value]) => typeof value === 'number' && isInConus({ lat: value, lon: lat }),
  );
  return found === undefined ? '' : ` (lat and ${found[0]} look swapped)`;
}
