import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { addDays, datesThrough, MS_PER_DAY, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { PipelineError } from '../error.ts';
import type { Log } from '../log.ts';
import type { Root } from '../publish/root.ts';
import { listArchive, readRejections, withoutKnown } from '../sources/archive.ts';
import { downloadAll, listBucket } from '../sources/bucket.ts';
import { listFolder } from '../sources/folder.ts';
import type { Arrival } from '../sources/inbox.ts';
import { lookBack, type SourceFile } from '../sources/names.ts';

/** Files of a source, and those that it lists and does not deliver. */
export interface GatheredFiles extends Arrival {
  readonly missing: readonly { readonly file: string; readonly reason: string }[];
}

/** Scans between two times with their companions, in the public bucket. */
export interface BucketSpan {
  /** First and last time of a scan, inclusive, epoch milliseconds. */
  readonly from_ms: number;
  readonly to_ms: number;
  readonly products: readonly string[];
}

/** Span of a UTC date. */
export function utcSpan({ date, products }: { readonly date: string; readonly products: readonly string[] }) {
  const from_ms = Date.parse(`${date}T00:00:00Z`);
  return { from_ms, to_ms: from_ms + MS_PER_DAY - 1, products };
}

/** True for a scan within a span, and for a companion that one of its scans may take: the first take some from before it. */
export function isInSpan({ from_ms, to_ms }: Omit<BucketSpan, 'products'>, { product, time_ms }: SourceFile): boolean {
  return time_ms >= from_ms - lookBack(product) && time_ms <= to_ms;
}

/** Files of a listed span of the public bucket; those that are not there yet are fetched into the inbox first. */
export async function fetchSpan(span: BucketSpan, listing: SpanListing, root: Root, log: Log): Promise<GatheredFiles> {
  const { wanted, unknown, archived, belongs } = listing;
  let done = 0;
  const folder = join(root.path, layout.inbox('noaa'));
  await mkdir(folder, { recursive: true });
  const { failed } = await downloadAll({
    files: wanted,
    folder,
    onFile: () => log.progress('files', ++done, wanted.length),
  });
  for (const { file, error } of failed) log.warn('File:Fetch:Failed', { file: file.key, reason: error.message });
  // Files that a killed run had fetched or archived without publishing them are part of the span, too.
  const fetched = await listFolder(folder);
  const here = [...fetched.files, ...archived].filter(belongs);
  if (here.length === 0 && failed.length > 0)
    throw new PipelineError(
      'sources',
      utcDate(span.from_ms),
      `none of ${wanted.length} files could be fetched, the first because ${failed[0]?.error.message}`,
    );
  const missing = failed.map(({ file, error }) => ({ file: file.key, reason: error.message }));
  return { files: here, unknown, unreadable: fetched.unreadable, missing };
}

/** What `listSpan` returns. */
export type SpanListing = Awaited<ReturnType<typeof listSpan>>;

/** Listing of a span of the public bucket: all its files, those still to be fetched, and those archived before. */
export async function listSpan({ mrms_url, data_root }: Config, span: BucketSpan) {
  const { from_ms, to_ms, products } = span;
  const { files, unknown } = await listBucket({ base_url: mrms_url, products, from_ms, to_ms });
  const dates = datesThrough(addDays(utcDate(from_ms), -1), utcDate(to_ms));
  const archived = await listArchive(data_root, 'observed', dates);
  // A file rejected for the provenance of its date is wanted again: --replace may give the date to its provenance.
  const rejected = (await readRejections(data_root, 'observed')).filter(({ other_kind }) => other_kind === undefined);
  const belongs = (file: SourceFile) => isInSpan(span, file);
  return { listed: files, wanted: withoutKnown(files, archived, rejected), unknown, archived, belongs };
}
