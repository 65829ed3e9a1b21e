import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { layout } from '../../schemas/layout.ts';
import { type Manifest, provenanceOfDate } from '../../schemas/manifest.ts';
import { isCalendarDate } from '../../schemas/time.ts';
import { Conflict, PipelineError } from '../error.ts';
import { filesBelow, hashOf, moveDurably, namesIn, readIfPresent, replaceFile, sizeOf } from '../files.ts';
import { listArchive } from '../sources/archive.ts';
import { filesOf, planScans } from '../sources/plan.ts';
import { commit, placeFiles } from './commit.ts';
import { samePartition } from './edit.ts';
import { readNewest, readRootName } from './manifests.ts';
import type { Root } from './root.ts';

/**
 * Publishes the first finished date of the inbox in one commit, or moves it to the rejected ones; null when the inbox has none.
 * Its status is `published` when the data root holds the same scans already. A kill leaves its folder in the inbox, and the next
 * call starts again.
 */
export async function adoptDate(root: Root, now_ms: number) {
  const { path, staging, log } = root;
  const [name] = await namesIn(join(path, layout.finishedDates));
  if (name === undefined) return null;
  const folder = join(path, layout.finishedDate(name));
  const date = name.slice(0, 'YYYY-MM-DD'.length);
  const previous = await root.manifest(date);
  const checked = await checkDate(root, folder, date, previous).catch((error: unknown) => {
    if (error instanceof PipelineError) return error;
    throw error;
  });
  root.check();
  if (checked instanceof PipelineError) {
    await rejectDate(path, name, checked.message);
    log.warn('Date:Adopt:Rejected', { name, reason: checked.message });
    return { name, status: 'rejected' } as const;
  }
  const is_published = previous?.closed === true && scansOf(previous) === scansOf(checked.manifest);
  if (!is_published) await publishDate(root, folder, checked, previous, now_ms);
  // A kill in the middle of the deletion leaves no half folder in the inbox.
  await fs.rename(folder, join(staging, name));
  await fs.rm(join(staging, name), { recursive: true });
  const status = is_published ? 'published' : 'adopted';
  log.info('Date:Adopt:Done', { date, status, scans: checked.manifest.scans.length });
  return { name, status };
}

async function rejectDate(dataRoot: string, name: string, reason: string): Promise<void> {
  const place = join(dataRoot, layout.rejectedDate(name));
  await replaceFile(join(dataRoot, layout.rejectedDateReason(name)), `${JSON.stringify({ name, reason }, null, 2)}\n`);
  await fs.rm(place, { recursive: true, force: true });
  await moveDurably(join(dataRoot, layout.finishedDate(name)), place);
}

/** Why a date was rejected; null when it was not. */
export async function readDateRejection(dataRoot: string, name: string): Promise<string | null> {
  const text = await readIfPresent(join(dataRoot, layout.rejectedDateReason(name)));
  return text === null ? null : JSON.parse(text).reason;
}

/** Reads a finished date whole: its manifest, and its raw files relative to its folder. Throws PipelineError when it cannot be published. */
async function checkDate(
  { storm_day_start_hour: hour }: Root,
  folder: string,
  date: string,
  previous: Manifest | null,
) {
  const refuse = (reason: string) => new Conflict('adopt', date, reason);
  if (!(await fs.stat(folder)).isDirectory()) throw refuse('is a file, expected the folder of a finished date');
  await readRootName(folder);
  const manifest = isCalendarDate(date) ? await readNewest(folder, date) : null;
  if (manifest?.closed !== true || manifest.scans.length === 0)
    throw refuse('has no manifest of a closed date with scans, expected one');
  if (manifest.storm_day_start_hour !== hour)
    throw refuse(
      `storm day starts at ${manifest.storm_day_start_hour} UTC, expected ${hour} (HAIL_STORM_DAY_START_HOUR)`,
    );
  if (previous !== null && previous.scans.length > 0 && previous.source !== manifest.source)
    throw refuse(`holds ${manifest.source} data, expected ${previous.source} data as the data root holds`);
  const given = new Set(manifest.scans.map(({ scan_id }) => scan_id));
  const lost = previous?.scans.filter(({ scan_id }) => !given.has(scan_id)) ?? [];
  if (lost.length > 0)
    throw refuse(
      `lacks ${lost.length} of ${previous?.scans.length} published scans (${lost[0]?.scan_id} first), expected all`,
    );
  for (const file of manifest.files) {
    const fault = await faultOf(folder, date, file);
    if (fault !== null) throw refuse(`'${file.path}' ${fault}`);
  }
  return { manifest, raw: await listRaw(folder, manifest) };
}

