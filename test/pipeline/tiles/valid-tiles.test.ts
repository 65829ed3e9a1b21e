import type { VectorTileFeature } from '@mapbox/vector-tile';
import test from 'ava';
import fc from 'fast-check';
import { drawTiers } from '../../../pipeline/swath/tiers.ts';
import { drawDailyTiles } from '../../../pipeline/tiles/daily-tiles.ts';
import { drawReflectivityTiles } from '../../../pipeline/tiles/reflectivity-tiles.ts';
import { drawScanTiles } from '../../../pipeline/tiles/scan-tiles.ts';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { SIZE_BANDS } from '../../../schemas/size.ts';
import { type OpenArchive, openArchive } from '../../support/data/archive.ts';
import { composite, drawTenths } from '../../support/data/draw.ts';
import { pixelsOf, REAL_DAY, REAL_SCAN, realField } from '../../support/data/pixels.ts';
import { DAY, DAY_MS, dayMaxRow } from '../../support/data/rows.ts';
import { sharedTest } from '../../support/data/shared-data.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

const SHOWN = { provenance: 'observed' as const, bounds: [-130, 20, -60, 55] as [number, number, number, number] };

function scanTiles(mesh: ReturnType<typeof realField>): Uint8Array {
  return drawScanTiles({ scan_time: DAY_MS, mesh, cells: [], tracks: [], uncovered: null, ...SHOWN });
}

/** Rings of a feature as polygons: by the format a ring of positive area in tile coordinates is a shell, others are its holes. */
function polygonsOf(feature: VectorTileFeature): MultiPolygon {
  const polygons: MultiPolygon = [];
  for (const points of feature.loadGeometry()) {
    const ring: Ring = points.map(({ x, y }) => [x, y]);
    const area = ring.slice(1).reduce((sum, [x, y], i) => {
      const [x0, y0] = ring[i] as [number, number];
      return sum + x0 * (y as number) - (x as number) * y0;
    }, 0);
    if (area > 0) polygons.push([ring]);
    else if (area < 0) (polygons.at(-1) ?? polygons[polygons.push([]) - 1])?.push(ring);
    else throw new Error(`a ring of no area: ${ring}`);
  }
  return polygons;
}

/** Polygons of a layer in every tile of an archive, and those that are not valid in tile coordinates. */
async function inspect(archive: OpenArchive, layer: string) {
  const faults: string[] = [];
  const byZoom = new Map<number, number>();
  for (const { z, x, y } of archive.coords) {
    const found = (await archive.tile(z, x, y))?.layers[layer];
    for (let i = 0; i < (found?.length ?? 0); i++) {
      const fault = isValidMultiPolygon(polygonsOf((found as NonNullable<typeof found>).feature(i)));
      byZoom.set(z, (byZoom.get(z) ?? 0) + 1);
      if (fault !== null) faults.push(`${z}/${x}/${y} feature ${i}: ${fault}`);
    }
  }
  return { faults, byZoom };
}

sharedTest('every hail polygon in every tile of a real scan is valid as decoded, at every zoom', async (t) => {
  const { faults, byZoom } = await inspect(await openArchive(scanTiles(realField(REAL_SCAN))), 'hail');
  t.deepEqual(faults, []);
  t.deepEqual(
    [...byZoom.keys()].sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
});

sharedTest('every tier in every tile of a real day is valid as decoded, at every zoom', async (t) => {
  const { rows, cols } = pixelsOf(realField(REAL_DAY), 19);
  const swaths = drawTiers(
    Array.from(rows, (row, i) => dayMaxRow({ row, col: cols[i], max_mm: 19 + ((7 * row + 3 * i) % 30) })),
    DAY,
    new Map(SIZE_BANDS.map(({ threshold_mm }) => [threshold_mm, 1])),
  );
  const content = { storm_date: DAY, swaths, tracks: [], data_time: null, ...SHOWN };
  const { faults, byZoom } = await inspect(await openArchive(drawDailyTiles(content)), 'swaths');
  t.deepEqual(faults, []);
  t.is(byZoom.size, 11);
});

test('any pixels across the corner of four tiles are valid polygons in each', async (t) => {
  const side = 12;
  const field = fc.array(fc.constantFrom(0, 0, 60, 200), { minLength: side * side, maxLength: side * side });
  await fc.assert(
    fc.asyncProperty(field, async (tenths) => {
      const rows = Array.from({ length: side }, (_, r) => tenths.slice(r * side, (r + 1) * side));
      // 100.1953 W, 39.9098 N: where the tiles 226 and 227, 387 and 388 of zoom 10 meet.
      const mesh = drawTenths(rows, { row0: 1503, col0: 2974 });
      const { faults } = await inspect(await openArchive(scanTiles(mesh)), 'hail');
      t.deepEqual(faults, []);
    }),
    { numRuns: 40 },
  );
});

test('any bands of reflectivity across the corner of four tiles are valid polygons in each, at every zoom', async (t) => {
  const side = 14;
  const field = fc.array(fc.constantFrom(-99, 20, 25, 70), { minLength: side * side, maxLength: side * side });
  await fc.assert(
    fc.asyncProperty(field, async (dbz) => {
      const rows = Array.from({ length: side }, (_, r) => dbz.slice(r * side, (r + 1) * side));
      // 95.625 W, 40.9799 N: where four tiles of zoom 6 meet.
      const archive = drawReflectivityTiles({
        composite: composite(rows, { row0: 1395, col0: 3430 }),
        uncovered: null,
        subject: 'a drawing',
      });
      const { faults, byZoom } = await inspect(await openArchive(archive), 'reflectivity');
      t.deepEqual(faults, []);
      t.is(byZoom.size, 7);
    }),
    { numRuns: 40 },
  );
});
