import { rm } from 'node:fs/promises';
import { EXPORT_ROW_CAPS, type ExportParams, type ExportSummary } from '../../schemas/resources/export-job.ts';
import { utcDate } from '../../schemas/time.ts';
import type { Edition } from '../published/catalog.ts';
import { JOBS, openFilesEngine } from '../published/duckdb.ts';
import { regionOf } from '../rules/region.ts';
import { rounded } from '../rules/rounded.ts';
import { copyStatement, FILE_KINDS } from './export-format.ts';
import { ROWS_OF } from './export-rows.ts';
import type { MadeFile, MakeFile } from './kinds.ts';

/** Clips the request: bbox to CONUS, a range that reaches ahead to today (UTC). */
export function servedParams(asked: ExportParams, now_ms: number): ExportParams {
  const today = utcDate(now_ms);
  return {
    ...asked,
    bbox: asked.bbox === null ? null : regionOf(asked).bbox,
    date_end: asked.date_end > today && asked.date_start <= today ? today : asked.date_end,
  };
}

/** Makes the file of an export of the edition that is current when it begins, whatever is committed meanwhile. */
export const makeExport: MakeFile<ExportParams, ExportSummary> = ({ params, path, services, signal }) =>
  writeExport(services.catalog.edition(), params, path, signal);

/**
 * Writes the rows of an edition, at most `cap`. The engine may open only the files it reads, the file it writes and a folder for
 * temporary data. Throws the reason of `signal` when it aborts, and QueryTimeout.
 */
export async function writeExport(
  edition: Edition,
  params: ExportParams,
  path: string,
  signal: AbortSignal,
  cap = EXPORT_ROW_CAPS[params.dataset],
): Promise<MadeFile<ExportSummary>> {
  const { dataset, date_start, date_end, format } = params;
  const question = { edition, first: date_start, last: date_end, region: regionOf(params) };
  const { files, rows: rowsOf } = ROWS_OF[dataset];
  const spill_folder = `${path}.spill`;
  const engine = openFilesEngine([...files(question), path], JOBS, spill_folder);
  const stop = () => void engine.close();
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    const rows = await rowsOf(engine, question, cap);
    await engine.rows(copyStatement({ params, rows, path }), rows.parameters);
    const { row_count, truncated, data_as_of_ms, data_source } = rows;
    const { extension, media_type } = FILE_KINDS[format];
    return {
      media_type,
      file_name: `hail-${dataset}-${regionWord(params)}-${date_start}-${date_end}.${extension}`,
      summary: { row_count, truncated },
      data_as_of_ms,
      data_source,
    };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
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
