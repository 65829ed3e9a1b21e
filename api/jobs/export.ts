import { constants } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import {
  type Dataset,
  EXPORT_ROW_CAPS,
  type ExportParams,
  type ExportSummary,
} from '../../schemas/resources/export-job.ts';
import { utcDate } from '../../schemas/time.ts';
import type { Catalog, Edition } from '../published/catalog.ts';
import { DataUnavailable } from '../published/data-root.ts';
import { JOBS, openFilesEngine } from '../published/duckdb.ts';
import { regionOf } from '../rules/region.ts';
import { rounded } from '../rules/rounded.ts';
import { detectionRows } from './export-detections.ts';
import { copyStatement, FILE_KINDS } from './export-format.ts';
import { reportRows } from './export-reports.ts';
import type { ExportRows, RowsOf } from './export-rows.ts';
import { swathRows } from './export-swaths.ts';
import type { MadeFile, MakeFile } from './kinds.ts';

const ROWS_OF: Readonly<Record<Dataset, RowsOf>> = {
  detections: detectionRows,
  swaths: swathRows,
  reports: reportRows,
};

/** A file as it was written, and what is known of its rows. */
export interface WrittenExport extends MadeFile<ExportSummary>, Pick<ExportRows, 'note'> {
  /** Storm dates asked for of which nothing was taken in. */
  readonly dates_without_data: readonly string[];
}

/** What is exported of what was asked for: the part of a box that lies in CONUS, and of a range that reaches ahead the dates up to today (UTC). */
export function servedParams(asked: ExportParams, now_ms: number): ExportParams {
  const today = utcDate(now_ms);
  return {
    ...asked,
    bbox: asked.bbox === null ? null : regionOf(asked).bbox,
    date_end: asked.date_end > today && asked.date_start <= today ? today : asked.date_end,
  };
}

/** Makes the file of an export of one edition. */
export const makeExport: MakeFile<ExportParams, ExportSummary> = async ({ params, path, services, signal }) => {
  const { note: _, dates_without_data: __, ...made } = await writeExport(services.catalog, params, path, { signal });
  return made;
};

/** The export that is being written; the next begins once it has ended. */
let writing: Promise<unknown> = Promise.resolve();

/**
 * Writes the rows of the edition that is current when its turn comes, one export of this process at a time: a date that still runs
 * goes up to the newest scan of that edition, whatever is committed meanwhile. Where files of the edition are gone and there is
 * a newer one, its rows are written instead. The engine may open only
 * the files it reads, the file it writes and a folder for temporary data. Throws the reason of `signal` when it aborts,
 * QueryTimeout, and DataUnavailable for a missing file.
 */
export function writeExport(
  catalog: Pick<Catalog, 'edition'>,
  params: ExportParams,
  path: string,
  { signal, cap = EXPORT_ROW_CAPS[params.dataset] }: { readonly signal: AbortSignal; readonly cap?: number },
): Promise<WrittenExport> {
  const ofNewest = async () => {
    const edition = catalog.edition();
    try {
      return await write(edition, params, path, signal, cap);
    } catch (error) {
      // Files of an edition are kept for two hours after they were replaced; the machine may have slept for longer.
      if (!(error instanceof DataUnavailable) || catalog.edition() === edition) throw error;
      return await write(catalog.edition(), params, path, signal, cap);
    }
  };
  const written = writing.then(ofNewest);
  // The next export starts however this one ends.
  writing = Promise.allSettled([written]);
  return written;
}

async function write(
  edition: Edition,
  params: ExportParams,
  path: string,
  signal: AbortSignal,
  cap: number,
): Promise<WrittenExport> {
  signal.throwIfAborted();
  const { dataset, date_start, date_end, format } = params;
  const question = { edition, first: date_start, last: date_end, region: regionOf(params) };
  const { files, rows: rowsOf, datesWithoutData } = ROWS_OF[dataset];
  const spill_folder = `${path}.spill`;
  const inputs = files(question);
  const engine = await openFilesEngine([...inputs, path], JOBS, spill_folder);
  const stop = () => void engine.close();
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    const dates_without_data = await datesWithoutData(engine, question);
    const rows = await rowsOf(engine, question, cap);
    await engine.rows(copyStatement({ params, rows, dates_without_data, path }), rows.parameters);
    const { row_count, truncated, data_as_of_ms, data_source, note } = rows;
    const { extension, media_type } = FILE_KINDS[format];
    return {
      media_type,
      file_name: `hail-${dataset}-${regionWord(params)}-${date_start}-${date_end}.${extension}`,
      summary: { row_count, truncated },
      data_as_of_ms,
      data_source,
      dates_without_data,
      note,
    };
  } catch (error) {
    signal.throwIfAborted();
    throw (await lossAmong(inputs, error)) ?? error;
  } finally {
    signal.removeEventListener('abort', stop);
    await engine.close();
    await rm(spill_folder, { recursive: true, force: true });
  }
}

/** The region of an export in a file name: the code of a state, the sides of a box from west to north, or conus. */
function regionWord({ bbox, state }: ExportParams): string {
  if (state !== null) return state;
  if (bbox === null) return 'conus';
  const side = (deg: number, [positive, negative]: string) =>
    `${rounded(Math.abs(deg), 4)}${deg < 0 ? negative : positive}`;
  const [west, south, east, north] = bbox;
  return [side(west, 'EW'), side(south, 'NS'), side(east, 'EW'), side(north, 'NS')].join('-');
}

/** The first file that cannot be read now; null when all can. An engine that may open these alone says of one that is gone that it is forbidden. */
async function lossAmong(inputs: readonly string[], cause: unknown): Promise<DataUnavailable | null> {
  for (const path of inputs)
    try {
      await access(path, constants.R_OK);
    } catch {
      return new DataUnavailable(path, 'cannot be read, and the edition names it', { cause });
    }
  return null;
}
