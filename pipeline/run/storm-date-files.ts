import { addDays, datesThrough, stormDateStart, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { listFolder } from '../sources/folder.ts';
import type { SourceFile } from '../sources/names.ts';
import { fetchSpan, type GatheredFiles, isInSpan, listSpan } from './bucket-span.ts';

/** Where a backfill takes the raw files of its storm dates from. */
export type BackfillSource =
  | { readonly kind: 'dir'; readonly folder: string }
  | { readonly kind: 'noaa'; readonly products: readonly string[] };

/** Raw files of a storm date as its source lists them. */
export interface StormDateFiles {
  /** Files of the scans of the date; those of the bucket are not fetched yet. */
  readonly files: readonly SourceFile[];
  /** The same on this disk; files of the bucket are fetched into the inbox of the root. */
  readonly gather: (root: Root, log: Log) => Promise<GatheredFiles>;
}

/** Lists the files of the scans of a storm date, and of those up to `lead_ms` before it. A folder is read in its folders of these UTC dates only. */
export async function listStormDate(
  config: Config,
  source: BackfillSource,
  storm_date: string,
  lead_ms = 0,
): Promise<StormDateFiles> {
  const start_ms = (date: string) => stormDateStart(date, config.storm_day_start_hour);
  const span = { from_ms: start_ms(storm_date) - lead_ms, to_ms: start_ms(addDays(storm_date, 1)) - 1 };
  if (source.kind === 'noaa') {
    const wanted = { ...span, products: source.products };
    const listing = await listSpan(config, wanted);
    return { files: listing.listed, gather: (root, log) => fetchSpan(wanted, listing, root, log) };
  }
  // Companions of the first scans may lie in the folder of the date before.
  const dates = datesThrough(addDays(utcDate(span.from_ms), -1), utcDate(span.to_ms));
  const { files: all, unreadable } = await listFolder(source.folder, dates);
  const files = all.filter((file) => isInSpan(span, file));
  return { files, gather: async () => ({ files, unknown: [], unreadable, missing: [] }) };
}
