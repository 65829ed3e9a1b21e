import { EtagMismatch, PMTiles, Protocol } from 'pmtiles';

/** Archives are read in pieces of this many bytes: the picture of a scan is rarely more than one or two. */
export const PIECE_BYTES = 65536;
/** Pieces kept over all archives; about the pictures of a stormy day. */
const MAX_PIECES = 1500;

/** @typedef {{ bytes: ArrayBuffer, etag: string }} Piece */

/**
 * Reads archives over HTTP by range, in whole pieces that are kept and shared: what was fetched ahead is not fetched again.
 * @param {typeof fetch} fetchRange
 */
export function openPieces(fetchRange = (...request) => fetch(...request)) {
  /** @type {Map<string, Promise<Piece>>} least recently used first */
  const kept = new Map();
  /** @type {Set<string>} archives that changed: the browser's own copies may be of before */
  const changed = new Set();

  /** @param {string} url @param {number} index */
  const piece = (url, index) => {
    const name = `${index} ${url}`;
    const found = kept.get(name) ?? fetchPiece(fetchRange, url, index, changed.has(url));
    kept.delete(name);
    kept.set(name, found);
    found.catch(() => kept.delete(name));
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_PIECES) break;
      kept.delete(oldest);
    }
    return found;
  };

  /** @param {string} url */
  const forget = (url) => {
    changed.add(url);
    for (const name of kept.keys()) if (name.endsWith(` ${url}`)) kept.delete(name);
  };

  return {
    forget,
    /**
     * A source of one archive for pmtiles. An archive that changed under its address is read anew.
     * @param {string} url
     * @returns {import('pmtiles').Source}
     */
    source(url) {
      return {
        getKey: () => url,
        async getBytes(offset, length, _signal, etag) {
          const first = Math.floor(offset / PIECE_BYTES);
          const last = Math.floor((offset + length - 1) / PIECE_BYTES);
          const pieces = await Promise.all(Array.from({ length: last - first + 1 }, (_, i) => piece(url, first + i)));
          const expected = etag ?? pieces[0].etag;
          if (pieces.some((one) => one.etag !== expected)) {
            forget(url);
            throw new EtagMismatch(`${url} has ETag ${pieces.map((one) => one.etag)}, expected ${expected}`);
          }
          return { data: join(pieces, offset - first * PIECE_BYTES, length), etag: expected };
        },
      };
    },
  };
}

/**
 * @param {typeof fetch} fetchRange
 * @param {string} url
 * @param {number} index
 * @param {boolean} anew past the browser's own copies
 * @returns {Promise<Piece>}
 */
async function fetchPiece(fetchRange, url, index, anew) {
  const from = index * PIECE_BYTES;
  const response = await fetchRange(url, {
    headers: { Range: `bytes=${from}-${from + PIECE_BYTES - 1}` },
    cache: anew ? 'reload' : 'default',
  });
  if (response.status !== 206) throw new Error(`${url} answered ${response.status} to a range request, expected 206`);
  return { bytes: await response.arrayBuffer(), etag: response.headers.get('ETag') ?? '' };
}

/**
 * @param {readonly Piece[]} pieces
 * @param {number} start within the first piece
 * @param {number} length what there is of it, at the end of the archive
 * @returns {ArrayBuffer}
 */
function join(pieces, start, length) {
  if (pieces.length === 1) return pieces[0].bytes.slice(start, start + length);
  const all = new Uint8Array(pieces.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
  let at = 0;
  for (const { bytes } of pieces) {
    all.set(new Uint8Array(bytes), at);
    at += bytes.byteLength;
  }
  return all.buffer.slice(start, start + length);
}

/**
 * Archives for MapLibre's protocol `pmtiles:`, and a way to fetch the beginning of one before it is shown.
 */
export function openArchives() {
  const pieces = openPieces();
  const protocol = new Protocol();
  /** @param {string} url */
  const archive = (url) => {
    const found = protocol.get(url);
    if (found) return found;
    const opened = new PMTiles(pieces.source(url));
    protocol.add(opened);
    return opened;
  };
  /**
   * Reads it anew the next time; pmtiles would remember a failed header for good.
   * @param {string} url
   */
  const forget = (url) => {
    pieces.forget(url);
    protocol.tiles.delete(url);
  };
  return {
    tile: protocol.tile,
    /**
     * Address of an archive for a MapLibre source.
     * @param {string} url
     */
    address(url) {
      archive(url);
      return `pmtiles://${url}`;
    },
    /**
     * Fetches what most pictures need. A failure is forgotten: whoever shows the archive meets it, if it lasts.
     * @param {string} url
     */
    ahead(url) {
      archive(url)
        .getHeader()
        .catch(() => forget(url));
    },
    /**
     * What an archive says of itself.
     * @param {string} url
     * @returns {Promise<import('./coverage.js').ArchiveNote>}
     */
    async describe(url) {
      try {
        return /** @type {import('./coverage.js').ArchiveNote} */ (await archive(url).getMetadata());
      } catch (error) {
        forget(url);
        throw error;
      }
    },
    forget,
  };
}
