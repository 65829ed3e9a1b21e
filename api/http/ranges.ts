import { namesTag } from './entity-tag.ts';

/** Headers of a request that decide how much of a file is sent; names in lower case, as Node gives them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Bytes of a file, `last` included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Answer to a GET or HEAD for a file; `bytes` of a 200 is the whole file. */
export type FilePlan =
  | { readonly status: 200 | 206; readonly bytes: ByteRange | null }
  | { readonly status: 304 | 412 | 416 };

/** A header with more ranges is answered with the whole file. */
const RANGES_MAX = 100;

/**
 * Plan for a GET or HEAD of a file of `size` bytes with a strong tag `"…"` and no modification time: preconditions first, in
 * the order of RFC 9110 section 13.2.2, then the range. Several ranges, and a Range that is not understood, get the whole
 * file, which section 14.2 leaves to the server; HEAD ignores ranges. `bytes` is null for an empty file.
 */
export function planFile(
  method: string,
  headers: RequestHeaders,
  file: { readonly size: number; readonly etag: string },
): FilePlan {
  const ifMatch = one(headers['if-match']);
  const ifNoneMatch = one(headers['if-none-match']);
  if (ifMatch !== null && !namesTag(ifMatch, file.etag, 'strongly')) return { status: 412 };
  if (ifNoneMatch !== null && namesTag(ifNoneMatch, file.etag, 'weakly')) return { status: 304 };

  const whole = file.size === 0 ? null : { first: 0, last: file.size - 1 };
  const range = one(headers.range);
  const ifRange = one(headers['if-range']);
  // Another tag, or a date, means that the client has parts of another version.
  const isPart = ifRange === null || ifRange.trim() === file.etag;
  if (method === 'HEAD' || range === null || !isPart) return { status: 200, bytes: whole };
  const wanted = wantedRange(range, file.size);
  if (wanted === 'whole') return { status: 200, bytes: whole };
  return wanted === 'unsatisfiable' ? { status: 416 } : { status: 206, bytes: wanted };
}

/** The value of a header that may come once; lines of one that came several times are joined as HTTP has it. */
function one(value: string | readonly string[] | undefined): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? value : value.join(', ');
}

/** The only satisfiable range of a header; 'unsatisfiable' behind the end, 'whole' for several or for another grammar. */
function wantedRange(header: string, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, list] = /^\s*bytes\s*=(.*)$/i.exec(header) ?? [];
  const specs =
    list
      ?.split(',', RANGES_MAX)
      .map((spec) => spec.trim())
      .filter((spec) => spec !== '') ?? [];
  const ranges = specs.map((spec) => byteRange(spec, size));
  if (ranges.length === 0 || ranges.includes('whole')) return 'whole';
  const [satisfiable, ...others] = ranges.filter((range) => range !== 'unsatisfiable');
  if (satisfiable === undefined) return 'unsatisfiable';
  return others.length > 0 ? 'whole' : (satisfiable as ByteRange);
}

/** One `first-last`, `first-` or `-length`. */
function byteRange(spec: string, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, from, to] = /^(\d*)-(\d*)$/.exec(spec) ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'whole';
  if (from === '') {
    const length = Number(to);
    return length === 0 || size === 0 ? 'unsatisfiable' : { first: Math.max(0, size - length), last: size - 1 };
  }
  const first = Number(from);
  const last = to === '' ? size - 1 : Number(to);
  if (to !== '' && last < first) return 'whole';
  return first >= size ? 'unsatisfiable' : { first, last: Math.min(last, size - 1) };
}
