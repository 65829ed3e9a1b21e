import { constants, crc32, deflateRawSync } from 'node:zlib';

/** Rows that are deflated together; a band of plain background is deflated once and cached. */
const BAND_ROWS = 32;
const IDAT_BYTES = 8192;
/** Compression level: speed matters more than size, because the rows are mostly one value. */
const LEVEL = 1;
const FILTER_SUB = 1;
const FILTER_UP = 2;
const ADLER_PRIME = 65521;
/**
 * Bytes between two reductions of the sums, which keeps them below 2^30. With blocks of 3800 bytes they went past 2^31, and
 * two of some hundreds of simulated files came out with a wrong checksum (Node 24.21, loaded machine, not reproduced alone).
 */
const ADLER_BLOCK = 2048;

/** Grey image: a two-valued background with a sparse list of other pixels. */
export interface SparseImage {
  readonly rows: number;
  readonly cols: number;
  readonly bits: 8 | 16;
  /** 1 where the background is `inside`, 0 where it is `outside`; row-major. The same array every time makes bands reusable. */
  readonly mask: Uint8Array;
  readonly inside: number;
  readonly outside: number;
  /** The other pixels as row x cols + col, ascending, and their values. */
  readonly index: Uint32Array;
  readonly value: Uint16Array;
}

interface Band {
  /** Raw deflate stream without a final block that ends on a byte, so that bands can be concatenated. */
  readonly deflated: Uint8Array;
  readonly adler: number;
  /** Bytes before compression. */
  readonly length: number;
}

/** A PNG file: grey, 8 or 16 bits, not interlaced, several IDAT chunks, row filters Sub and Up. */
export function writePng(image: SparseImage): Uint8Array {
  const bands: Band[] = [];
  let next = 0;
  for (let row = 0; row < image.rows; row += BAND_ROWS) {
    const rows = Math.min(BAND_ROWS, image.rows - row);
    const start = next;
    const limit = (row + rows) * image.cols;
    while (next < image.index.length && image.index[next] < limit) next += 1;
    bands.push(next === start ? backgroundBand(image, row, rows) : deflateBand(image, row, rows, start, next));
  }
  return pngFile(image, zlibStream(bands));
}

const cache = new WeakMap<Uint8Array, Map<string, Band>>();

function backgroundBand(image: SparseImage, row: number, rows: number): Band {
  const bands = cache.get(image.mask) ?? new Map<string, Band>();
  cache.set(image.mask, bands);
  const name = `${image.bits} ${image.inside} ${image.outside} ${row}`;
  const known = bands.get(name);
  if (known) return known;
  const band = deflateBand(image, row, rows, 0, 0);
  bands.set(name, band);
  return band;
}

/** Filters and deflates rows; `start` and `end` bound the sparse pixels in them. */
function deflateBand(image: SparseImage, row: number, rows: number, start: number, end: number): Band {
  const bytes = image.bits === 8 ? 1 : 2;
  const stride = 1 + bytes * image.cols;
  const filtered = Buffer.alloc(rows * stride);
  let above = new Uint16Array(image.cols);
  let current = new Uint16Array(image.cols);
  let next = start;
  for (let r = 0; r < rows; r += 1) {
    const first = (row + r) * image.cols;
    for (let c = 0; c < image.cols; c += 1) current[c] = image.mask[first + c] === 1 ? image.inside : image.outside;
    for (; next < end && image.index[next] < first + image.cols; next += 1)
      current[image.index[next] - first] = image.value[next];
    const out = filtered.subarray(r * stride, (r + 1) * stride);
    // The first row of a band does not use the row above it, so that bands are independent.
    if (r === 0) above.set(current.subarray(0, -1), 1);
    filterRow(out, r === 0 ? FILTER_SUB : FILTER_UP, current, above, bytes);
    [above, current] = [current, above];
  }
  return {
    deflated: deflateRawSync(filtered, { level: LEVEL, finishFlush: constants.Z_FULL_FLUSH }),
    adler: adler32(filtered),
    length: filtered.length,
  };
}

/** Writes the differences of a row to `reference`: the row above (Up), or the row moved one pixel to the right (Sub). */
function filterRow(out: Uint8Array, filter: number, row: Uint16Array, reference: Uint16Array, bytes: number): void {
  out[0] = filter;
  for (let c = 0; c < row.length; c += 1) {
    const value = row[c];
    const before = reference[c];
    if (value === before) continue;
    if (bytes === 1) out[1 + c] = value - before;
    else {
      out[1 + 2 * c] = (value >> 8) - (before >> 8);
      out[2 + 2 * c] = value - before;
    }
  }
}

/** Adler-32 of bytes (RFC 1950). */
function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (let start = 0; start < bytes.length; start += ADLER_BLOCK) {
    const end = Math.min(bytes.length, start + ADLER_BLOCK);
    for (let i = start; i < end; i += 1) {
      a += bytes[i];
      b += a;
    }
    a %= ADLER_PRIME;
    b %= ADLER_PRIME;
  }
  return b * 65536 + a;
}

/** Adler-32 of two concatenated ranges from the checksums of both (as zlib's adler32_combine). */
function adlerOfBoth(first: number, second: number, second_length: number): number {
  const a1 = first % 65536;
  const a2 = second % 65536;
  const a = (a1 + a2 + ADLER_PRIME - 1) % ADLER_PRIME;
  const shifted = ((second_length % ADLER_PRIME) * (a1 + ADLER_PRIME - 1)) % ADLER_PRIME;
  const b = (Math.floor(first / 65536) + Math.floor(second / 65536) + shifted) % ADLER_PRIME;
  return b * 65536 + a;
}

function zlibStream(bands: readonly Band[]): Uint8Array {
  const adler = bands.reduce((sum, band) => adlerOfBoth(sum, band.adler, band.length), 1);
  const end = Buffer.alloc(6);
  end.writeUInt16BE(0x0300, 0); // an empty last block closes the stream
  end.writeUInt32BE(adler, 2);
  return Buffer.concat([Buffer.from([0x78, 0x9c]), ...bands.map((band) => band.deflated), end]);
}

function pngFile(image: SparseImage, pixels: Uint8Array): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(image.cols, 0);
  header.writeUInt32BE(image.rows, 4);
  header[8] = image.bits;
  const chunks = [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), chunk('IHDR', header)];
  for (let start = 0; start < pixels.length; start += IDAT_BYTES)
    chunks.push(chunk('IDAT', pixels.subarray(start, start + IDAT_BYTES)));
  chunks.push(chunk('IEND', new Uint8Array(0)));
  return Buffer.concat(chunks);
}

function chunk(type: string, content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(12 + content.length);
  bytes.writeUInt32BE(content.length, 0);
  bytes.write(type, 4, 'latin1');
  bytes.set(content, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + content.length)), 8 + content.length);
  return bytes;
}
