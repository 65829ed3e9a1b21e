import { ApiError } from './errors.ts';

/** A body of JSON after decoding: an object whose strings are well formed. */
export type JsonObject = { [name: string]: unknown };

const DEEPEST = 32;
const MOST_KEYS = 10_000;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Names of the members that were null and count as absent, by the object that lacks them: a refusal says what was found. */
const nulls = new WeakMap<object, Set<PropertyKey>>();

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The object that a body spells. Throws `bad_request` for anything but one JSON object in UTF-8 without a byte order mark:
 * nested deeper than 32, with more than 10,000 keys in one object, numbers that overflow, NUL or lone surrogates in
 * strings. `__proto__` and `constructor` keys are dropped, and members that are null too where `nullIsAbsent`.
 */
export function parseJson(bytes: Uint8Array, nullIsAbsent: boolean): JsonObject {
  if (deepest(bytes) > DEEPEST) throw new ApiError('bad_request', `body is nested deeper than ${DEEPEST}`);
  const value = parse(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiError('bad_request', 'body is not a JSON object');
  clean(value as JsonObject, '', nullIsAbsent);
  return value as JsonObject;
}

/** True for a member of an object of a parsed body that counts as absent because it was null. */
export function wasNull(holder: object, name: PropertyKey): boolean {
  return nulls.get(holder)?.has(name) ?? false;
}

function parse(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new ApiError('bad_request', 'body is not UTF-8', {}, { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApiError('bad_request', 'body is not valid JSON', {}, { cause });
  }
}

/** How deep objects and arrays are nested, whether or not the rest is JSON. Stops at the first that is too deep. */
function deepest(bytes: Uint8Array): number {
  let depth = 0;
  let most = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      if (depth > most) most = depth;
      if (most > DEEPEST) return most;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
  }
  return most;
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function clean(value: JsonObject | unknown[], pointer: string, nullIsAbsent: boolean): void {
  const names = Object.keys(value);
  if (!Array.isArray(value) && names.length > MOST_KEYS)
    throw new ApiError('bad_request', `${pointer || 'body'} has ${names.length} keys, expected at most ${MOST_KEYS}`);
  const members = value as JsonObject;
  for (const name of names) {
    if (!Array.isArray(value) && (name === '__proto__' || name === 'constructor')) {
      delete members[name];
      continue;
    }
    if (!isPlain(name))
      throw new ApiError('bad_request', `${pointer || 'body'} has a key with NUL or a lone surrogate`);
    const member = members[name];
    if (typeof member === 'string') {
      if (!isPlain(member)) throw new ApiError('bad_request', `${pointer}/${name} holds NUL or a lone surrogate`);
    } else if (typeof member === 'number') {
      if (!Number.isFinite(member)) throw new ApiError('bad_request', `${pointer}/${name} is a number that overflows`);
    } else if (member === null) {
      if (nullIsAbsent && !Array.isArray(value)) {
        delete members[name];
        nulls.set(value, (nulls.get(value) ?? new Set()).add(name));
      }
    } else if (typeof member === 'object') clean(member as JsonObject | unknown[], `${pointer}/${name}`, nullIsAbsent);
  }
}

function isPlain(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
