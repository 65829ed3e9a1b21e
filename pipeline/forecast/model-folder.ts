import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { BadInput, NotFound, Unreadable } from '../error.ts';
import { readable } from '../files.ts';
import type { Log } from '../log.ts';
import type { ModelFile } from '../read/model-hour.ts';
import { type ModelHourName, modelKeys, parseModelKey } from './model-bucket.ts';
import type { CellHour } from './model-cells.ts';
import { decodeHour, openModelDecoder } from './model-decoder.ts';

/** Bound on the files of an hour: 150 MB in HRRR, more in RRFS. */
const MAX_WHOLE_BYTES = 1024 * 2 ** 20;
const EXAMPLE = 'hrrr.20260501/conus/hrrr.t00z.wrfsfcf01.grib2';

/** Content of a folder of model runs. */
export interface FolderHours {
  readonly hours: ReadonlyMap<ForecastModel, readonly CellHour[]>;
  /** Files that were not used, each with the reason. */
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * Hours of model runs in a folder with the layout of the public buckets; an unusable hour does not affect the others. Throws
 * NotFound when no file has the name of a model file.
 */
export async function readModelFolder(folder: string, log: Log): Promise<FolderHours> {
  const { hours: found, incomplete } = await listModelFolder(folder);
  if (found.length + incomplete.length === 0)
    throw new NotFound('forecast', folder, `holds no model hours, expected such as ${EXAMPLE}`);
  const hours = new Map<ForecastModel, CellHour[]>();
  const refused = incomplete.map((path) => ({ path, reason: 'is a part of an hour of which another is missing' }));
  const decoder = openModelDecoder();
  try {
    for (const { paths, ...name } of found) {
      const files = await readFiles(paths);
      const hour = files instanceof Error ? files : await decodeHour(decoder, files, name, log);
      if (hour instanceof Error)
        refused.push({ path: paths.find((path) => path === hour.subject) ?? paths[0], reason: hour.reason });
      else hours.set(name.model, [...(hours.get(name.model) ?? []), hour]);
    }
  } finally {
    await decoder.close();
  }
  return { hours, refused };
}

/** An hour in a folder: its name and the paths of its files. */
interface LocalModelHour extends ModelHourName {
  readonly paths: readonly string[];
}

/**
 * Model files below a folder: complete hours by run and lead, and the paths of the files of incomplete ones. Throws Unreadable
 * when the folder cannot be read.
 */
export async function listModelFolder(folder: string) {
  const names = await readable(folder, () => fs.readdir(folder, { recursive: true }));
  const found = names.sort().flatMap((path) => {
    const name = parseModelKey(path.replaceAll('\\', '/'));
    return name === null ? [] : [{ name, path: join(folder, path) }];
  });
  const hours: LocalModelHour[] = [];
  const incomplete: string[] = [];
  for (const files of Map.groupBy(found, ({ name }) => `${name.model} ${name.run_time} ${name.lead_h}`).values()) {
    const [{ name }] = files;
    const paths = files.map(({ path }) => path);
    if (files.length === modelKeys(name).length) hours.push({ ...name, paths });
    else incomplete.push(...paths);
  }
  hours.sort((a, b) => a.run_time - b.run_time || a.lead_h - b.lead_h || (a.model < b.model ? -1 : 1));
  return { hours, incomplete };
}

/** The files of an hour, or the reason why they cannot be read or are together too large for an hour. */
async function readFiles(paths: readonly string[]): Promise<ModelFile[] | BadInput | Unreadable> {
  try {
    const sizes = await Promise.all(paths.map((path) => readable(path, async () => (await fs.stat(path)).size)));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (bytes > MAX_WHOLE_BYTES)
      return new BadInput('read', paths[0], `${bytes} bytes in an hour, expected at most ${MAX_WHOLE_BYTES}`);
    return await Promise.all(
      paths.map(async (path) => ({ subject: path, bytes: await readable(path, () => fs.readFile(path)) })),
    );
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}
