import fs from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { layout } from '../../schemas/layout.ts';
import { FORECAST_MODELS, type ForecastModel } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, scanId } from '../../schemas/time.ts';
import { namesIn, replaceFile, writing } from '../files.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import type { ModelHourName } from './model-bucket.ts';
import type { CellHour } from './model-cells.ts';

/** Version of the content of a file. Hours of another version are fetched again. */
const VERSION = 2;
const isOfCells = ({ length }: { readonly length: number }) => length === CONUS_CELLS.length;
const Values = z.instanceof(Float32Array).refine(isOfCells).nullable();
/** Content of a file: structured clone of V8, gzipped. */
const StoredHour = z.object({
  version: z.literal(VERSION),
  run_time: z.number(),
  valid_time: z.number(),
  simulated: z.boolean(),
  covered: z.instanceof(Uint8Array).refine(isOfCells),
  largest: z.record(z.enum(['reflectivity_dbz', 'updraft_helicity_m2_s2', 'hail_mm', 'cape_j_kg', 'ship']), Values),
});

const gzipped = promisify(gzip);
const gunzipped = promisify(gunzip);

/** Name of the file of an hour, and its key in memory. */
export function hourName({ model, run_time, valid_time }: ModelHourName): string {
  const lead_h = (valid_time - run_time) / MS_PER_HOUR;
  return `${model}-${scanId(run_time)}-f${String(lead_h).padStart(3, '0')}.gz`;
}

/** The stored hours of a model; null when none is stored. An unreadable one is left out and logged. */
export async function readModelHours(dataRoot: string, log: Log) {
  const folder = join(dataRoot, layout.modelHours);
  let model: ForecastModel | undefined;
  const hours: CellHour[] = [];
  for (const name of (await namesIn(folder)).filter((one) => one.endsWith('.gz')).sort()) {
    try {
      const content: unknown = deserialize(await gunzipped(await fs.readFile(join(folder, name))));
      const { version: _, ...hour } = StoredHour.parse(content);
      const found = FORECAST_MODELS.find((one) => hourName({ model: one, ...hour }) === name);
      if (found === undefined) throw new Error('holds another hour than its name says');
      model = found;
      hours.push(hour);
    } catch (error) {
      log.warn('Model:Hour:Lost', { file: name, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return model === undefined ? null : { model, hours };
}

/** Stores the hours of a model and removes all others. A file with the same content stays. */
export async function writeModelHours(root: Root, model: ForecastModel, hours: readonly CellHour[]): Promise<void> {
  const folder = join(root.path, layout.modelHours);
  const byName = new Map(hours.map((hour) => [hourName({ model, ...hour }), hour]));
  const stored = new Set(await namesIn(folder));
  root.check();
  for (const name of stored) if (!byName.has(name)) await fs.rm(join(folder, name), { force: true });
  for (const [name, hour] of byName) {
    const content = await gzipped(serialize({ version: VERSION, ...hour }), { level: 1 });
    if (stored.has(name) && content.equals(await fs.readFile(join(folder, name)))) continue;
    root.check();
    await writing(join(folder, name), () => replaceFile(join(folder, name), content));
  }
}
