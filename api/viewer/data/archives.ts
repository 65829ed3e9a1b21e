import type { AddProtocolAction } from 'maplibre-gl';
import { EtagMismatch, PMTiles, Protocol, type Source } from 'pmtiles';
import type { ArchiveNote } from '../map/coverage.ts';
import { SMOOTH_MAX_ZOOM, smoothTile } from '../map/smooth.ts';

/** Archives are read in pieces of this many bytes: the picture of a scan is rarely more than one or two. */
export const PIECE_BYTES = 65536;
/** Limit of cached pieces over all archives: about the pictures of a stormy day. */
const MAX_PIECES = 1500;

interface Piece {
  readonly bytes: ArrayBuffer;
  readonly etag: string;
}

/** Reads archives over HTTP by range in whole pieces, which are cached: prefetched bytes are not fetched again. */
export function openPieces(fetchRange: typeof fetch = (...request) => fetch(...request)) {
  /** Least recently used first. */
  const cache = new Map<string, Promise<Piece>>();
  /** Archives that changed: the browser's HTTP cache may hold the earlier bytes. */
  const changed = new Set<string>();

  const fetchPiece = async (url: string, from: number, bytes: number): Promise<Piece> => {
    const headers = { Range: `bytes=${from}-${from + bytes - 1}` };
    const response = await fetchRange(url, { headers, cache: changed.has(url) ? 'reload' : 'default' });
    if (response.status !== 206) throw new Error(`${url} answered ${response.status} to a range request, expected 206`);
    return { bytes: await response.arrayBuffer(), etag: response.headers.get('ETag') ?? '' };
  };
  const piece = (url: string, from: number, bytes: number): Promise<Piece> => {
    const name = `${from} ${url}`;
    const found = cache.get(name) ?? fetchPiece(url, from, bytes);
    cache.delete(name);
    cache.set(name, found);
    found.catch(() => cache.delete(name));
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_PIECES) break;
      cache.delete(oldest);
    }
    return found;
  };

  const forget = (url: string) => {
    changed.add(url);
    for (const name of cache.keys()) if (name.endsWith(` ${url}`)) cache.delete(name);
  };

  return {
    forget,
    /** Source of one archive for pmtiles. An archive whose ETag changed is read again. */
    source(url: string, piece_bytes = PIECE_BYTES): Source {
      return {
        getKey: () => url,
        async getBytes(offset, length, _signal, etag) {
          const start = offset - (offset % piece_bytes);
          const count = Math.ceil((offset + length - start) / piece_bytes);
          const starts = Array.from({ length: count }, (_, i) => start + i * piece_bytes);
          const pieces = await Promise.all(starts.map((from) => piece(url, from, piece_bytes)));
          const expected = etag ?? pieces[0].etag;
          if (pieces.some((one) => one.etag !== expected)) {
            forget(url);
            throw new EtagMismatch(`${url} has ETag ${pieces.map((one) => one.etag)}, expected ${expected}`);
          }
          return { data: join(pieces, offset - start, length), etag: expected };
        },
      };
    },
  };
}

/** `length` bytes from `start` of the first piece on; fewer at the end of the archive. */
function join(pieces: readonly Piece[], start: number, length: number): ArrayBuffer {
  const all = new Uint8Array(pieces.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
  let at = 0;
  for (const { bytes } of pieces) {
    all.set(new Uint8Array(bytes), at);
    at += bytes.byteLength;
  }
  return all.buffer.slice(start, start + length);
}

export type Archives = ReturnType<typeof openArchives>;

/** Archives for MapLibre's protocols `pmtiles:` and `smooth:`, with prefetching. */
export function openArchives() {
  const pieces = openPieces();
  const protocol = new Protocol();
  const editions = new Map<string, number>();
  /** Name of an archive for MapLibre: another one once it is read again. */
  const nameOf = (url: string, before = 0) => `${url}#${(editions.get(url) ?? 0) - before}`;
  const archive = (url: string, piece_bytes?: number): PMTiles => {
    const opened = protocol.tiles.get(nameOf(url)) ?? new PMTiles(pieces.source(url, piece_bytes));
    protocol.tiles.set(nameOf(url), opened);
    return opened;
  };
  /** Makes the next use read the archive again; pmtiles would cache a failed header for good. */
  const forget = (url: string) => {
    pieces.forget(url);
    // The last edition may still be on the map.
    protocol.tiles.delete(nameOf(url, 1));
    editions.set(url, (editions.get(url) ?? 0) + 1);
  };
  const pmtiles = protocol.tilev4 as AddProtocolAction;
  const smooth: AddProtocolAction = async (asked, abort) => {
    const { data } = await pmtiles({ ...asked, url: asked.url.replace(/^smooth:/, 'pmtiles:') }, abort);
    if (data instanceof Uint8Array) return { data: smoothTile(data) };
    return { data: { ...(data as object), maxzoom: SMOOTH_MAX_ZOOM, tiles: [`${asked.url}/{z}/{x}/{y}`] } };
  };
  return {
    protocols: { pmtiles, smooth },
    forget,
    /** Address of an archive for a MapLibre source; `piece_bytes`: how much of it is read at a time. */
    address(url: string, piece_bytes?: number): string {
      archive(url, piece_bytes);
      return `pmtiles://${nameOf(url)}`;
    },
    /** Address of the same archive with smoothed outlines and lines. */
    smoothAddress(url: string): string {
      archive(url);
      return `smooth://${nameOf(url)}`;
    },
    /** Prefetches the bytes that most pictures need. A failure is dropped: showing the archive reports it if it lasts. */
    prefetch(url: string): void {
      archive(url)
        .getHeader()
        .catch(() => forget(url));
    },
    /** Metadata of an archive. */
    async describe(url: string): Promise<ArchiveNote> {
      try {
        return (await archive(url).getMetadata()) as ArchiveNote;
      } catch (error) {
        forget(url);
        throw error;
      }
    },
  };
}
