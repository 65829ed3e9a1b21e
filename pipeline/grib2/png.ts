import { crc32, inflateSync } from 'node:zlib';
import type { BadInput } from '../error.ts';
import { type Section, sectionError } from './section.ts';

/** Unsigned integers as they were packed, in the narrowest array that holds them. */
type PackedIntegers = Uint8Array | Uint16Array | Uint32Array;

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const IHDR = 0x49484452;
const IDAT = 0x49444154;
const IEND = 0x49454e44;
/** Real files have up to 180, of 8 kB; millions of empty ones would be an attack on memory. */
const MAX_CHUNKS = 20_000;
/** Channels by colour type: grey, RGB, RGB and alpha. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 6: 4 };

/**
 * Samples of a PNG image, row after row: one integer per pixel. Grey of 1, 2, 4, 8 or 16 bits; RGB and RGBA of
 * 8 bits are one big-endian number of 24 or 32 bits (R x 65536 + G x 256 + B).
 *
 * The image is section 7 of a message, behind its five octets of length and number. `count` is the number of pixels the
 * headers promise; it is checked before the image data are inflated. Throws BadInput on anything else.
 * Source: W3C PNG specification, filters of chapter 9.
 */
export function decodePng(data: Section, count: number): PackedIntegers {
  const png = data.bytes.subarray(5);
  const bad = (reason: string, cause?: unknown) => sectionError(data, `png ${reason}`, cause);
  const { header, compressed } = readChunks(png, bad);
  if (header.width * header.height !== count)
    throw bad(`is ${header.width} x ${header.height} pixels, expected ${count} in all`);
  const bits = header.bit_depth * CHANNELS[header.colour_type];
  const rowBytes = Math.ceil((header.width * bits) / 8);
  const size = header.height * (rowBytes + 1);
  const raw = inflate(compressed, size, bad);
  unfilter(raw, header.height, rowBytes, Math.max(1, bits >> 3), bad);
  return integers(raw, header, bits, rowBytes);
}

type PngError = (reason: string, cause?: unknown) => BadInput;

/** Header and joined image data of a PNG; every length is checked against the bytes, every checksum is verified. */
function readChunks(png: Uint8Array, bad: PngError): { header: PngHeader; compressed: Uint8Array } {
  if (SIGNATURE.some((byte, i) => png[i] !== byte)) throw bad('has no signature, expected 89 50 4e 47');
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const parts: Uint8Array[] = [];
  let header: PngHeader | undefined;
  for (let at = SIGNATURE.length; ; ) {
    if (at + 12 > png.length) throw bad(`ends at byte ${png.length} inside a chunk, expected an IEND chunk`);
    const length = view.getUint32(at);
    const type = view.getUint32(at + 4);
    const end = at + 8 + length;
    if (end + 4 > png.length)
      throw bad(`has a chunk of ${length} bytes at byte ${at}, expected at most ${png.length - at - 12}`);
    if (crc32(png.subarray(at + 4, end)) !== view.getUint32(end)) throw bad(`chunk at byte ${at} has a wrong checksum`);
    if (type === IEND) break;
    if (type === IHDR) header = readHeader(view, at + 8, length, bad);
    if (type === IDAT) {
      if (parts.length === MAX_CHUNKS) throw bad(`has more than ${MAX_CHUNKS} IDAT chunks`);
      parts.push(png.subarray(at + 8, end));
    }
    at = end + 4;
  }
  if (!header) throw bad('has no IHDR chunk');
  if (parts.length === 0) throw bad('has no IDAT chunk');
  return { header, compressed: parts.length === 1 ? parts[0] : Buffer.concat(parts) };
}

type PngHeader = ReturnType<typeof readHeader>;

function readHeader(view: DataView, at: number, length: number, bad: PngError) {
  if (length !== 13) throw bad(`header is ${length} bytes, expected 13`);
  const header = {
    width: view.getUint32(at),
    height: view.getUint32(at + 4),
    bit_depth: view.getUint8(at + 8),
    colour_type: view.getUint8(at + 9),
  };
  const { bit_depth, colour_type } = header;
  const known = colour_type === 0 ? [1, 2, 4, 8, 16].includes(bit_depth) : colour_type in CHANNELS && bit_depth === 8;
  if (!known) throw bad(`has colour type ${colour_type} with ${bit_depth} bits, expected grey, or RGB(A) with 8 bits`);
  if (view.getUint8(at + 12) !== 0) throw bad('is interlaced, expected plain rows');
  return header;
}

/** Inflated image data, exactly `size` bytes in one buffer. */
function inflate(compressed: Uint8Array, size: number, bad: PngError): Buffer {
  let raw: Buffer;
  try {
    // One byte more than needed: zlib asks for a second buffer as soon as the first one is full.
    raw = inflateSync(compressed, { chunkSize: Math.max(64, size + 1), maxOutputLength: Math.max(1, size) });
  } catch (cause) {
    const found = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'unfold too far' : 'are damaged';
    throw bad(`rows ${found}, expected ${size} bytes`, cause);
  }
  if (raw.length !== size) throw bad(`rows unfold to ${raw.length} bytes, expected ${size}`);
  return raw;
}

/**
 * Undoes the row filters and closes the gaps of the filter bytes, in place: row r ends up at r x rowBytes.
 * `step` is the distance in bytes to the pixel on the left. Rows move towards the start, so nothing unread is overwritten.
 */
