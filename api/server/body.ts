import type { IncomingMessage } from 'node:http';
import { ApiError } from '../http/errors.ts';
import { mediaType } from '../http/reply.ts';
import type { Endpoint } from './endpoint.ts';
import type { Context } from './state.ts';

/** A body of JSON after decoding: an object whose strings are well formed. */
export type JsonObject = { [name: string]: unknown };

const JSON_TYPES = /^application\/(?:[a-z0-9!#$&^_.-]+\+)?json$/;
const CHARSETS: readonly string[] = ['utf-8', 'utf8', 'us-ascii'];
const DEEPEST = 32;
const MOST_KEYS = 10_000;

/** Names of the members that were null and count as absent, by the object that lacks them: a refusal says what was found. */
const nulls = new WeakMap<object, Set<PropertyKey>>();

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The JSON body of a request; null without one. Refuses its type with 415, its size with 413, its syntax with 400. Not
 * @koa/bodyparser, which takes a byte order mark and replaces bytes that are no UTF-8.
 */
export async function readBody(ctx: Context, { method, body_limit_bytes }: Endpoint): Promise<JsonObject | null> {
  const { req, res } = ctx;
  const { headers } = req;
  if (headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0') return null;
  checkContentType(req);
  const tooLarge = () => new ApiError('payload_too_large', `body is larger than ${body_limit_bytes} bytes`);
  if (Number(headers['content-length'] ?? 0) > body_limit_bytes) throw tooLarge();
  if (awaitsContinue(req)) res.writeContinue();
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // Leaving the loop early must not destroy the connection: the refusal still has to go out on it.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > body_limit_bytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw new ApiError('bad_request', 'the connection ended within the body', {}, { cause }); // no failure of the service
  }
  return length === 0 ? null : parseJson(Buffer.concat(chunks), method !== 'PATCH');
}

/** True for a client that sends its body only after a 100 Continue; a refused call gets none. */
export function awaitsContinue({ headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && /\b100-continue\b/i.test(headers.expect);
}

/** True for a member of an object of a parsed body that counts as absent because it was null. */
export function wasNull(holder: object, name: PropertyKey): boolean {
  return nulls.get(holder)?.has(name) ?? false;
}

/** Throws `unsupported_media_type` unless a body is plain JSON. */
function checkContentType({ headers }: IncomingMessage): void {
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'identity')
    throw new ApiError('unsupported_media_type', 'Content-Encoding is set, expected a plain body');
  const type = headers['content-type'];
  if (type === undefined || !JSON_TYPES.test(mediaType(type)))
    throw new ApiError('unsupported_media_type', 'Content-Type is not application/json');
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)"?/i.exec(type)?.[1];
  if (charset !== undefined && !CHARSETS.includes(charset.toLowerCase()))
    throw new ApiError('unsupported_media_type', 'Content-Type has a charset other than utf-8');
}

/**
 * The object that a body spells. Throws `bad_request` for anything but one JSON object in UTF-8 without a byte order mark:
 * nested deeper than 32, with more than 10,000 keys in one object, numbers that overflow, NUL or lone surrogates in
 * strings. `__proto__` and `constructor` keys are dropped, and members that are null too where `nullIsAbsent`.
 */
function parseJson(bytes: Uint8Array, nullIsAbsent: boolean): JsonObject {
  let what = 'UTF-8';
  let value: unknown;
  try {
    const text = utf8.decode(bytes);
    what = 'valid JSON';
    value = JSON.parse(text);
  } catch (cause) {
    throw new ApiError('bad_request', `body is not ${what}`, {}, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError('bad_request', 'body is not a JSON object');
  clean(value, '', 1, nullIsAbsent);
  return value as JsonObject;
}

/** `depth`: that of the value itself, 1 for the body. */
function clean(value: object, pointer: string, depth: number, nullIsAbsent: boolean): void {
  if (depth > DEEPEST) throw new ApiError('bad_request', `body is nested deeper than ${DEEPEST}`);
  const isList = Array.isArray(value);
  const members = value as JsonObject;
  const names = Object.keys(value);
  if (!isList && names.length > MOST_KEYS)
    throw new ApiError('bad_request', `${pointer || 'body'} has ${names.length} keys, expected at most ${MOST_KEYS}`);
  for (const name of names) {
    const member = members[name];
    if (!isPlain(name))
      throw new ApiError('bad_request', `${pointer || 'body'} has a key with NUL or a lone surrogate`);
    if (!isList && (name === '__proto__' || name === 'constructor')) delete members[name];
    else if (typeof member === 'string' && !isPlain(member))
      throw new ApiError('bad_request', `${pointer}/${name} holds NUL or a lone surrogate`);
    else if (typeof member === 'number' && !Number.isFinite(member))
      throw new ApiError('bad_request', `${pointer}/${name} is a number that overflows`);
    else if (member === null && nullIsAbsent && !isList) {
      delete members[name];
      nulls.set(value, (nulls.get(value) ?? new Set()).add(name));
    } else if (typeof member === 'object' && member !== null)
      clean(member, `${pointer}/${name}`, depth + 1, nullIsAbsent);
  }
}

function isPlain(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
