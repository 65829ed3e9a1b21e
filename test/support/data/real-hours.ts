import { readdirSync, readFileSync } from 'node:fs';
import type { Predictors } from '../../../pipeline/forecast/hail-law.ts';
import { type CellHour, cellHour } from '../../../pipeline/forecast/model-cells.ts';
import { ship } from '../../../pipeline/forecast/ship.ts';
import { gridValue } from '../../../pipeline/grid.ts';
import { readGrid } from '../../../pipeline/read/mrms.ts';
import { KM_PER_DEG, RAD_PER_DEG } from '../../../schemas/geo/constants.ts';
import { CONUS_CELLS } from '../../../schemas/geo/geohash4.ts';
import { LATTICE } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';
import { cellsNear } from './report-circles.ts';
import { sharedData } from './shared-folder.ts';

/** Composite reflectivity as radars saw it, as if a model had foretold it for the hour: one look, and no air around it. */
export function compositeHour(): CellHour {
  const name = 'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2';
  const field = readGrid(readFileSync(sharedData('mrms', name)), name);
  const valid_time = Math.floor(field.scan_time / MS_PER_HOUR) * MS_PER_HOUR;
  const step_km = LATTICE.step * KM_PER_DEG;
  const grid = {
    rows: LATTICE.rows,
    cols: LATTICE.cols,
    locate: ({ lat, lon }: Position) => ({
      row: (LATTICE.north - lat) / LATTICE.step - 0.5,
      col: (lon - LATTICE.west) / LATTICE.step - 0.5,
    }),
    stepsAt: ({ lat }: Position) => ({ row_km: step_km, col_km: step_km * Math.cos(lat * RAD_PER_DEG) }),
  };
  const reflectivity_dbz = Float32Array.from(field.packed, (packed) => {
    const dbz = gridValue(field, packed);
    return dbz === field.no_coverage || dbz === field.missing ? Number.NaN : dbz;
  });
  const run_time = valid_time - MS_PER_HOUR;
  return cellHour({ run_time, valid_time, simulated: false, grid, fields: { reflectivity_dbz } }, CONUS_CELLS);
}

/** One day of a storm-resolving model's rotating storms, and of the storms that radars saw. */
export interface StormDay {
  readonly date: string;
  readonly hours: readonly CellHour[];
  /** Cells within 40 km of a MESH of 29 mm or more, hour by hour. */
  readonly seen: readonly ReadonlySet<string>[];
}

/** MESH from which radars see severe hail. Source: Cintineo et al. 2012. */
export const SEVERE_MESH_MM = 29;
/** Of the air the files lack the moisture of the parcel and the freezing level: a usual day of May on the Plains. */
const USUAL_AIR = { mixing_ratio_g_kg: 13, freezing_level_m: 3800 } as const;

/** The twelve days of spring 2015 in the test data of hagelslag: objects of updraft helicity of a 3 km model, hour by hour. */
export function stormDays(): StormDay[] {
  const folder = sharedData('storm-objects');
  const days = readdirSync(folder).flatMap((name) => /^track_step_SSEF_(.*(\d{8}))\.csv$/.exec(name)?.slice(1) ?? []);
  return Array.from({ length: days.length / 2 }, (_, k) => {
    const [file = '', date = ''] = days.slice(2 * k, 2 * k + 2);
    const storms = Map.groupBy(csvRows(`${folder}/track_step_SSEF_${file}.csv`), validTime);
    const seen = Map.groupBy(
      csvRows(`${folder}/track_step_obs_${file}.csv`).filter((row) => Number(row.MESH_max) >= SEVERE_MESH_MM),
      validTime,
    );
    return {
      date,
      hours: [...storms].map(([valid_time, rows]) => ({ ...stormHour(rows), run_time: utcMidnight(date), valid_time })),
      seen: [...seen.values()].map((rows) => cellsNear(rows.map(placeOf))),
    };
  });
}

type Row = Readonly<Record<string, string>>;

function csvRows(path: string): Row[] {
  const [header = '', ...lines] = readFileSync(path, 'utf8').trim().split('\n');
  const names = header.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((value, k) => [names[k], value])));
}

function validTime({ Date: date = '' }: Row): number {
  return Date.parse(`${date.replace(' ', 'T')}Z`);
}

function placeOf(row: Row): Position {
  return { lat: Number(row.Centroid_Lat), lon: Number(row.Centroid_Lon) };
}

/** The runs begin at 00 UTC of the day in the name of their file. */
function utcMidnight(date: string): number {
  return Date.parse(date.replace(/(....)(..)(..)/, '$1-$2-$3'));
}

function stormHour(storms: readonly Row[]): Omit<CellHour, 'run_time' | 'valid_time'> {
  const none = () => new Float32Array(CONUS_CELLS.length);
  const [rotation, cape, significant] = [none(), none(), none()];
  const cells = new Map(CONUS_CELLS.map(({ geohash4 }, k) => [geohash4, k]));
  for (const storm of storms) {
    const air = {
      ...USUAL_AIR,
      cape_j_kg: Number(storm.mlcape_max),
      lapse_rate_c_km: -Number(storm.lr75_mean),
      temperature_500_c: Number(storm.tmp500_mean),
      shear_ms: 6000 * Number(storm.shr06_mean),
    };
    for (const geohash4 of cellsNear([placeOf(storm)])) {
      const k = cells.get(geohash4) ?? 0;
      rotation[k] = Math.max(rotation[k] ?? 0, Number(storm.uh_max_max));
      cape[k] = Math.max(cape[k] ?? 0, air.cape_j_kg);
      significant[k] = Math.max(significant[k] ?? 0, ship(air));
    }
  }
  const largest: Record<keyof Predictors, Float32Array | null> = {
    reflectivity_dbz: null,
    updraft_helicity_m2_s2: rotation,
    hail_mm: null,
    cape_j_kg: cape,
    ship: significant,
  };
  return { simulated: false, covered: new Uint8Array(CONUS_CELLS.length).fill(1), largest };
}
