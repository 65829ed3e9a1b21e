import { randomBytes } from 'node:crypto';
import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { layout } from '../../schemas/layout.ts';
import { RootName } from '../../schemas/manifest.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { Conflict, NotFound } from '../error.ts';
import { DRAFT_SUFFIX, moveDurably, namesIn, orNull, readIfPresent, replaceFile } from '../files.ts';
import type { Log } from '../log.ts';
import { readManifestOf } from '../publish/manifests.ts';
import { READERS_GRACE_MIN } from '../publish/sweep.ts';
import { inParallel } from '../sources/parallel.ts';
import { type Edition, isDate, type ListedFile, readEdition } from './edition.ts';
import { icebergFiles } from './iceberg.ts';
import { stacFiles } from './stac.ts';
import { viewsSql } from './views.ts';

const AT_A_TIME = 16;

/** The newest catalogue of a folder, `catalogue.json`: replaced last. */
const Pointer = z.object({
  number: z.int().positive(),
  edition: z.string(),
  location: z.string().meta({ description: 'Path or address that its files begin with.' }),
});
type Pointer = z.infer<typeof Pointer>;

/** Writes the catalogue of a data root unless it shows the newest edition; a failure is logged and costs the catalogue only. */
export async function refreshCatalogue(data_root: string, log: Log): Promise<void> {
  try {
    const edition = await readEdition(data_root);
    const text = await readIfPresent(join(data_root, layout.cataloguePointer));
    const shown = text === null ? null : Pointer.parse(JSON.parse(text));
    if (edition.heads.length === 0 || (shown?.edition === edition.name && shown.location === data_root)) return;
    await writeCatalogue(data_root, { out: data_root, location: data_root }, edition);
  } catch (error) {
    log.warn('Catalogue:Write:Failed', { reason: error instanceof Error ? error.message : String(error) });
  }
}

/**
 * Writes the catalogue of an edition, the newest unless given, into `out`: SQL views, STAC and Iceberg metadata. All files go into a new
 * folder `catalogues/<number>/`, which a rename makes visible; then the files that point into it are replaced one by one. A killed
 * process leaves the previous catalogue whole. Takes no lock on the data root. `location`: path of the data root, or the address of its
 * copy, such as `s3://bucket/hail`.
 */
export async function writeCatalogue(
  data_root: string,
  { out, location }: { readonly out: string; readonly location: string },
  given?: Edition,
): Promise<Pointer> {
  const edition = given ?? (await readEdition(data_root));
  const named = await readIfPresent(join(data_root, layout.root));
  if (named === null) throw new NotFound('catalogue', data_root, `holds no ${layout.root}, expected a data root`);
  const number = ((await numbersIn(out)).at(-1) ?? 0) + 1;
  const folder = layout.catalogue(padded(number));
  const root = location.startsWith('/') ? `file://${location}` : location;
  const daily = await dailyArchives(data_root, edition);
  const stac = stacFiles(edition, daily, padded(number));
  const pointer = { number, edition: edition.name, location };
  const published = [...edition.heads.flatMap((head) => head.files), ...daily.map(({ file }) => file)];
  const content = new Map<string, string | Buffer>([
    [layout.catalogueFiles, published.map(({ path }) => `${path}\n`).join('')],
    ...[...stac.below].map(([path, file]) => [`stac/${path}`, jsonText(file)] as const),
  ]);
  const pointers = new Map<string, string>();
  const { root_id } = RootName.parse(JSON.parse(named));
  for (const table of TABLES) {
    const place = { root, folder: `${root}/${folder}`, number, root_id };
    const { metadata, avro } = await icebergFiles(edition, table, place);
    for (const [path, bytes] of avro) content.set(path, bytes);
    pointers.set(`${layout.iceberg}/${table.name}/metadata/v${number}.metadata.json`, jsonText(metadata));
    pointers.set(`${layout.iceberg}/${table.name}/metadata/version-hint.text`, String(number));
  }
  pointers.set(`${layout.stac}/catalog.json`, jsonText(stac.root));
  pointers.set(layout.views, viewsSql(edition, location));
  pointers.set(layout.cataloguePointer, jsonText(pointer));
  await writeFolder(join(out, folder), content);
  for (const [path, text] of pointers) await replaceFile(join(out, path), text);
  await deleteEarlier(out, number);
  return pointer;
}

const padded = (number: number) => String(number).padStart(6, '0');
const jsonText = (value: object) => `${JSON.stringify(value)}\n`;

/** Numbers of the catalogues of a folder, in order. */
async function numbersIn(out: string): Promise<number[]> {
  const names = (await namesIn(join(out, layout.catalogues))).filter((name) => /^\d{6,}$/.test(name));
  return names.map(Number).sort((a, b) => a - b);
}

/** The map tiles of each storm date with scans. */
async function dailyArchives(data_root: string, { heads }: Edition): Promise<ListedFile[]> {
  const dates = heads.filter(({ partition, scans }) => isDate(partition) && scans.count > 0);
  const found = await inParallel(dates, AT_A_TIME, async (head) => {
    const { files } = await readManifestOf(data_root, head);
    return files.filter(({ kind }) => kind === 'daily-tiles').map((file) => ({ head, file }));
  });
  return found.flat();
}

/** Writes files into a new folder, which appears whole. Throws Conflict when another process makes it first. */
async function writeFolder(folder: string, content: ReadonlyMap<string, string | Buffer>): Promise<void> {
  const draft = `${folder}.${randomBytes(4).toString('hex')}${DRAFT_SUFFIX}`;
  try {
    for (const path of new Set([...content.keys()].map(dirname)))
      await fs.mkdir(join(draft, path), { recursive: true });
    await inParallel([...content], AT_A_TIME, ([path, bytes]) => fs.writeFile(join(draft, path), bytes));
    await moveDurably(draft, folder);
  } catch (error) {
    await fs.rm(draft, { recursive: true, force: true });
    const isTaken = error instanceof Error && 'code' in error && ['ENOTEMPTY', 'EEXIST'].includes(String(error.code));
    if (isTaken) throw new Conflict('catalogue', folder, 'is being written by another process', { cause: error });
    throw error;
  }
}

/** Deletes catalogues that were replaced longer ago than a reader lasts, and drafts of killed processes of that age. */
async function deleteEarlier(out: string, number: number): Promise<void> {
  const oldest_ms = Date.now() - READERS_GRACE_MIN * 60_000;
  const pathOf = (name: string) => join(out, layout.catalogue(name));
  const isOld = async (name: string) => ((await orNull(() => fs.stat(pathOf(name))))?.mtimeMs ?? oldest_ms) < oldest_ms;
  for (const name of await namesIn(join(out, layout.catalogues)))
    if (name.endsWith(DRAFT_SUFFIX) && (await isOld(name))) await fs.rm(pathOf(name), { recursive: true, force: true });
  const numbers = (await numbersIn(out)).filter((one) => one <= number);
  for (const [index, earlier] of numbers.slice(0, -1).entries()) {
    if (!(await isOld(padded(numbers[index + 1])))) continue;
    for (const { name } of TABLES)
      await fs.rm(join(out, layout.iceberg, name, `metadata/v${earlier}.metadata.json`), { force: true });
    await fs.rm(pathOf(padded(earlier)), { recursive: true });
  }
}
