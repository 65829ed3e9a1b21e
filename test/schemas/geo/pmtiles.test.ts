import { gunzipSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { type Archive, type ArchiveTile, gzip, writePmtiles } from '../../../schemas/geo/pmtiles.ts';
import { openArchive } from '../../support/data/archive.ts';

const text = (content: string) => gzip(new TextEncoder().encode(content));

function archiveOf(tiles: readonly ArchiveTile[]): Archive {
  return {
    tiles,
    metadata: { name: 'test', vector_layers: [] },
    bounds: [-130, 20, -60, 55],
    center: { lon: -95, lat: 37.5, zoom: 4 },
    minZoom: 0,
    maxZoom: 10,
  };
}

/** All places of a zoom. */
function places(z: number): { z: number; x: number; y: number }[] {
  const side = 2 ** z;
  return Array.from({ length: side * side }, (_, i) => ({ z, x: i % side, y: Math.floor(i / side) }));
}

/** All tiles of a zoom, each with its own content. */
function wholeZoom(z: number): ArchiveTile[] {
  return places(z).map(({ x, y }) => ({ z, x, y, data: text(`${z}/${x}/${y}`) }));
}

test('every tile is read back, and the header counts what is there', async (t) => {
  const tiles = [0, 1, 2, 3, 4].flatMap(wholeZoom);
  const archive = await openArchive(writePmtiles(archiveOf(tiles)));
  t.is(archive.coords.length, tiles.length);
  for (const { z, x, y } of archive.coords)
    t.is(new TextDecoder().decode((await archive.bytes(z, x, y)) ?? undefined), `${z}/${x}/${y}`);
  const { numAddressedTiles, numTileEntries, numTileContents } = archive.header;
  t.deepEqual([numAddressedTiles, numTileEntries, numTileContents], [341, 341, 341]);
});

test('the four corners of each zoom are found, their neighbours outside are not', async (t) => {
  const corners = Array.from({ length: 11 }, (_, z) => {
    const last = 2 ** z - 1;
    const places =
      z === 0
        ? [[0, 0]]
        : [
            [0, 0],
            [0, last],
            [last, 0],
            [last, last],
          ];
    return places.map(([x, y]) => ({ z, x: x as number, y: y as number, data: text(`${z}/${x}/${y}`) }));
  }).flat();
  const archive = await openArchive(writePmtiles(archiveOf(corners)));
  for (const { z, x, y } of corners)
    t.is(new TextDecoder().decode((await archive.bytes(z, x, y)) ?? undefined), `${z}/${x}/${y}`);
  for (const z of [2, 5, 10]) t.is(await archive.bytes(z, 1, 1), null);
});

test('equal tiles are stored once and runs of equal neighbours share an entry', async (t) => {
  const tiles = wholeZoom(3).map((tile) => ({ ...tile, data: text('sea') }));
  const archive = await openArchive(writePmtiles(archiveOf([...tiles, { z: 0, x: 0, y: 0, data: text('world') }])));
  const { numAddressedTiles, numTileEntries, numTileContents } = archive.header;
  t.deepEqual([numAddressedTiles, numTileEntries, numTileContents], [65, 2, 2]);
  t.is(archive.coords.length, 65);
  t.is(new TextDecoder().decode((await archive.bytes(3, 7, 0)) ?? undefined), 'sea');
});

test('tiles lie in the order of their ids: the archive is clustered', async (t) => {
  const archive = await openArchive(writePmtiles(archiveOf([0, 1, 2].flatMap(wholeZoom).reverse())));
  t.true(archive.header.clustered);
  const offsets = archive.entries.map((entry) => entry.offset);
  t.deepEqual(
    offsets,
    offsets.toSorted((a, b) => a - b),
  );
});

/** Bytes that do not shrink, of lengths that vary, one after the other. */
function* noise(): Generator<Uint8Array> {
  let state = 1;
  const next = () => {
    state = (state * 48271) % 2147483647;
    return state;
  };
  for (;;) {
    const bytes = new Uint8Array(20 + (next() % 400));
    for (let i = 0; i < bytes.length; i++) bytes[i] = next();
    yield bytes;
  }
}

test('a directory too long for the first request of a client moves to leaves', async (t) => {
  const source = noise();
  const tiles = places(7).map((place) => ({ ...place, data: source.next().value as Uint8Array }));
  const archive = await openArchive(
    writePmtiles(archiveOf(tiles.map((tile) => ({ ...tile, data: gzipSync(tile.data, { level: 0 }) })))),
  );
  t.true((archive.header.leafDirectoryLength as number) > 0);
  t.true(archive.header.rootDirectoryOffset + archive.header.rootDirectoryLength <= 16384);
  t.is(archive.coords.length, tiles.length);
  for (const { x, y, data } of [tiles[0], tiles[5000], tiles[8191], tiles[16383]] as ArchiveTile[])
    t.deepEqual(await archive.bytes(7, x, y), data);
});

test('an archive without tiles opens', async (t) => {
  const archive = await openArchive(writePmtiles(archiveOf([])));
  t.is(archive.coords.length, 0);
  t.is(await archive.bytes(0, 0, 0), null);
});

test('header and metadata say what they were given', async (t) => {
  const { header, metadata } = await openArchive(writePmtiles(archiveOf(wholeZoom(1).map((tile) => tile))));
  t.like(header, { specVersion: 3, tileType: 1, tileCompression: 2, internalCompression: 2, minZoom: 0, maxZoom: 10 });
  t.deepEqual([header.minLon, header.minLat, header.maxLon, header.maxLat], [-130, 20, -60, 55]);
  t.deepEqual([header.centerLon, header.centerLat, header.centerZoom], [-95, 37.5, 4]);
  t.deepEqual(metadata, { name: 'test', vector_layers: [] });
});

test('the same tiles in any order give the same bytes', (t) => {
  const tiles = [0, 1, 2, 3].flatMap(wholeZoom);
  t.deepEqual(writePmtiles(archiveOf(tiles.toReversed())), writePmtiles(archiveOf(tiles)));
});

test('a tile that comes twice or outside the zooms is refused', (t) => {
  const tile = { z: 1, x: 0, y: 0, data: text('a') };
  t.throws(() => writePmtiles(archiveOf([tile, tile])), { message: /comes twice/ });
  t.throws(() => writePmtiles(archiveOf([{ ...tile, z: 11 }])), { message: 'tile 11/0/0 is outside zooms 0 to 10' });
});

test('gzip names neither time nor system', (t) => {
  const zipped = text('hail');
  t.deepEqual([...zipped.subarray(0, 10)], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  t.is(gunzipSync(zipped).toString(), 'hail');
});
