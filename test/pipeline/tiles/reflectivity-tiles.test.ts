import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import type { Grid } from '../../../pipeline/grid.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { uncoveredBlocks } from '../../../pipeline/read/uncovered.ts';
import { drawReflectivityTiles } from '../../../pipeline/tiles/reflectivity-tiles.ts';
import { LATTICE } from '../../../schemas/geo/lattice.ts';
import { REFLECTIVITY_COLORS } from '../../../schemas/palette.ts';
import { type OpenArchive, openArchive, properties } from '../../support/data/archive.ts';
import { composite } from '../../support/data/draw.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const MAX_ZOOM = 6;
const EXTENT = 4096;

function draw(grid: Grid): Promise<OpenArchive> {
  return openArchive(drawReflectivityTiles({ composite: grid, uncovered: uncoveredBlocks(grid), subject: 'a file' }));
}

/** Column and row of the lattice whose north-western corner lies at a position of a tile. */
function cornerAt(tile: { x: number; y: number }, x: number, y: number) {
  const world = EXTENT * 2 ** MAX_ZOOM;
  const lon = ((tile.x * EXTENT + x) / world - 0.5) * 360;
  const lat = (Math.atan(Math.sinh(Math.PI * (1 - (2 * (tile.y * EXTENT + y)) / world))) * 180) / Math.PI;
  return { col: Math.round((lon - LATTICE.west) * 100), row: Math.round((LATTICE.north - lat) * 100) };
}

/**
 * Band of every pixel as a reader sees it that fills the polygons of zoom 6 by the even-odd rule; 0 where nothing is painted.
 * Throws where two bands overlap or two tiles disagree.
 */
async function paintedPixels(archive: OpenArchive): Promise<Uint8Array> {
  const painted = new Uint8Array(LATTICE.rows * LATTICE.cols);
  /** Tile that a pixel was painted in last, counted from 1. */
  const painter = new Uint16Array(painted.length);
  const fill = (tile: number, dbz: number, pixel: number) => {
    if (painter[pixel] === tile) throw new Error(`two bands at ${pixel}`);
    if (painted[pixel] !== 0 && painted[pixel] !== dbz) throw new Error(`tiles disagree at ${pixel}`);
    painter[pixel] = tile;
    painted[pixel] = dbz;
  };
  for (const [index, { z, x, y }] of archive.coords.filter((tile) => tile.z === MAX_ZOOM).entries()) {
    const layer = (await archive.tile(z, x, y))?.layers.reflectivity;
    for (let i = 0; i < (layer?.length ?? 0); i++) {
      const feature = (layer as NonNullable<typeof layer>).feature(i);
      const crossings = new Map<number, number[]>();
      for (const ring of feature.loadGeometry()) {
        const corners = ring.map((point) => cornerAt({ x, y }, point.x, point.y));
        corners.slice(1).forEach((to, k) => {
          const from = corners[k] as typeof to;
          for (let row = Math.min(from.row, to.row); row < Math.max(from.row, to.row); row++)
            push(crossings, row, to.col);
        });
      }
      for (const [row, cols] of crossings) {
        cols.sort((a, b) => a - b);
        for (let k = 0; k < cols.length; k += 2)
          for (let col = cols[k] as number; col < (cols[k + 1] as number); col++)
            fill(index + 1, Number(feature.properties.dbz), row * LATTICE.cols + col);
      }
    }
  }
  return painted;
}

function push(lists: Map<number, number[]>, key: number, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

const REAL = 'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2';

sharedTest(
  'the bands of a real composite, decoded as any map reads them, hold the values that ecCodes gives',
  async (t) => {
    const expected = JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')).mrms[REAL] as {
      count_ge: Record<string, number>;
      points: { row: number; col: number; value: number }[];
    };
    const archive = await draw(readGrid(readFileSync(sharedData(`mrms/${REAL}`)), REAL));
    const painted = await paintedPixels(archive);
    const tally = new Map<number, number>();
    for (const dbz of painted) tally.set(dbz, (tally.get(dbz) ?? 0) + 1);
    for (const [bound, count] of Object.entries(expected.count_ge).filter(([dbz]) => Number(dbz) >= 20)) {
      const found = [...tally].filter(([dbz]) => dbz >= Number(bound)).reduce((sum, [, pixels]) => sum + pixels, 0);
      t.is(found, count, `${bound} dBZ and more`);
    }
    for (const { row, col, value } of expected.points)
      t.is(painted[row * LATTICE.cols + col], value < 20 ? 0 : 5 * Math.floor(value / 5), `${value} at ${row}, ${col}`);
    t.is(archive.header.maxZoom, MAX_ZOOM);
  },
);

test('a band is painted from its bound on, the strongest of a square at lower zooms, and nothing below 20 dBZ', async (t) => {
  const archive = await draw(
    composite([
      [19.9, 20, 24.9, 25],
      [-99, 74.9, 75, 90],
      [-999, -99, -999, 19.9],
    ]),
  );
  const painted = await paintedPixels(archive);
  const first = painted.indexOf(20) - 1;
  const rows = [0, 1, 2].map((row) => [...painted.slice(first + row * LATTICE.cols, first + row * LATTICE.cols + 4)]);
  t.deepEqual(rows, [
    [0, 20, 20, 25],
    [0, 70, 75, 75],
    [0, 0, 0, 0],
  ]);
  t.deepEqual(properties(await archive.tile(0, 0, 0), 'reflectivity'), [{ dbz: 75 }]);
});

test('a composite without echoes is an archive that names its layer, and says where nothing was covered', async (t) => {
  const archive = await draw(
    composite(Array.from({ length: 20 }, () => Array.from({ length: 20 }, (_, c) => (c < 10 ? -999 : -99)))),
  );
  t.deepEqual(archive.coords, [{ z: 0, x: 0, y: 0 }]);
  t.true(new TextDecoder().decode((await archive.bytes(0, 0, 0)) ?? undefined).includes('reflectivity'));
  t.deepEqual((archive.metadata.uncovered as { runs: unknown }).runs, [
    [0, 0, 1],
    [1, 0, 1],
  ]);
});

test('a composite of noise is refused before any outline is traced', (t) => {
  const packed = Uint16Array.from({ length: 2_100_000 }, (_, i) => 9990 + 200 + 300 * (i % 2));
  const noise = { ...composite([]), window: { row0: 0, col0: 0, rows: 300, cols: 7000 }, packed };
  const error = t.throws(() => drawReflectivityTiles({ composite: noise, uncovered: null, subject: 'a file' }), {
    instanceOf: BadInput,
  });
  t.is(error?.subject, 'a file');
  t.regex(error?.reason ?? '', /changes between bands of reflectivity, expected at most 2000000$/);
});

test('reflectivity darkens from band to band of 5 dBZ', (t) => {
  const light = (color: string) => {
    const [r, g, b] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  REFLECTIVITY_COLORS.slice(1).forEach(({ dbz_min, color }, i) => {
    const before = REFLECTIVITY_COLORS[i] as (typeof REFLECTIVITY_COLORS)[number];
    t.is(dbz_min, before.dbz_min + 5);
    t.true(light(color) < light(before.color), `${dbz_min} dBZ`);
  });
});
