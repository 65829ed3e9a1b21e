import { readFile, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { layout } from '../../schemas/layout.ts';
import { Provenance } from '../../schemas/provenance.ts';
import { timestamp, utcDate } from '../../schemas/time.ts';
import { Unreadable } from '../error.ts';
import { copyDurably, hashOf, isMissing, makeFolder, namesIn, replaceFile, sizeOf } from '../files.ts';
import { type FolderFile, listFolder } from './folder.ts';
import type { SourceFile } from './names.ts';
import { writing } from './write-fault.ts';

/** Why a file was moved aside: the content of `<name>.reason.json` beside it. */
export const Rejection = z.object({
  file: z.string().meta({ description: 'Base name as delivered.' }),
  stage: z.string().meta({ description: 'Stage that refused it.' }),
  reason: z.string().meta({ description: 'What was found and what was expected.' }),
  found_at: z.string().meta({ description: 'Data clock when it was refused.' }),
  bytes: z.int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  other_kind: z.object({ storm_date: z.string(), source: Provenance }).optional().meta({
    description:
      'Of a file that was refused because its storm date held data of the other kind: that date and the kind it held. The refusal lasts as long as it does.',
  }),
});
export type Rejection = z.infer<typeof Rejection>;

/** What is written beside a kept file that took the place of another one. */
const Mark = z.object({ sha256: z.string(), same_size: z.boolean() });

const REASON_SUFFIX = '.reason.json';
const MARK_SUFFIX = '.correction';
/** Eight digits of the hash and a hyphen. */
const HASH_PREFIX = 9;

/**
 * Keeps a raw file under `archive/<source>/date=YYYY-MM-DD/` (UTC date of its name, as in the bucket) and returns it
 * there. The same content again changes nothing; other content under the same name takes its place whole.
 */
export async function archiveRaw(file: SourceFile, dataRoot: string, provenance: Provenance): Promise<SourceFile> {
  const key = `date=${utcDate(file.time_ms)}/${file.name}`;
  const location = join(dataRoot, layout.archive(provenance), key);
  const { product, time_ms, name, bytes, correction } = file;
  if (location !== file.location && !(await sameContent(file, location))) {
    // Before the content: a mark that does not fit the file beside it says nothing.
    if (correction !== undefined) await keepText(markOf(location), JSON.stringify(Mark.parse(correction)));
    await writing(location, () => copyDurably(file.location, location));
  }
  return { product, time_ms, name, key, bytes, location, ...(correction === undefined ? {} : { correction }) };
}

/** Place of the mark of a kept file that took the place of another one of its name: hidden, so no listing takes it for a raw file. */
function markOf(location: string): string {
  return join(dirname(location), `.${basename(location)}${MARK_SUFFIX}`);
}

/**
 * The given file, marked as a correction when it is newer than the one archived under its name and their contents differ.
 * Files of the same size and time count as the same and are not read; the same content with a newer time gives the archived
 * file that time, so that it is not compared, or fetched, again. `dry_run` leaves that time unchanged.
 */
export async function asCorrection(file: SourceFile, kept: SourceFile, dry_run = false): Promise<SourceFile> {
  try {
    return await comparedWith(kept, file, dry_run);
  } catch (error) {
    // The file was deleted from the inbox once it was archived: it corrects nothing.
    if (isMissing(error)) return file;
    throw error;
  }
}

async function comparedWith(kept: SourceFile, file: SourceFile, dry_run: boolean): Promise<SourceFile> {
  const [given, before] = await Promise.all([stat(file.location), stat(kept.location)]);
  if (given.mtimeMs <= before.mtimeMs) return file;
  const sha256 = await hashOf(file.location);
  const same_size = given.size === before.size;
  if (!same_size || sha256 !== (await hashOf(kept.location)))
    return { ...file, correction: { time_ms: given.mtimeMs, sha256, same_size } };
  if (!dry_run) await utimes(kept.location, given.atime, given.mtime);
  return file;
}

/** A kept file with what its mark says of it, where there is one that fits. */
async function withCorrection(file: FolderFile, marks: ReadonlySet<string>): Promise<SourceFile> {
  const mark = markOf(file.location);
  if (!marks.has(basename(mark))) return file;
  const { sha256, same_size } = Mark.parse(JSON.parse(await readFile(mark, 'utf8')));
  if (sha256 !== (await hashOf(file.location))) return file;
  return { ...file, correction: { time_ms: file.modified_ms, sha256, same_size } };
}

/** Raw files kept of a provenance, in order of date and name; `dates` (UTC) narrows it. Nothing kept: an empty list. */
export async function listArchive(
  dataRoot: string,
  provenance: Provenance,
  dates?: readonly string[],
): Promise<SourceFile[]> {
  const root = join(dataRoot, layout.archive(provenance));
  const kept = (await namesIn(root)).filter((name) => name.startsWith('date=')).sort();
  const wanted = kept.filter((name) => !dates || dates.includes(name.slice('date='.length)));
  const files: SourceFile[] = [];
  for (const folder of wanted) {
    const listing = await listFolder(join(root, folder));
    // Without a file that was kept its scan would come out otherwise, or not at all: nothing is made from a part of them.
    const [lost] = listing.unreadable;
    if (lost !== undefined) throw new Unreadable(join(root, folder, lost.key), lost.reason);
    const marks = new Set((await namesIn(join(root, folder))).filter((name) => name.endsWith(MARK_SUFFIX)));
    for (const file of listing.files)
      files.push({ ...(await withCorrection(file, marks)), key: `${folder}/${file.key}` });
  }
  return files;
}

/** Listed files that are neither kept nor refused yet, by name and size, or changed after they were kept: what is still to be fetched. */
export function withoutKnown<F extends SourceFile>(
  listed: readonly F[],
  kept: readonly SourceFile[],
  rejections: readonly Rejection[],
): F[] {
  const known = new Map([
    ...kept.map((file) => [`${file.bytes} ${file.name}`, file.modified_ms ?? Number.POSITIVE_INFINITY] as const),
    ...rejections.map(({ bytes, file }) => [`${bytes} ${file}`, Number.POSITIVE_INFINITY] as const),
  ]);
  return listed.filter((file) => {
    const kept_ms = known.get(`${file.bytes} ${file.name}`);
    return kept_ms === undefined || (file.modified_ms ?? 0) > kept_ms;
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
  /** The date and kind for whose sake it is refused; undefined for a fault of its own. */
  readonly other_kind?: Rejection['other_kind'];
  /** False copies and leaves the file where it is: a folder named with `--from` is only read. */
  readonly move: boolean;
}

/**
 * Puts a file and its reason aside under `inbox/rejected/<provenance>/`, the file first, then the reason, and only then
 * takes a moved file from where it was: killed in between, the next call finishes.
 * Returns what is recorded, and whether that is new: the same content is reported once.
 */
export async function rejectRaw(given: RejectRaw): Promise<{ readonly rejection: Rejection; readonly isNew: boolean }> {
  const { file, dataRoot, provenance, stage, reason, other_kind, found_at_ms, move } = given;
  const folder = join(dataRoot, layout.rejected(provenance));
  const sha256 = await hashOf(file.location);
  const known = await knownRejection(folder, file.name, sha256);
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
    await keepText(`${place}${REASON_SUFFIX}`, JSON.stringify(rejection, null, 2));
  }
  if (move) await rm(file.location, { force: true });
  return { rejection, isNew: !known };
}

/**
 * What was put aside of a provenance so far, by name; a reason that cannot be read counts as not written. `of` narrows it to
 * files of these names: of the thousands that may lie there only their reasons are read.
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
    .filter((name) => !wanted || wanted.has(refusedName(name)) || wanted.has(refusedName(name).slice(HASH_PREFIX)))
    .sort();
  const read = await Promise.all(names.map((name) => readRejection(join(folder, name))));
  return read.filter((rejection) => rejection !== null);
}

function refusedName(reasonName: string): string {
  return reasonName.slice(0, -REASON_SUFFIX.length);
}

/** What was recorded of this very content; a look at the only two places where it can lie. */
async function knownRejection(folder: string, name: string, sha256: string): Promise<Rejection | undefined> {
  const places = [name, hashedName(name, sha256)].map((place) => join(folder, `${place}${REASON_SUFFIX}`));
  const found = await Promise.all(places.map(readRejection));
  return found.find((one) => one !== null && one.sha256 === sha256 && one.file === name) ?? undefined;
}

/** True when this very content was put aside before. Only files of a recorded name and size are read. */
export async function isRejected(file: SourceFile, rejections: readonly Rejection[]): Promise<boolean> {
  const alike = rejections.filter((rejection) => rejection.file === file.name && rejection.bytes === file.bytes);
  if (alike.length === 0) return false;
  const sha256 = await hashOf(file.location);
  return alike.some((rejection) => rejection.sha256 === sha256);
}

async function readRejection(path: string): Promise<Rejection | null> {
  try {
    const rejection = Rejection.parse(JSON.parse(await readFile(path, 'utf8')));
    // Written by earlier versions for files ahead of the clock: such a refusal holds for its moment only.
    return rejection.stage === 'plan' ? null : rejection;
  } catch (error) {
    // The file would only be refused and written down once more, which costs less than a stream that stops.
    if (error instanceof SyntaxError || error instanceof z.ZodError || isMissing(error)) return null;
    throw error;
  }
}

/** The name itself, or with the start of the hash when other content was refused under it before. */
async function freeName(folder: string, name: string, sha256: string): Promise<string> {
  const path = join(folder, name);
  const taken = (await sizeOf(path)) !== null && (await hashOf(path)) !== sha256;
  return taken ? hashedName(name, sha256) : name;
}

function hashedName(name: string, sha256: string): string {
  return `${sha256.slice(0, HASH_PREFIX - 1)}-${name}`;
}

async function sameContent(file: SourceFile, path: string): Promise<boolean> {
  return (await sizeOf(path)) === file.bytes && (await hashOf(path)) === (await hashOf(file.location));
}

async function keepText(path: string, text: string): Promise<void> {
  await writing(path, () => replaceFile(path, `${text}\n`));
}
