import fs from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { layout } from '../../schemas/layout.ts';
import { FORECAST_MODELS, type ForecastModel } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, scanId } from '../../schemas/time.ts';
import { namesIn, replaceFile } from '../files.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { writing } from '../sources/write-fault.ts';
import type { CellHour } from './model-cells.ts';

/** Version of the file format. Hours of another version are fetched again. */
const VERSION = 1;
const FIELDS = ['reflectivity_dbz', 'updraft_helicity_m2_s2', 'hail_mm', 'cape_j_kg', 'ship'] as const;
/** First line of a file. One byte for each cell follows, 1 where it is covered, then four bytes for each cell of each field. */
const Header = z.object({
  version: z.literal(VERSION),
  run_time: z.number(),
  valid_time: z.number(),
  simulated: z.boolean(),
  cells: z.literal(CONUS_CELLS.length),
  fields: z.array(z.enum(FIELDS)),
});
const LINE_END = '\n'.charCodeAt(0);
const FLOAT_BYTES = 4;

const gzipped = promisify(gzip);
const gunzipped = promisify(gunzip);

/** Name of the file of an hour, and its key in memory. */
export function hourName(
  model: ForecastModel,
  { run_time, valid_time }: Pick<CellHour, 'run_time' | 'valid_time'>,
): string {
  const lead_h = (valid_time - run_time) / MS_PER_HOUR;
  return `${model}-${scanId(run_time)}-f${String(lead_h).padStart(3, '0')}.gz`;
}

/** The stored hours of a model; null when none is stored. An unreadable one is left out and logged. */
export async function readModelHours(
  dataRoot: string,
  log: Log,
): Promise<{ readonly model: ForecastModel; readonly hours: readonly CellHour[] } | null> {
  const folder = join(dataRoot, layout.modelHours);
  let model: ForecastModel | undefined;
  const hours: CellHour[] = [];
  for (const name of (await namesIn(folder)).filter((one) => one.endsWith('.gz')).sort()) {
    try {
      const hour = unpackHour(await gunzipped(await fs.readFile(join(folder, name))));
      const found = FORECAST_MODELS.find((one) => hourName(one, hour) === name);
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
  const byName = new Map(hours.map((hour) => [hourName(model, hour), hour]));
  const stored = new Set(await namesIn(folder));
  root.check();
  for (const name of stored) if (!byName.has(name)) await fs.rm(join(folder, name), { force: true });
  for (const [name, hour] of byName) {
    const content = await gzipped(packHour(hour), { level: 1 });
    if (stored.has(name) && content.equals(await fs.readFile(join(folder, name)))) continue;
    root.check();
    await writing(join(folder, name), () => replaceFile(join(folder, name), content));
  }
}

function packHour({ run_time, valid_time, simulated, covered, largest }: CellHour): Uint8Array {
  const fields = FIELDS.filter((field) => largest[field] !== null);
  const header = { version: VERSION, run_time, valid_time, simulated, cells: covered.length, fields };
  const values = fields.map((field) => bytesOf(largest[field] as Float32Array));
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), covered, ...values]);
}

/** The hour of a file. Throws for bytes in another format or version. */
function unpackHour(bytes: Buffer): CellHour {
  const end = bytes.indexOf(LINE_END);
  const header = Header.parse(JSON.parse(bytes.toString('utf8', 0, end)));
  const { run_time, valid_time, simulated, cells, fields } = header;
  const start = end + 1;
  const expected = start + cells + fields.length * cells * FLOAT_BYTES;
  if (bytes.length !== expected) throw new Error(`holds ${bytes.length} bytes, expected ${expected}`);
  const largest = Object.fromEntries(
    FIELDS.map((field) => {
      const at = fields.indexOf(field);
      const from = start + cells + at * cells * FLOAT_BYTES;
      return [field, at === -1 ? null : floatsOf(bytes.subarray(from, from + cells * FLOAT_BYTES))];
    }),
  ) as CellHour['largest'];
  return { run_time, valid_time, simulated, covered: Uint8Array.from(bytes.subarray(start, start + cells)), largest };
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A copy: a Float32Array must begin at a multiple of four bytes, the values of a file may begin anywhere. */
function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer);
}
