import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ENDPOINTS } from '../../../api/routes/index.ts';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { filesBelow } from '../../../pipeline/files.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { colLon, LATTICE_NAMES, LATTICES, type LatticeName, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Health } from '../../../schemas/resources/health.ts';
import { askEccodes } from '../../support/data/eccodes.ts';
import { scratch } from '../../support/data/world.ts';
import { command } from '../../support/kill/killed.ts';
import { startService } from '../../support/service/service.ts';

const NOW = '2024-08-01T06:10:00Z';

/** Writes MESH of a lattice: a round storm that goes east, in a patch that radar sees. Prints the first and last point. */
const WRITE = `
import json, sys
import numpy as np
import eccodes as ec
(west, south, east, north), step = BBOX, STEP
rows, cols = round((north - south) / step), round((east - west) / step)
corners = None
for i, path in enumerate(PATHS):
    v = np.full((rows, cols), -3.0)
    r, c = rows // 2, cols // 2 - 40
    v[r-120:r+120, c-120:c+120] = -1
    for dr in range(-8, 9):
        for dc in range(-8, 9):
            d = (dr * dr + dc * dc) ** .5
            if d <= 8: v[r+dr, c+dc+3*i] = round(40 * (1 - d / 9), 1)
    h = ec.codes_grib_new_from_samples('regular_ll_sfc_grib2')
    for k, x in dict(discipline=209, centre=161, tablesVersion=1, productionStatusOfProcessedData=0, dataDate=20240801,
        dataTime=600 + 2 * i, Ni=cols, Nj=rows, iDirectionIncrement=round(step*1e6), jDirectionIncrement=round(step*1e6),
        latitudeOfFirstGridPoint=round((north-step/2)*1e6), longitudeOfFirstGridPoint=round(((west+step/2)%360)*1e6),
        latitudeOfLastGridPoint=round((south+step/2)*1e6), longitudeOfLastGridPoint=round(((east-step/2)%360)*1e6),
        parameterCategory=3, parameterNumber=28, packingType='grid_simple').items(): ec.codes_set(h, k, x)
    ec.codes_set_values(h, v.flatten())
    ec.codes_set(h, 'changeDecimalPrecision', 1)
    with open(path, 'wb') as f: ec.codes_write(h, f)
    lat, lon = ec.codes_get_array(h, 'latitudes'), ec.codes_get_array(h, 'longitudes')
    at = [0, cols - 1, r * cols + c, rows * cols - 1]
    corners = [[float(lat[k]), float(lon[k])] for k in at]
print(json.dumps({'rows': rows, 'cols': cols, 'points': corners}))
`;

interface Written {
  readonly folder: string;
  readonly rows: number;
  readonly cols: number;
  /** Latitude and longitude by ecCodes: first point, end of the first row, a point in the middle, last point. */
  readonly points: readonly (readonly [number, number])[];
}

async function written(t: ExecutionContext, name: LatticeName, scans: number): Promise<Written> {
  const folder = await scratch(t, 'from');
  await fs.mkdir(folder, { recursive: true });
  const paths = Array.from({ length: scans }, (_, i) =>
    join(folder, `MRMS_MESH_00.50_20240801-06${String(2 * i).padStart(2, '0')}00.grib2`),
  );
  const { bbox, step } = LATTICES[name];
  const head = `BBOX, STEP, PATHS = ${JSON.stringify(bbox)}, ${step}, ${JSON.stringify(paths)}\n`;
  return { folder, ...(askEccodes(head + WRITE) as Omit<Written, 'folder'>) };
}

const hasEccodes = askEccodes('import json, eccodes, numpy\nprint(json.dumps(True))') !== null;

function eccodesTest(title: string, body: (t: ExecutionContext) => Promise<void>): void {
  if (hasEccodes) test.serial(title, body);
  else test.skip(`${title} (needs python3 with eccodes and numpy, which are absent)`, body);
}

function ingest(root: string, folder: string, settings: Record<string, string> = {}) {
  const args = ['ingest', '--source', 'dir', '--from', folder, '--no-progress', '--json'];
  return command(root, args, { now_ms: Date.parse(NOW), environment: settings });
}

