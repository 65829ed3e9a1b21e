import { BadInput } from '../error.ts';

/** Bounds of a JSON file, far above what its feed writes. */
export interface JsonBounds {
  readonly max_bytes: number;
  /** Arrays and objects together: each costs many times its two brackets in memory. */
  readonly max_containers: number;
  readonly max_values: number;
  readonly max_depth: number;
}

/**
 * Value of a JSON file. Size and structure are counted before anything is built, because a parser turns a megabyte of
 * brackets into fifty. Throws BadInput when a bound is exceeded or the text is no JSON.
 */
export function parseJson(bytes: Uint8Array, subject: string, bounds: JsonBounds): unknown {
  const exceeded = (what: string, limit: number) =>
    new BadInput('read', subject, `json of more than ${limit} ${what}, expected a file of the feed`);
  if (bytes.length > bounds.max_bytes) throw exceeded('bytes', bounds.max_bytes);
  const { containers, values, depth } = measure(bytes);
  if (containers > bounds.max_containers) throw exceeded('arrays and objects', bounds.max_containers);
  if (values > bounds.max_values) throw exceeded('values', bounds.max_values);
  if (depth > bounds.max_depth) throw exceeded('levels', bounds.max_depth);
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
  } catch (cause) {
    throw new BadInput('read', subject, 'not json, expected a json file of the feed', { cause });
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Brackets, commas and nesting outside strings. */
function measure(bytes: Uint8Array): { containers: number; values: number; depth: number } {
  const found = { containers: 0, values: 1, depth: 0 };
  let level = 0;
  let isText = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (isText) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COMMA) found.values++;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      found.containers++;
      found.depth = Math.max(found.depth, ++level);
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) level--;
  }
  return found;
}
