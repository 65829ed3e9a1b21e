import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { addDays, MS_PER_DAY, MS_PER_HOUR } from '../../schemas/time.ts';
import type { Config } from '../config.ts';
import { PipelineError } from '../error.ts';
import type { Log } from '../log.ts';
import { newestScan } from '../publish/live-window.ts';
import type { Root } from '../publish/root.ts';
import { writeEvening } from '../simulate/evening.ts';
import { defaultScenario } from '../simulate/scenario.ts';
import { listArchive, readRejections, withoutKnown } from '../sources/archive.ts';
import { downloadAll, listBucket } from '../sources/bucket.ts';
import { listFolder } from '../sources/folder.ts';
import type { Arrival } from '../sources/inbox.ts';
import type { SourceFile } from '../sources/names.ts';
import { lookBack } from '../sources/plan.ts';

/** Where an ingest takes raw files from. */
export type IngestSource =
  /** Weather of the last hours, simulated from the newest simulated scan on. */
  | { readonly kind: 'simulate'; readonly seed: number; readonly hours: number }
  | { readonly kind: 'dir'; readonly folder: string }
  /** A UTC date of the public bucket. */
  | { readonly kind: 'noaa'; readonly date: string; readonly products: readonly string[] };

/** A file that the source lists and does not deliver. */
export interface MissingFile {
  readonly file: string;
  readonly reason: string;
}

export interface GatheredFiles extends Arrival {
  readonly missing: readonly MissingFile[];
}

/** The raw files of the source; simulating or fetching them into the inbox first where they are not there. */
export async function gatherFiles(config: Config, source: IngestSource, root: Root, log: Log): Promise<GatheredFiles> {
  switch (source.kind) {
    case 'dir':
      return { ...(await listFolder(source.folder)), missing: [] };
    case 'noaa':
      return fetchDate(config, source, root, log);
    case 'simulate':
      return simulateHours(config, source, root, log);
  }
}

/** Files of a UTC date of the public bucket; those that are not there yet are fetched into the inbox first. */
async function fetchDate(
  config: Config,
  source: Extract<IngestSource, { kind: 'noaa' }>,
  root: Root,
  log: Log,
): Promise<GatheredFiles> {
  const { wanted, unknown, archived, belongs } = await listDate(config, source, root);
  let done = 0;
  const folder = join(root.path, layout.inbox('noaa'));
  await mkdir(folder, { recursive: true });
  const { failed } = await downloadAll({
    files: wanted,
    folder,
    onFile: () => log.progress('files', ++done, wanted.length),
  });
  for (const { file, error } of failed) log.warn('File:Fetch:Failed', { file: file.key, reason: error.message });
  // Files that a killed run had fetched or archived without publishing them are part of the date, too.
  const fetched = await listFolder(folder);
  const here = [...fetched.files, ...archived].filter(belongs);
  if (here.length === 0 && failed.length > 0)
    throw new PipelineError(
      'sources',
      source.date,
      `none of ${wanted.length} files could be fetched, the first because ${failed[0]?.error.message}`,
    );
  const missing = failed.map(({ file, error }) => ({ file: file.key, reason: error.message }));
  return { files: here, unknown, unreadable: fetched.unreadable, missing };
}

/** Listing of a UTC date of the public bucket: the files still to be fetched, and those archived before. */
export async function listDate(
  config: Config,
  { date, products }: Extract<IngestSource, { kind: 'noaa' }>,
  root: Pick<Root, 'path'>,
) {
  const from_ms = Date.parse(`${date}T00:00:00Z`);
  const to_ms = from_ms + MS_PER_DAY - 1;
  const { files, unknown } = await listBucket({ base_url: config.mrms_url, products, from_ms, to_ms });
  const archived = await listArchive(root.path, 'observed', [addDays(date, -1), date]);
  // A file rejected for the provenance of its date is wanted again: --replace may give the date to its provenance.
  const rejected = (await readRejections(root.path, 'observed')).filter(({ other_kind }) => other_kind === undefined);
  // The first scans of a date take companions from before midnight.
  const belongs = ({ product, time_ms }: SourceFile) => time_ms >= from_ms - lookBack(product) && time_ms <= to_ms;
  return { wanted: withoutKnown(files, archived, rejected), unknown, archived, belongs };
}

/** Files of the hours up to now, simulated as far as they are missing: an hour later the same evening goes on. */
async function simulateHours(
  config: Config,
  { seed, hours }: Extract<IngestSource, { kind: 'simulate' }>,
  root: Root,
  log: Log,
): Promise<GatheredFiles> {
  const to_ms = config.now();
  const newest_ms = newestScan([...root.heads.values()].filter((head) => head.provenance === 'simulated')) ?? 0;
  const from_ms = Math.max(to_ms - hours * MS_PER_HOUR, Math.min(newest_ms + 1000, to_ms));
  const out = join(root.path, layout.inbox('simulated'));
  for await (const scan of writeEvening(defaultScenario(seed, WSR88D), { from_ms, to_ms, out, feeds: false }))
    log.progress('simulated', scan.number, scan.of);
  return { ...(await listFolder(out)), unknown: [], missing: [] };
}