for (const name of LATTICE_NAMES)
  eccodesTest(`a whole grid of the ${name} lattice has its points where ecCodes has them`, async (t) => {
    const { folder, rows, cols, points } = await written(t, name, 1);
    const [path = ''] = (await fs.readdir(folder)).map((file) => join(folder, file));
    const { window } = readGrid(await fs.readFile(path), path);
    t.deepEqual([window.lattice.name, window.rows, window.cols], [name, rows, cols]);
    const places = [
      [0, 0],
      [0, cols - 1],
      [Math.floor(rows / 2), Math.floor(cols / 2) - 40],
      [rows - 1, cols - 1],
    ] as const;
    for (const [k, [row, col]] of places.entries()) {
      const [lat = 0, lon = 0] = points[k] ?? [];
      t.true(Math.abs(rowLat(window.lattice, row) - lat) < 2e-6);
      t.true(Math.abs(((colLon(window.lattice, col) + 360) % 360) - ((lon + 360) % 360)) < 2e-6);
    }
    const other = LATTICES[name === 'conus' ? 'alaska' : 'conus'];
    t.throws(() => readGrid(new Uint8Array(0), path, undefined, other));
    const bytes = await fs.readFile(path);
    t.throws(() => readGrid(bytes, path, undefined, other), {
      message: new RegExp(`is a grid of the ${LATTICES[name].title} lattice, .*${other.title} lattice.*=${name}$`),
    });
  });

eccodesTest('grids of Guam make a data root of their own, from detections to the answers of the service', async (t) => {
  const { folder } = await written(t, 'guam', 4);
  const root = await scratch(t);
  const refused = await ingest(root, folder);
  t.regex(JSON.parse(refused.stdout).run.rejected[0].reason, /grid of the Guam lattice.*HAIL_LATTICE=guam$/);
  const run = await ingest(root, folder, { HAIL_LATTICE: 'guam' });
  t.is(run.code, 0, run.stderr);
  const report = JSON.parse(run.stdout);
  t.deepEqual([report.run.scans, report.published.cells, report.published.tracks], [4, 4, 1]);
  t.is(report.climatology, null);
  t.is(JSON.parse(await fs.readFile(join(root, 'root.json'), 'utf8')).lattice, 'guam');

  // By DuckDB alone: the position of every pixel follows from its row and column, and the area from its size.
  const files = (await filesBelow(join(root, 'tables', 'detections'))).map((file) =>
    join(root, 'tables', 'detections', file),
  );
  const engine = await openEngine();
  const [off] = await engine.rows<{ n: number; rows: number }>(
    `SELECT count(*)::DOUBLE AS rows, count(*) FILTER (abs(lat - (17.9975 - 0.005 * "row")) > 1e-9 OR abs(lon - (140.0025 + 0.005 * col)) > 1e-9)::DOUBLE AS n FROM read_parquet([${files.map((file) => `'${file}'`).join()}])`,
  );
  engine.close();
  t.is(off?.n, 0);
  t.true((off?.rows ?? 0) > 0);

  const again = await ingest(root, folder, { HAIL_LATTICE: 'alaska' });
  t.not(again.code, 0);
  t.regex(again.stderr, /holds data on the Guam lattice \(guam\), expected HAIL_LATTICE=guam or none, found alaska/);
  const same = await ingest(root, folder);
  t.is(JSON.parse(same.stdout).run.skipped, 4);

  const service = await startService({ endpoints: ENDPOINTS, data_root: root, now_ms: Date.parse(NOW) });
  t.teardown(service.close);
  const health = (await (await service.call('/v1/health')).json()) as Health;
  t.deepEqual([health.lattice.name, health.lattice.bbox], ['guam', [140, 9, 150, 18]]);
  const current = (await (await service.call('/v1/hail/current?lat=13.5&lon=144.8&radius_km=100')).json()) as {
    hail_cells: { lat: number; lon: number }[];
  };
  t.true(JSON.stringify(current).includes('40'));
  const far = (await (await service.call('/v1/coverage?lat=35&lon=-97')).json()) as { covered: boolean; note: string };
  t.false(far.covered);
  t.regex(far.note, /outside the published area, 9 to 18 N and 140 to 150 E/);
  const events = await service.call('/v1/events?date_start=2024-08-01&date_end=2024-08-01');
  t.is(events.status, 403);
  t.regex(await events.text(), /answered for the CONUS lattice alone, and this service serves the Guam lattice/);
});
