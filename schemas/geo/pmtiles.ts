import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { zxyToTileId } from 'pmtiles';
import type { Bbox } from './position.ts';

/** One tile of an archive; `data` is gzipped. */
export interface ArchiveTile {
  readonly z: number;
  readonly x: number;
  readonly y: number;
  readonly data: Uint8Array;
}

/** Tiles, metadata and bounds of an archive. */
export interface Archive {
  readonly tiles: Iterable<ArchiveTile>;
  /** JSON metadata; vector archives need `vector_layers`. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly bounds: Bbox;
  readonly center: { readonly lon: number; readonly lat: number; readonly zoom: number };
  readonly minZoom: number;
  readonly maxZoom: number;
}

/** Directory entry: `length` bytes at `offset` serve `run` consecutive tile ids; run 0 points to a leaf directory. */
interface Entry {
  id: number;
  offset: number;
  length: number;
  run: number;
}

/** First bytes of an archive: name and version of the format. */
const MAGIC = Buffer.from('PMTiles\x03', 'latin1');
const HEADER_BYTES = 127;
/** Offset of the number of addressed tiles in the header. */
const ADDRESSED_TILES_AT = 72;
/** The specification requires header and root directory within the first 16 kB. */
const ROOT_MAX_BYTES = 16384 - HEADER_BYTES;
/** Entries of a leaf directory: about 10 kB gzipped. */
const LEAF_ENTRIES = 4096;
const GZIP = 2;
const MVT = 1;
/** Offset of the operating system in a gzip header, and its value for "unknown". */
const OS_BYTE = 9;
const OS_UNKNOWN = 255;

/**
 * A PMTiles v3 archive of gzipped vector tiles: clustered, equal tiles stored once, runs of equal neighbours in one
 * entry, directories and metadata gzipped. The order of the tiles does not matter: the same tiles give the same bytes.
 * Throws RangeError for a duplicate tile and for one outside the zooms. Source: PMTiles specification, version 3.
 */
export function writePmtiles(archive: Archive): Uint8Array {
  const tiles = [...archive.tiles].map((tile) => ({ id: idOf(tile, archive), data: tile.data }));
  tiles.sort((a, b) => a.id - b.id);

  const entries: Entry[] = [];
  const contents: Uint8Array[] = [];
  const known = new Map<string, { offset: number; length: number }>();
  let dataBytes = 0;
  let previousId = -1;
  for (const { id, data } of tiles) {
    if (id === previousId) throw new RangeError(`tile id ${id} comes twice, expected each tile once`);
    previousId = id;
    const digest = hash('sha1', data);
    let content = known.get(digest);
    if (!content) {
      content = { offset: dataBytes, length: data.length };
      known.set(digest, content);
      contents.push(data);
      dataBytes += data.length;
    }
    const last = entries.at(-1);
    if (last && last.offset === content.offset && last.id + last.run === id) last.run++;
    else entries.push({ id, ...content, run: 1 });
  }

  const { root, leaves } = directories(entries);
  const metadata = gzip(new TextEncoder().encode(JSON.stringify(archive.metadata)));
  let offset = HEADER_BYTES;
  const sections = [root.length, metadata.length, leaves.length, dataBytes].flatMap((length) => {
    const section = [offset, length];
    offset += length;
    return section;
  });
  const header = headerBytes(archive, [...sections, tiles.length, entries.length, contents.length]);
  return new Uint8Array(Buffer.concat([header, root, metadata, leaves, ...contents]));
}

function idOf({ z, x, y }: ArchiveTile, { minZoom, maxZoom }: Archive): number {
  if (z < minZoom || z > maxZoom) throw new RangeError(`tile ${z}/${x}/${y} is outside zooms ${minZoom} to ${maxZoom}`);
  return zxyToTileId(z, x, y);
}

/** The root directory while it fits, else a root of pointers to leaf directories. */
function directories(entries: readonly Entry[]): { root: Uint8Array; leaves: Uint8Array } {
  const flat = directoryBytes(entries);
  if (flat.length <= ROOT_MAX_BYTES) return { root: flat, leaves: new Uint8Array(0) };
  for (let size = LEAF_ENTRIES; ; size *= 2) {
    const pointers: Entry[] = [];
    const leaves: Uint8Array[] = [];
    let offset = 0;
    for (let i = 0; i < entries.length; i += size) {
      const leaf = directoryBytes(entries.slice(i, i + size));
      pointers.push({ id: entries[i].id, offset, length: leaf.length, run: 0 });
      leaves.push(leaf);
      offset += leaf.length;
    }
    const root = directoryBytes(pointers);
    if (root.length <= ROOT_MAX_BYTES) return { root, leaves: Buffer.concat(leaves) };
  }
}

/** Column by column: id differences, runs, lengths, offsets (0 = right behind the entry before, else offset + 1). */
function directoryBytes(entries: readonly Entry[]): Uint8Array {
  const numbers = [entries.length];
  entries.forEach((entry, i) => {
    numbers.push(entry.id - (entries[i - 1]?.id ?? 0));
  });
  for (const entry of entries) numbers.push(entry.run);
  for (const entry of entries) numbers.push(entry.length);
  entries.forEach((entry, i) => {
    const before = entries[i - 1];
    numbers.push(before && entry.offset === before.offset + before.length ? 0 : entry.offset + 1);
  });
  return gzip(Uint8Array.from(numbers.flatMap(varint)));
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return bytes;
}

function headerBytes({ bounds, center, minZoom, maxZoom }: Archive, numbers: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  numbers.forEach((value, i) => {
    view.setBigUint64(8 + 8 * i, BigInt(value), true);
  });
  const clustered = 1;
  [clustered, GZIP, GZIP, MVT, minZoom, maxZoom].forEach((value, i) => {
    view.setUint8(96 + i, value);
  });
  bounds.forEach((deg, i) => {
    view.setInt32(102 + 4 * i, Math.round(deg * 1e7), true);
  });
  view.setUint8(118, center.zoom);
  view.setInt32(119, Math.round(center.lon * 1e7), true);
  view.setInt32(123, Math.round(center.lat * 1e7), true);
  return bytes;
}

/** Gzipped bytes. The header holds neither time nor operating system: equal input gives equal bytes. */
export function gzip(bytes: Uint8Array): Uint8Array {
  const zipped = gzipSync(bytes);
  zipped[OS_BYTE] = OS_UNKNOWN;
  return zipped;
}

/** True for bytes that begin like a PMTiles archive of version 3. */
export function isPmtiles(archive: Uint8Array): boolean {
  return MAGIC.equals(archive.subarray(0, MAGIC.length));
}

/** Number of addressed tiles in the header of a PMTiles archive. */
export function addressedTiles(archive: Uint8Array): number {
  return Number(Buffer.from(archive.buffer, archive.byteOffset, archive.length).readBigUInt64LE(ADDRESSED_TILES_AT));
}
