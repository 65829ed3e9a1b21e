import type { AddProtocolAction } from 'maplibre-gl';
import { EtagMismatch, PMTiles, type Source } from 'pmtiles';
import type { UncoveredBlocks } from '../map/coverage.ts';
import { joinTiles } from '../map/smooth.ts';

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
          const data = new Blob(pieces.map(({ bytes }) => bytes)).slice(offset - start, offset - start + length);
          return { data: await data.arrayBuffer(), etag: expected };
        },
      };
    },
  };
}

/** Metadata of an archive, as far as this page reads it. */
interface ArchiveNote {
  /** West, south, east, north. */
  readonly hail_bounds?: [number, number, number, number] | null;
  readonly uncovered?: UncoveredBlocks;
}

export type Archives = ReturnType<typeof openArchives>;

/** Name of a picture, its edition, and the place of one tile, in the address of a tile. */
const TILE = /:\/\/(\w+)\/\d+\/(\d+)\/(\d+)\/(\d+)$/;
/** The picture with rounded outlines and filtered lines. */
const SMOOTH = 'smooth';

/** Archives of a picture, which resolves to null once it gets others. */
interface Picture extends PromiseWithResolvers<null> {
  readonly urls: readonly string[];
  is_whole: boolean;
}

/** Serves tiles of archives under MapLibre's protocol `hail:`. `onError` gets each read that failed. */
export function openArchives(onError: (error: unknown) => void) {
  const pieces = openPieces();
  const opened = new Map<string, PMTiles>();
  /** Makes the next use read the archive again. */
  const forget = (url: string) => {
    if (opened.delete(url)) pieces.forget(url);
  };
  /** An archive, whose first piece has the bytes that most pictures need. */
  const open = (url: string, piece_bytes?: number): PMTiles => {
    const found = opened.get(url);
    if (found !== undefined) return found;
    const archive = new PMTiles(pieces.source(url, piece_bytes));
    opened.set(url, archive);
    // It would cache a failed header for good. Who reads its tiles reports the failure.
    archive.getHeader().catch(() => forget(url));
    return archive;
  };
  const pictures = new Map<string, Picture>();
  let edition = 0;
  /**
   * Gives a picture other archives, all of whose content is in one tile, that of the last on top. The address of its tiles is another one
   * then: what MapLibre cuts out of a tile for higher zooms it keeps by the address.
   */
  const show = (name: string, urls: readonly string[]): string => {
    const before = pictures.get(name);
    pictures.set(name, { urls, is_whole: urls.length > 0, ...Promise.withResolvers<null>() });
    before?.resolve(null);
    edition += 1;
    return `hail://${name}/${edition}/{z}/{x}/{y}`;
  };
  /**
   * The tile of each archive that has one there. An archive that fails costs itself only, and is opened again at the next use: MapLibre
   * would not read a tile again that failed.
   */
  const read = async (picture: Picture, [z, x, y]: number[]): Promise<Uint8Array[]> => {
    const failed = (url: string) => (error: unknown) => {
      forget(url);
      picture.is_whole = false;
      onError(error);
    };
    const tiles = await Promise.all(picture.urls.map((url) => open(url).getZxy(z, x, y).catch(failed(url))));
    return tiles.flatMap((tile) => (tile ? [new Uint8Array(tile.data)] : []));
  };
  /** Tiles of a picture; where it gets other archives while they are on their way, the tiles of those. */
  const tilesOf = async (name: string, place: number[]): Promise<Uint8Array[]> => {
    const picture = pictures.get(name);
    if (picture === undefined) return [];
    return (await Promise.race([read(picture, place), picture.promise])) ?? tilesOf(name, place);
  };
  const protocol: AddProtocolAction = async ({ url }) => {
    const [, name = '', ...place] = TILE.exec(url) ?? [];
    return { data: joinTiles(await tilesOf(name, place.map(Number)), name === SMOOTH) };
  };
  return {
    protocol,
    open,
    forget,
    show,
    /** True if the picture has archives and every read of them succeeded. */
    isWhole: (name: string): boolean => pictures.get(name)?.is_whole === true,
    /** Metadata of an archive; nothing of one that cannot be read. */
    describe: async (url: string): Promise<ArchiveNote> => (await open(url).getMetadata().catch(onError)) ?? {},
  };
}
