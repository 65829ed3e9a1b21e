import fs from 'node:fs/promises';
import type { ForecastModel } from '../../schemas/tables/forecast.ts';
import { asUnreadable, BadInput, NotFound, PipelineError, Unreadable } from '../error.ts';
import type { CellHour } from '../forecast/model-cells.ts';
import type { Log } from '../log.ts';
import type { ModelFile } from '../read/model.ts';
import { decodeHour } from './decode-hour.ts';
import { type ModelDecoder, openModelDecoder } from './model-decoder.ts';
import { type LocalModelHour, listModelFolder, MAX_WHOLE_BYTES } from './model-server.ts';

/** What a folder gives of model runs. */
export interface FolderHours {
  readonly hours: ReadonlyMap<ForecastModel, readonly CellHour[]>;
  /** Files of which nothing was used, each with the reason. */
  readonly refused: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * Hours of model runs in a folder that has the layout of the public buckets; one that cannot be used costs itself only. Throws
 * NotFound when no file has such a name.
 */
export async function readModelFolder(folder: string, log: Log): Promise<FolderHours> {
  const { hours: found, incomplete } = await listModelFolder(folder);
  if (found.length + incomplete.length === 0)
    throw new NotFound(
      'forecast',
      folder,
      'holds no model hours, expected such as hrrr.20260501/conus/hrrr.t00z.wrfsfcf01.grib2',
    );
  const hours = new Map<ForecastModel, CellHour[]>();
  const refused = incomplete.map((path) => ({ path, reason: 'is a part of an hour of which another is missing' }));
  const decoder = openModelDecoder();
  try {
    for (const each of found) {
      const hour = await readHour(decoder, each, log);
      if (hour instanceof PipelineError)
        refused.push({ path: each.paths.find((path) => path === hour.subject) ?? each.paths[0], reason: hour.reason });
      else hours.set(each.model, [...(hours.get(each.model) ?? []), hour]);
    }
  } finally {
    await decoder.close();
  }
  return { hours, refused };
}

/** An hour; as a value, why its files cannot be used. */
async function readHour(
  decoder: ModelDecoder,
  { paths, ...name }: LocalModelHour,
  log: Log,
): Promise<CellHour | BadInput | Unreadable> {
  try {
    return await decodeHour(decoder, await readFiles(paths), name, log);
  } catch (error) {
    if (error instanceof Unreadable || error instanceof BadInput) return error;
    throw error;
  }
}

/** The files of an hour, read only when they are of a size that a model has. */
async function readFiles(paths: readonly string[]): Promise<ModelFile[]> {
  const sizes = await Promise.all(paths.map((path) => given(path, async () => (await fs.stat(path)).size)));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > MAX_WHOLE_BYTES)
    throw new BadInput('read', paths[0] ?? '', `${bytes} bytes in an hour, expected at most ${MAX_WHOLE_BYTES}`);
  return Promise.all(paths.map(async (path) => ({ subject: path, bytes: await given(path, () => fs.readFile(path)) })));
}

async function given<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asUnreadable(path, error);
  }
}
