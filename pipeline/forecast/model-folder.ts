import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { BadInput, Unreadable } from '../error.ts';
import { readable } from '../files.ts';
import type { Log } from '../log.ts';
import type { ModelFile } from '../read/model-hour.ts';
import { modelKeys, parseModelKey } from './model-bucket.ts';
import type { CellHour } from './model-cells.ts';
import { decodeHour, openModelDecoder } from './model-decoder.ts';

/** Bound on the files of an hour: 150 MB in HRRR, more in RRFS. */
const MAX_WHOLE_BYTES = 1024 * 2 ** 20;

/**
 * Hours of model runs among files of a folder, in the layout of the public buckets, and the files that were not used, each with the
 * reason; an unusable hour does not affect the others.
 */
export async function readModelFolder(folder: string, names: readonly string[], log: Log) {
  const hours = new Map<ForecastModel, CellHour[]>();
  const refused: { readonly path: string; readonly reason: string }[] = [];
  const found = names.flatMap((key) => {
    const name = parseModelKey(key);
    return name === null ? [] : [{ name, path: join(folder, key) }];
  });
  if (found.length === 0) return { hours, refused };
  const byHour = Map.groupBy(found, ({ name }) => `${name.model} ${name.run_time} ${name.valid_time}`);
  const decoder = openModelDecoder();
  try {
    for (const files of byHour.values()) {
      const [{ name }] = files;
      const paths = files.map(({ path }) => path);
      if (paths.length !== modelKeys(name).length) {
        refused.push(...paths.map((path) => ({ path, reason: 'is a part of an hour of which another is missing' })));
        continue;
      }
      const read = await readFiles(paths);
      const hour = read instanceof Error ? read : await decodeHour(decoder, read, name, log);
      if (hour instanceof Error)
        refused.push({ path: paths.find((path) => path === hour.subject) ?? paths[0], reason: hour.reason });
      else hours.set(name.model, [...(hours.get(name.model) ?? []), hour]);
    }
  } finally {
    await decoder.close();
  }
  return { hours, refused };
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
