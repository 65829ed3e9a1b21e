import { readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { layout } from '../../schemas/layout.ts';
import { Provenance } from '../../schemas/provenance.ts';
import { utcDate } from '../../schemas/time.ts';
import { Unreadable } from '../error.ts';
import { copyDurably, hashOf, isMissing, makeFolder, namesIn, orNull, replaceFile, sizeOf, writing } from '../files.ts';
import { listFolder } from './folder.ts';
import type { SourceFile } from './names.ts';

/** Reason of a rejected file: the content of `<name>.reason.json` next to it. */
const Rejection = z.object({
  /** Base name as delivered. */
  file: z.string(),
  stage: z.string(),
  reason: z.string(),
  /** Data clock when it was rejected. */
  found_at: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  /** Of a file that was rejected because its storm date held data of the other kind: that date and the kind it held. */
  other_kind: z.object({ storm_date: z.string(), source: Provenance }).optional(),
});
export type Rejection = z.infer<typeof Rejection>;

const REASON_SUFFIX = '.reason.json';
/** Digits of the hash before the name of a file of which other content was rejected before. */
const HASH_DIGITS = 8;

/**
 * Copies a raw file to `archive/<source>/date=YYYY-MM-DD/` (UTC date of its name, as in the bucket) and returns the
 * copy. The same content again changes nothing; other content under the same name replaces it whole.
 */
export async function archiveRaw(file: SourceFile, dataRoot: string, provenance: Provenance): Promise<SourceFile> {
  const key = `date=${utcDate(file.time_ms)}/${file.name}`;
  const location = join(dataRoot, layout.archive(provenance), key);
  const isThere = async () =>
    (await sizeOf(location)) === file.bytes && (await hashOf(location)) === (await hashOf(file.location));
  if (location !== file.location && !(await isThere()))
    await writing(location, () => copyDurably(file.location, location));
  const { product, time_ms, name, bytes } = file;
  return { product, time_ms, name, key, bytes, location };
}

/**
 * True for a given file that is newer than the archived one of its name and has other content. The same content with a newer
 * time gives the archived file that time, so that it is not compared, or fetched, again; `dry_run` leaves that time unchanged.
 */
export async function isCorrection(file: SourceFile, archived: SourceFile, dry_run: boolean): Promise<boolean> {
  const [given, before] = await Promise.all([orNull(() => stat(file.location)), stat(archived.location)]);
  if (given === null || given.mtimeMs <= before.mtimeMs) return false;
  if (given.size !== before.size || (await hashOf(file.location)) !== (await hashOf(archived.location))) return true;
  if (!dry_run) await utimes(archived.location, given.atime, given.mtime);
  return false;
}

/** UTC dates with archived raw files of a provenance, in order. */
export async function archivedDates(dataRoot: string, provenance: Provenance): Promise<string[]> {
  const folders = await namesIn(join(dataRoot, layout.archive(provenance)));
  return folders.flatMap((name) => /^date=(.+)$/.exec(name)?.[1] ?? []).sort();
}

/** Archived raw files of a provenance, in order of date and name; only those of `dates` (UTC) when given. */
export async function listArchive(
  dataRoot: string,
  provenance: Provenance,
  dates?: readonly string[],
): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for (const date of await archivedDates(dataRoot, provenance)) {
    if (dates?.includes(date) === false) continue;
    const folder = join(dataRoot, layout.archiveDate(provenance, date));
    const listing = await listFolder(folder);
    // A scan made without one of its archived files would differ: an incomplete listing is an error.
    const [lost] = listing.unreadable;
    if (lost !== undefined) throw new Unreadable(join(folder, lost.key), lost.reason);
    files.push(...listing.files.map((file) => ({ ...file, key: `date=${date}/${file.key}` })));
  }
  return files;
}

/** Listed files that are neither archived nor rejected, by name and size, or that changed after they were archived. */
export function withoutKnown(
  listed: readonly SourceFile[],
  archived: readonly SourceFile[],
  rejections: readonly Rejection[],
): SourceFile[] {
  const known = new Map([
    ...archived.map((file) => [`${file.bytes} ${file.name}`, file.modified_ms ?? Number.POSITIVE_INFINITY] as const),
    ...rejections.map(({ bytes, file }) => [`${bytes} ${file}`, Number.POSITIVE_INFINITY] as const),
  ]);
  return listed.filter((file) => {
    const known_ms = known.get(`${file.bytes} ${file.name}`);
    return known_ms === undefined || (file.modified_ms ?? 0) > known_ms;
  });
}

/**
 * Copies a file and its reason to `inbox/rejected/<provenance>/`, the file first, then the reason, and deletes a file to `move`
 * last: after a kill in between the next call finishes. Returns the record, and whether it is new: the same content is
 * reported once.
 */
export async function rejectRaw(
  file: SourceFile,
  dataRoot: string,
  provenance: Provenance,
  fault: Omit<Rejection, 'file' | 'bytes' | 'sha256'>,
  move: boolean,
): Promise<{ readonly rejection: Rejection; readonly isNew: boolean }> {
  const sha256 = await hashOf(file.location);
  const known = (await readRejections(dataRoot, provenance, [file])).find((one) => one.sha256 === sha256);
  const rejection = known ?? { file: file.name, bytes: file.bytes, sha256, ...fault };
  if (!known) {
    const folder = join(dataRoot, layout.rejected(provenance));
    await makeFolder(folder);
    let place = join(folder, file.name);
    if ((await sizeOf(place)) !== null && (await hashOf(place)) !== sha256)
      place = join(folder, `${sha256.slice(0, HASH_DIGITS)}-${file.name}`);
    await writing(place, () => copyDurably(file.location, place));
    const reasonPath = `${place}${REASON_SUFFIX}`;
    await writing(reasonPath, () => replaceFile(reasonPath, `${JSON.stringify(rejection, null, 2)}\n`));
  }
  if (move) await rm(file.location, { force: true });
  return { rejection, isNew: !known };
}

/** Records of the rejected files of these names; a reason that cannot be parsed counts as missing. */
export async function readRejections(
  dataRoot: string,
  provenance: Provenance,
  files: readonly { readonly name: string }[],
): Promise<Rejection[]> {
  const folder = join(dataRoot, layout.rejected(provenance));
  const wanted = new Set(files.map(({ name }) => `${name}${REASON_SUFFIX}`));
  const isWanted = (name: string) => wanted.has(name) || wanted.has(name.slice(HASH_DIGITS + 1));
  const names = (await namesIn(folder)).filter(isWanted);
  const read = await Promise.all(names.map((name) => readRejection(join(folder, name))));
  return read.filter((rejection) => rejection !== null);
}

/** True when this very content was rejected before. Only files of a recorded name and size are read. */
export async function isRejected(file: SourceFile, rejections: readonly Rejection[]): Promise<boolean> {
  const alike = rejections.filter((rejection) => rejection.file === file.name && rejection.bytes === file.bytes);
  if (alike.length === 0) return false;
  const sha256 = await hashOf(file.location);
  return alike.some((rejection) => rejection.sha256 === sha256);
}

async function readRejection(path: string): Promise<Rejection | null> {
  try {
    return Rejection.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    // The file is rejected and recorded once more, which costs less than a stream that stops.
    if (error instanceof SyntaxError || error instanceof z.ZodError || isMissing(error)) return null;
    throw error;
  }
}
