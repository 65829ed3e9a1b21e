import fs from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { layout } from '../../schemas/layout.ts';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { MS_PER_HOUR, scanId } from '../../schemas/time.ts';
import { namesIn, replaceFile } from '../files.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { writing } from '../sources/write-fault.ts';

/** Raised when what a file holds changes its meaning: hours of another version are fetched again. */
const VERSION = 1;
const FIELDS = ['reflectivity_dbz', 'updraft_helicity_m2_s2', 'hail_mm', 'cape_j_kg', 'ship'] as const;
/** First line of a file; the values follow, one byte for each cell that is covered or not, four for each of a field. */
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

const packed = promisify(gzip);
const unpacked = promisify(gunzip);

/** Name of an hour of a run: what it is known by in memory and on the disk. */
export function hourName(model: ForecastModel, run_time: number, lead_h: number): string {
  return `${model}-${scanId(run_time)}-f${String(lead_h).padStart(3, '0')}.gz`;
}

/** Hours of a model that were kept, by name. One that cannot be read is left out: it is fetched again like any that was lost. */
export async function readKeptHours(dataRoot: string, model: ForecastModel, log: Log): Promise<Map<string, CellHour>> {
  const folder = join(dataRoot, layout.modelHours);
  const hours = new Map<string, CellHour>();
  for (const name of await namesIn(folder)) {
    if (!name.startsWith(`${model}-`) || !name.endsWith('.gz')) continue;
    try {
      const hour = decodeHour(await unpacked(await fs.readFile(join(folder, name))));
      if (hourName(model, hour.run_time, (hour.valid_time - hour.run_time) / MS_PER_HOUR) !== name)
        throw new Error('holds another hour than its name says');
      hours.set(name, hour);
    } catch (error) {
      log.warn('Model:Hour:Lost', { file: name, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  return hours;
}

/** Makes the hours on the disk those that are known: new ones come, all others go. */
export async function openModelHourCache(root: Root, hours: ReadonlyMap<string, CellHour>): Promise<void> {
  const folder = join(root.path, layout.modelHours);
  const kept = new Set(await namesIn(folder));
  root.check();
  for (const name of kept) if (!hours.has(name)) await fs.rm(join(folder, name), { force: true });
  for (const [name, hour] of hours) {
    if (kept.has(name)) continue;
    const content = await packed(encodeHour(hour), { level: 1 });
    root.check();
    await writing(join(folder, name), () => replaceFile(join(folder, name), content));
  }
}

function encodeHour({ run_time, valid_time, simulated, covered, largest }: CellHour): Uint8Array {
  const fields = FIELDS.filter((field) => largest[field] !== null);
  const header = { version: VERSION, run_time, valid_time, simulated, cells: covered.length, fields };
  const values = fields.map((field) => bytesOf(largest[field] as Float32Array));
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), covered, ...values]);
}

/** Throws for bytes that are not an hour of this version. */
function decodeHour(bytes: Buffer): CellHour {
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

/** A copy: where a number lies within the bytes of a file need not be where one may begin in memory. */
function floatsOf(bytes: Uint8Array): Float32Array {
  const copy = Uint8Array.from(bytes);
  return new Float32Array(copy.buffer);
}
