import { isUtf8 } from 'node:buffer';
import { BadInput } from './error.ts';

/** Largest file of a feed; the 396 alerts of a busy summer evening take 1.6 MB, 15,000 lists and objects and 60,000 values. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Each costs many times its two brackets in memory. */
const MAX_CONTAINERS = 600_000;
const MAX_VALUES = 2_000_000;
const MAX_DEPTH = 32;

/**
 * Value of a JSON file of a feed. Size and structure are counted before anything is built, because a parser turns a megabyte of
 * brackets into fifty. Throws BadInput when a bound is exceeded or the text is no JSON in UTF-8.
 */
export function parseJson(bytes: Uint8Array, subject: string): unknown {
  const bound = (count: number, limit: number, noun: string) => {
    if (count > limit)
      throw new BadInput('read', subject, `json of more than ${limit} ${noun}, expected a file of the feed`);
  };
  bound(bytes.length, MAX_BYTES, 'bytes');
  if (!isUtf8(bytes)) throw new BadInput('read', subject, 'text that is not utf-8, expected a json file of the feed');
  const { containers, values, depth } = scanJson(bytes);
  bound(containers, MAX_CONTAINERS, 'arrays and objects');
  bound(values, MAX_VALUES, 'values');
  bound(depth, MAX_DEPTH, 'levels');
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
  } catch (cause) {
    throw new BadInput('read', subject, 'not json, expected a json file of the feed', { cause });
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const WHITE_SPACE = [0x09, 0x0a, 0x0d, 0x20];

/**
 * Structure of a JSON text: numbers of arrays and objects and of values, deepest nesting, and whether it is one array or object amid
 * white space. Brackets, commas and nesting outside strings count. A text that was cut off never closes its first bracket, and a scan
 * finds that at a constant cost in memory: 63 MB of brackets are gigabytes once parsed.
 */
export function scanJson(bytes: Uint8Array) {
  let [containers, values, depth, level] = [0, 1, 0, 0];
  let [is_text, is_escaped] = [false, false];
  let state: 'before' | 'within' | 'after' | 'wrong' = 'before';
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (is_text) {
      if (is_escaped) is_escaped = false;
      else if (byte === BACKSLASH) is_escaped = true;
      else if (byte === QUOTE) is_text = false;
      continue;
    }
    const is_opening = byte === OPEN_ARRAY || byte === OPEN_OBJECT;
    if (level === 0 && !WHITE_SPACE.includes(byte)) state = state === 'before' && is_opening ? 'within' : 'wrong';
    if (byte === QUOTE) is_text = true;
    else if (byte === COMMA) values++;
    else if (is_opening) {
      containers++;
      if (++level > depth) depth = level;
    } else if ((byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) && level > 0) {
      level--;
      if (level === 0 && state === 'within') state = 'after';
    }
  }
  return { containers, values, depth, is_whole: state === 'after' };
}
