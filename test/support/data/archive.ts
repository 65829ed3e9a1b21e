import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { type Entry, type Header, PMTiles, type Source, tileIdToZxy } from 'pmtiles';

/** An archive as the npm reader sees it. */
export type OpenArchive = Awaited<ReturnType<typeof openArchive>>;

/** Opens an archive in memory with the npm reader. */
export async function openArchive(archive: Uint8Array) {
  const source: Source = {
    getKey: () => 'memory',
    getBytes: async (offset, length) => ({ data: archive.slice(offset, offset + length).buffer }),
  };
  const reader = new PMTiles(source);
  const header = await reader.getHeader();
  const entries = await entriesOf(reader, source, header, header.rootDirectoryOffset, header.rootDirectoryLength);
  const bytes = async (z: number, x: number, y: number) => {
    const response = await reader.getZxy(z, x, y);
    return response ? new Uint8Array(response.data) : null;
  };
  return {
    header,
    metadata: (await reader.getMetadata()) as Record<string, unknown>,
    /** Entries of the root and leaf directories, in order. */
    entries,
    /** Every tile an entry addresses. */
    coords: entries.flatMap((entry) =>
      Array.from({ length: entry.runLength }, (_, i) => {
        const [z, x, y] = tileIdToZxy(entry.tileId + i);
        return { z, x, y };
      }),
    ),
    /** Bytes of a tile, unpacked; null when there is none. */
    bytes,
    /** A decoded tile; null when there is none. */
    tile: async (z: number, x: number, y: number) => {
      const data = await bytes(z, x, y);
      return data ? new VectorTile(new PbfReader(data)) : null;
    },
  };
}

async function entriesOf(
  reader: PMTiles,
  source: Source,
  header: Header,
  offset: number,
  length: number,
): Promise<Entry[]> {
  const found: Entry[] = [];
  for (const entry of await reader.cache.getDirectory(source, offset, length, header)) {
    if (entry.runLength > 0) found.push(entry);
    else
      found.push(...(await entriesOf(reader, source, header, header.leafDirectoryOffset + entry.offset, entry.length)));
  }
  return found;
}

/** Properties of every feature of a layer in a tile. */
export function properties(tile: VectorTile | null, layer: string): Record<string, number | string | boolean>[] {
  const found = tile?.layers[layer];
  return found ? Array.from({ length: found.length }, (_, i) => ({ ...found.feature(i).properties })) : [];
}
