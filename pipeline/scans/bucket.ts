import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { addDays, datesThrough, MS_PER_DAY, MS_PER_MIN, utcDate } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { isTransient, PipelineError } from '../error.ts';
import type { Log } from '../log.ts';
import { newestScan, type Root } from '../publish/root.ts';
import { listArchive, readRejections, withoutKnown } from '../sources/archive.ts';
import { downloadAll, listBucket } from '../sources/bucket.ts';
import { listFolder } from '../sources/folder.ts';
import { pause, Unavailable } from '../sources/http.ts';
import type { Arrival } from '../sources/inbox.ts';
import { lookBack, type SourceFile } from '../sources/names.ts';

/** The first poll of an empty root covers this span; after a pause a poll begins at the newest scan, at most a day ago. */
const FIRST_SPAN_MS = 30 * MS_PER_MIN;
const LONGEST_SPAN_MS = MS_PER_DAY;
/** Files may appear in the bucket this much later than newer ones. */
const LATE_FILES_MS = 10 * MS_PER_MIN;

/** Files of a source, and those that it lists and does not deliver. */
export interface GatheredFiles extends Arrival {
  readonly missing: readonly { readonly file: string; readonly reason: string }[];
}

/** Scans between two times with their companions, in the public bucket. */
interface BucketSpan {
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

/**
 * Listing of a span of the public bucket: all its files, those still to be fetched, and those archived before. A file rejected for the
 * provenance of its date is wanted again, as --replace may give the date to its provenance, unless `heads` say that the date holds the other.
 */
export async function listSpan(
  { mrms_url, data_root }: Config,
  span: BucketSpan,
  heads?: Root['heads'],
  signal?: AbortSignal,
) {
  const { from_ms, to_ms } = span;
  const { files, unknown } = await listBucket({ base_url: mrms_url, ...span, network: { signal } });
  const dates = datesThrough(addDays(utcDate(from_ms), -1), utcDate(to_ms));
  const archived = await listArchive(data_root, 'observed', dates);
  const rejected = (await readRejections(data_root, 'observed', files)).filter(
    ({ other_kind: other }) => other === undefined || heads?.get(other.storm_date)?.source === other.source,
  );
  const belongs = (file: SourceFile) => isInSpan(span, file);
  return { listed: files, wanted: withoutKnown(files, archived, rejected), unknown, archived, belongs };
}

/** Files of a listed span of the public bucket; those that are not there yet are fetched into the inbox first. */
export async function fetchSpan(
  span: BucketSpan,
  listing: Awaited<ReturnType<typeof listSpan>>,
  root: Root,
  log: Log,
): Promise<GatheredFiles> {
  const { wanted, unknown, archived, belongs } = listing;
  const { failed } = await fetchFiles(wanted, root, log);
  // Files that a killed run had fetched or archived without publishing them are part of the span, too.
  const fetched = await listFolder(await inboxOf(root));
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

async function fetchFiles(files: readonly SourceFile[], root: Root, log: Log, signal?: AbortSignal) {
  root.check();
  let done = 0;
  const onFile = () => log.progress('files', ++done, files.length);
  const fetched = await downloadAll({ files, folder: await inboxOf(root), network: { signal }, onFile });
  for (const { file, error } of fetched.failed)
    log.warn('File:Fetch:Failed', { file: file.key, reason: error.message });
  return fetched;
}

async function inboxOf(root: Root): Promise<string> {
  const folder = join(root.path, layout.inbox('noaa'));
  await mkdir(folder, { recursive: true });
  return folder;
}

/** Arrivals in the public bucket, fetched into the inbox of the data root that was `opened` last, until the signal aborts. */
export async function* pollBucket(
  config: Config,
  products: readonly string[],
  opened: () => Root,
  { log, every_ms, signal }: { readonly log: Log; readonly every_ms: number; readonly signal: AbortSignal },
): AsyncGenerator<Arrival, void, undefined> {
  let isFirst = true;
  while (!signal.aborted) {
    try {
      const root = opened();
      root.check();
      const now_ms = config.now();
      const from_ms = listedFrom(now_ms, root);
      // Files that a killed run had fetched or archived without publishing them come first.
      if (isFirst) {
        const dates = datesThrough(addDays(utcDate(from_ms), -1), utcDate(now_ms));
        const archived = await listArchive(root.path, 'observed', dates);
        const files = [...(await listFolder(await inboxOf(root))).files, ...archived];
        isFirst = false;
        if (files.length > 0) yield { files, unknown: [], unreadable: [] };
      }
      const { wanted } = await listSpan(config, { from_ms, to_ms: now_ms, products }, root.heads, signal);
      const { files } = await fetchFiles(wanted, root, log, signal);
      if (files.length > 0) yield { files, unknown: [], unreadable: [] };
    } catch (error) {
      if (signal.aborted) return;
      // The next poll may reach the bucket again, and a full disk may have room: both are logged, and polling goes on.
      if (error instanceof Unavailable) log.warn('Bucket:List:Failed', { reason: error.message });
      else if (isTransient(error)) log.warn('File:Fetch:Failed', { reason: error.message });
      else throw error;
    }
    await pause(every_ms, signal);
  }
}

/** Observation time from which the bucket is listed. */
function listedFrom(now_ms: number, root: Root): number {
  const observed = [...root.heads.values()].filter((head) => head.source === 'observed');
  const newest_ms = newestScan(observed);
  if (newest_ms === null) return now_ms - FIRST_SPAN_MS;
  return Math.max(now_ms - LONGEST_SPAN_MS, Math.min(newest_ms, now_ms) - LATE_FILES_MS);
}