function unfilter(raw: Buffer, height: number, rowBytes: number, step: number, bad: PngError): void {
  let row = scratchRow(rowBytes);
  let above = scratchRow(rowBytes);
  for (let index = 0; index < height; index++) {
    const from = index * (rowBytes + 1) + 1;
    const filter = raw[from - 1];
    if (filter > 4) throw bad(`row ${index} has filter ${filter}, expected 0 to 4`);
    raw.copy(row.bytes, 0, from, from + rowBytes);
    if (filter === 2) undoUp(row.words, above.words);
    else if (filter !== 0) UNDO[filter]?.(row, above, step);
    raw.set(row.bytes.subarray(0, rowBytes), index * rowBytes);
    [row, above] = [above, row];
  }
}

/** One row as bytes and as little-endian words of four bytes; a little longer than the row when that is no multiple of 4. */
interface ScratchRow {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
}

function scratchRow(rowBytes: number): ScratchRow {
  const words = new Uint32Array(Math.ceil(rowBytes / 4));
  return { bytes: new Uint8Array(words.buffer), words };
}

const UNDO: Readonly<Record<number, (row: ScratchRow, above: ScratchRow, step: number) => void>> = {
  1: undoSub,
  3: undoAverage,
  4: undoPaeth,
};

/** Adds four bytes at a time: the low seven bits without carry into the neighbour, the top bit by exclusive or. */
function undoUp(row: Uint32Array, above: Uint32Array): void {
  for (let k = 0; k < row.length; k++) {
    const a = row[k];
    const b = above[k];
    row[k] = ((a & 0x7f7f7f7f) + (b & 0x7f7f7f7f)) ^ ((a ^ b) & 0x80808080);
  }
}

/**
 * Word filled with the last pixel of a word: the next word where all pixels are equal.
 * Pixels of three bytes do not fit into words; the caller handles them byte by byte.
 */
function repeatLast(word: number, step: number): number {
  if (step === 1) return Math.imul(word >>> 24, 0x01010101) >>> 0;
  return step === 2 ? Math.imul(word >>> 16, 0x00010001) >>> 0 : word;
}

// Sub, average and Paeth depend on the pixel to the left, byte after byte. Radar grids are quiet, so most words have
// residuals of zero next to and below equal pixels; those are filled a word at a time.

function undoSub({ bytes, words }: ScratchRow, _above: ScratchRow, step: number): void {
  let left = 0;
  for (let k = 0; k < words.length; k++) {
    if (words[k] === 0 && step !== 3) {
      words[k] = left;
      continue;
    }
    for (let i = 4 * k; i < 4 * k + 4; i++) if (i >= step) bytes[i] = bytes[i] + bytes[i - step];
    left = repeatLast(words[k], step);
  }
}

function undoAverage({ bytes, words }: ScratchRow, above: ScratchRow, step: number): void {
  let left = 0;
  for (let k = 0; k < words.length; k++) {
    if (words[k] === 0 && above.words[k] === left && step !== 3) {
      words[k] = left;
      continue;
    }
    for (let i = 4 * k; i < 4 * k + 4; i++) {
      const before = i < step ? 0 : bytes[i - step];
      bytes[i] = bytes[i] + ((before + above.bytes[i]) >> 1);
    }
    left = repeatLast(words[k], step);
  }
}

function undoPaeth({ bytes, words }: ScratchRow, above: ScratchRow, step: number): void {
  let left = 0;
  let corner = 0;
  for (let k = 0; k < words.length; k++) {
    const up = above.words[k];
    // Where the row above does not change, the nearest neighbour is the left one.
    if (words[k] === 0 && up === corner && step !== 3) {
      words[k] = left;
      continue;
    }
    for (let i = 4 * k; i < 4 * k + 4; i++) {
      const before = i < step ? 0 : bytes[i - step];
      const diagonal = i < step ? 0 : above.bytes[i - step];
      bytes[i] = bytes[i] + paeth(before, above.bytes[i], diagonal);
    }
    left = repeatLast(words[k], step);
    corner = repeatLast(up, step);
  }
}

/** The neighbour nearest to left + up - corner; ties go to left, then up. */
function paeth(left: number, up: number, corner: number): number {
  const toLeft = Math.abs(up - corner);
  const toUp = Math.abs(left - corner);
  const toCorner = Math.abs(left + up - 2 * corner);
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

/** One integer per pixel from the unfiltered bytes; whole words stay in place. */
function integers(raw: Buffer, header: PngHeader, bits: number, rowBytes: number): PackedIntegers {
  const count = header.width * header.height;
  if (bits < 8) return smallIntegers(raw, header, bits, rowBytes);
  if (bits === 8) return new Uint8Array(raw.buffer, raw.byteOffset, count);
  if (bits === 24) {
    const values = new Uint32Array(count);
    for (let i = 0, at = 0; i < count; i++, at += 3) values[i] = (raw[at] << 16) | (raw[at + 1] << 8) | raw[at + 2];
    return values;
  }
  const size = bits / 8;
  const samples = raw.byteOffset % size === 0 ? raw : Buffer.from(new Uint8Array(raw).buffer);
  const words = samples.subarray(0, size * count);
  if (bits === 16) return new Uint16Array(words.swap16().buffer, words.byteOffset, count);
  return new Uint32Array(words.swap32().buffer, words.byteOffset, count);
}

/** Grey of 1, 2 or 4 bits: several pixels per byte, the first one in the high bits, rows padded to whole bytes. */
function smallIntegers(raw: Uint8Array, { width, height }: PngHeader, bits: number, rowBytes: number): Uint8Array {
  const values = new Uint8Array(width * height);
  const mask = 2 ** bits - 1;
  for (let row = 0; row < height; row++)
    for (let col = 0; col < width; col++) {
      const bit = col * bits;
      values[row * width + col] = (raw[row * rowBytes + (bit >> 3)] >> (8 - bits - (bit & 7))) & mask;
    }
  return values;
}
