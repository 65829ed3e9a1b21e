import { readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { layout } from '../../schemas/layout.ts';
import { Provenance } from '../../schemas/provenance.ts';
import { timestamp, utcDate } from '../../schemas/time.ts';
import { Unreadable } from '../error.ts';
import { copyDurably, hashOf, isMissing, makeFolder, namesIn, orNull, replaceFile, sizeOf } from '../files.ts';
import { listFolder } from './folder.ts';
import type { SourceFile } from './names.ts';
import { writing } from './write-fault.ts';

/** Reason of a rejected file: the content of `<name>.reason.json` next to it. */
export const Rejection = z.object({
  file: z.string().meta({ description: 'Base name as delivered.' }),
  stage: z.string().meta({ description: 'Stage that rejected it.' }),
  reason: z.string().meta({ description: 'Found and expected.' }),
  found_at: z.string().meta({ description: 'Data clock when it was rejected.' }),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  other_kind: z.object({ storm_date: z.string(), source: Provenance }).optional().meta({
    description:
      'Of a file that was rejected because its storm date held data of the other kind: that date and the kind it held. The rejection lasts as long as it does.',
  }),
});
export type Rejection = z.infer<typeof Rejection>;

const REASON_SUFFIX = '.reason.json';
/** Eight digits of the hash and a hyphen. */
const HASH_PREFIX = 9;

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

export interface RejectRaw {
  readonly file: SourceFile;
  readonly dataRoot: string;
  readonly provenance: Provenance;
  readonly stage: string;
  readonly reason: string;
  /** Data clock, epoch milliseconds. */
  readonly found_at_ms: number;
  /** Storm date and its kind, for a file rejected because of them; undefined for a fault of its own. */
  readonly other_kind?: Rejection['other_kind'];
  /** False copies and leaves the file where it is: a folder named with `--from` is only read. */
  readonly move: boolean;
}

/**
 * Copies a file and its reason to `inbox/rejected/<provenance>/`, the file first, then the reason, and deletes a moved file
 * last: after a kill in between the next call finishes. Returns the record, and whether it is new: the same content is
 * reported once.
 */
export async function rejectRaw(given: RejectRaw): Promise<{ readonly rejection: Rejection; readonly isNew: boolean }> {
  const { file, dataRoot, provenance, stage, reason, other_kind, found_at_ms, move } = given;
  const folder = join(dataRoot, layout.rejected(provenance));
  const sha256 = await hashOf(file.location);
  const known = (await readRejections(dataRoot, provenance, [file])).find((one) => one.sha256 === sha256);
  const rejection = known ?? {
    file: file.name,
    stage,
    reason,
    found_at: timestamp(found_at_ms),
    bytes: file.bytes,
    sha256,
    ...(other_kind === undefined ? {} : { other_kind }),
  };
  if (!known) {
    await makeFolder(folder);
    const place = join(folder, await freeName(folder, file.name, sha256));
    await writing(place, () => copyDurably(file.location, place));
    const reasonPath = `${place}${REASON_SUFFIX}`;
    await writing(reasonPath, () => replaceFile(reasonPath, `${JSON.stringify(rejection, null, 2)}\n`));
  }
  if (move) await rm(file.location, { force: true });
  return { rejection, isNew: !known };
}

/**
 * Records of the rejected files of a provenance, by name; a reason that cannot be parsed counts as missing. With `of` only
 * the reasons of files of these names are read: the folder may hold thousands.
 */
export async function readRejections(
  dataRoot: string,
  provenance: Provenance,
  of?: readonly { readonly name: string }[],
): Promise<Rejection[]> {
  const folder = join(dataRoot, layout.rejected(provenance));
  const wanted = of && new Set(of.map(({ name }) => name));
  const names = (await namesIn(folder))
    .filter((name) => name.endsWith(REASON_SUFFIX))
    .filter((name) => !wanted || wanted.has(rejectedName(name)) || wanted.has(rejectedName(name).slice(HASH_PREFIX)))
    .sort();
  const read = await Promise.all(names.map((name) => readRejection(join(folder, name))));
  return read.filter((rejection) => rejection !== null);
}

function rejectedName(reasonName: string): string {
  return reasonName.slice(0, -REASON_SUFFIX.length);
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

/** The name itself, or with the start of the hash when other content was rejected under it before. */
async function freeName(folder: string, name: string, sha256: string): Promise<string> {
  const path = join(folder, name);
  const taken = (await sizeOf(path)) !== null && (await hashOf(path)) !== sha256;
  return taken ? hashedName(name, sha256) : name;
}

function hashedName(name: string, sha256: string): string {
  return `${sha256.slice(0, HASH_PREFIX - 1)}-${name}`;
}