/** Difference between a file of a date and its manifest; null without one. */
async function faultOf(folder: string, date: string, file: Manifest['files'][number]): Promise<string | null> {
  const is_of_date = /^(tables|tiles|state)\//.test(file.path) && file.path.split('/').includes(`date=${date}`);
  if (!is_of_date || file.path.includes('..')) return 'is no path of a published file of the date';
  const location = join(folder, file.path);
  const bytes = await sizeOf(location);
  if (bytes === null) return 'is missing';
  if (bytes !== file.bytes) return `has ${bytes} bytes, expected ${file.bytes}`;
  const hash = await hashOf(location);
  return hash === file.sha256 ? null : `has sha256 ${hash}, expected ${file.sha256}`;
}

/** Archived raw files of the scans of a date, and its rejected files. Throws Conflict when a scan has other raw files than its manifest states. */
async function listRaw(folder: string, { partition, source, scans }: Manifest): Promise<string[]> {
  const archived = await listArchive(folder, provenanceOfDate(partition, source));
  const plans = new Map(planScans(archived).scans.map((plan) => [plan.scan_id, plan]));
  const rejected = (await filesBelow(join(folder, layout.allRejected))).map((key) => `${layout.allRejected}/${key}`);
  const used = scans.flatMap(({ scan_id, inputs }) => {
    const plan = plans.get(scan_id);
    if (plan?.inputs !== inputs)
      throw new Conflict('adopt', partition, `scan ${scan_id} has other raw files than its manifest states`);
    return filesOf(plan).map(({ location }) => location.slice(folder.length + 1));
  });
  return [...new Set([...used, ...rejected])];
}

/** Scans of a date and fingerprints of their raw files, as one text. */
function scansOf({ scans }: Manifest): string {
  return scans.map(({ scan_id, inputs }) => `${scan_id} ${inputs}`).join();
}

/** Puts the files of a date in place, raw files first, and commits them in place of all that is published of it. */
async function publishDate(
  root: Root,
  folder: string,
  { manifest, raw }: Awaited<ReturnType<typeof checkDate>>,
  previous: Manifest | null,
  now_ms: number,
): Promise<void> {
  // Links: the folder stays whole until the commit is done.
  const link = async (path: string) => {
    const staged = join(root.staging, 'adopted', path);
    await fs.mkdir(dirname(staged), { recursive: true });
    // File systems without hard links refuse with several codes.
    await fs.link(join(folder, path), staged).catch(() => fs.copyFile(join(folder, path), staged));
    return { staged, path };
  };
  await placeFiles(root.path, await Promise.all(raw.map(link)));
  const add_files = await Promise.all(
    manifest.files.map(async (entry) => ({ staged: (await link(entry.path)).staged, entry })),
  );
  const edit = {
    ...samePartition(manifest),
    add_scans: manifest.scans,
    add_files,
    drop_segments: [...new Set(previous?.files.map(({ segment }) => segment))],
    feeds: Object.fromEntries(Object.entries(manifest.feeds).map(([product, time]) => [product, Date.parse(time)])),
    changed_tables: Object.keys({ ...previous?.table_commits, ...manifest.table_commits }),
  };
  await commit(root, [edit], now_ms, [], true);
}
