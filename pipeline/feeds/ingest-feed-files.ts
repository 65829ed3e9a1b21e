import fs from 'node:fs/promises';
import { basename, join } from 'node:path';
import { COLLECTED_TIMES, type CollectionName } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { combineProvenances, type Provenance } from '../../schemas/provenance.ts';
import { type CollectedReports, type CollectedSpan, collectedReports } from '../../schemas/tables/collected-reports.ts';
import { MS_PER_DAY, timestamp, utcDate } from '../../schemas/time.ts';
import { collectedRows } from '../derive/collected-spans.ts';
import { BadInput, isIsolated, PipelineError } from '../error.ts';
import type { IngestedFile } from '../feed.ts';
import { namesIn, replaceFile, sha256, writeSynced } from '../files.ts';
import { readNewest } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readRows } from '../publish/tables.ts';
import type { UndatedSegment } from '../publish/undated.ts';
import { writing } from '../sources/write-fault.ts';
import type { Collection, FeedFile, FeedItems, KeptItem, Listing } from './collection.ts';
import { decodeItems, encodeItems, type StoredItem } from './collection-state.ts';
import { ofEachCollection } from './collections.ts';

/** Items of the neighbouring months decide about rows this near to the turn of a month: corrections, products of a watch. */
const REACH_MS = 3 * MS_PER_DAY;
/** A feed that is broken for days, each time with another page, must not fill the disk: so much is kept of a file, and so many files. */
const MAX_REJECTED_BYTES = 1024 * 1024;
const MAX_REJECTED_FILES = 200;

/** What taking files did. */
export interface IngestedFiles {
  readonly files: readonly IngestedFile[];
  /** Collections whose rows changed. */
  readonly changed: readonly string[];
}

interface ReadFeedFile<Item> {
  readonly file: FeedFile;
  readonly content: FeedItems<Item>;
}

export interface TakeOptions {
  readonly now_ms: number;
  /** Provenance of what holds nothing. */
  readonly provenance: Provenance;
  /** Times of which reports were collected although no file says so: the look itself asked for them. */
  readonly collected?: readonly CollectedSpan[];
  /** Collections whose feeds were looked at: they are published even if there was nothing in them. */
  readonly looked_at?: readonly CollectionName[];
}

/**
 * Reads files of feeds, joins them with what their collections hold, and publishes what changed, one commit for each collection.
 * A file that cannot be used costs itself only: it is put aside with its reason. A collection that cannot be joined is thrown
 * once the others are published.
 */
export async function ingestFeedFiles(
  root: Root,
  files: readonly FeedFile[],
  options: TakeOptions,
): Promise<IngestedFiles> {
  const { looked_at = [] } = options;
  const taken = new Map<FeedFile, IngestedFile>();
  const changed: string[] = [];
  const steps = ofEachCollection((definition) => async () => {
    const own = files.filter((file) => !taken.has(file) && definition.accepts(file));
    const read = await readAll(root, definition, own, taken);
    // A feed that brought nothing but refused files was not looked at: what it says stays unknown, and is not "nothing".
    const is_known = own.length > 0 ? read.length > 0 : looked_at.includes(definition.name);
    if (!is_known) return;
    // Of what was refused nothing is known: the look did not collect all that it asked for.
    const of_look = read.length === own.length ? options : { ...options, collected: [] };
    if (await takeInto(root, definition, read, of_look)) changed.push(definition.name);
  });
  const faults: PipelineError[] = [];
  for (const step of steps)
    try {
      await step();
    } catch (error) {
      if (!isIsolated(error)) throw error;
      faults.push(error);
    }
  if (faults[0] !== undefined) throw faults[0];
  return { files: files.map((file) => taken.get(file) ?? unknownFile(file)), changed };
}

function unknownFile({ name }: FeedFile): IngestedFile {
  return { name, collection: null, items: 0, set_aside: [], others: {}, refused: 'is of no known kind' };
}

async function readAll<Item, Row extends Record<string, unknown>>(
  root: Root,
  { name: collection, read }: Collection<Item, Row>,
  files: readonly FeedFile[],
  taken: Map<FeedFile, IngestedFile>,
): Promise<ReadFeedFile<Item>[]> {
  const contents: ReadFeedFile<Item>[] = [];
  for (const file of files) {
    const { name } = file;
    try {
      const content = read(file);
      refuseUseless(name, content);
      contents.push({ file, content });
      const { rows, set_aside, others } = content;
      taken.set(file, {
        name,
        collection,
        items: rows.length,
        set_aside,
        others: Object.fromEntries(others),
        refused: null,
      });
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      await putAside(root, file, error.reason);
      taken.set(file, { name, collection, items: 0, set_aside: [], others: {}, refused: error.reason });
    }
  }
  return contents;
}

/** Refuses a file of which nothing can be used: it says that there is something, and must not pass for one that has nothing. */
function refuseUseless(name: string, { rows, set_aside }: FeedItems<unknown>): void {
  const [first] = set_aside;
  if (rows.length > 0 || first === undefined) return;
  const reason = `none of its ${set_aside.length} items can be used, expected some: ${first.item}: ${first.reason}`;
  throw new BadInput('read', name, reason);
}

/** Puts a file aside with its reason, under the name of its content: the same broken file again takes no more room. */
async function putAside(root: Root, { name, bytes, received_ms }: FeedFile, reason: string): Promise<void> {
  root.check();
  const path = join(root.path, layout.rejectedFeeds, `${sha256(bytes).slice(0, 8)}-${basename(name)}`);
  const note = `${JSON.stringify({ file: name, reason, received_at: timestamp(received_ms) })}\n`;
  await writing(path, async () => {
    await writeSynced(path, bytes.subarray(0, MAX_REJECTED_BYTES));
    await replaceFile(`${path}.reason.json`, note);
  });
  await dropOldest(join(root.path, layout.rejectedFeeds), 2 * MAX_REJECTED_FILES);
}

/** Deletes the files of a folder that were written longest ago, until so many are left. */
async function dropOldest(folder: string, most: number): Promise<void> {
  const names = await namesIn(folder);
  if (names.length <= most) return;
  const files = await Promise.all(
    names.map(async (name) => ({ name, written_ms: (await fs.stat(join(folder, name))).mtimeMs })),
  );
  const oldest = files.sort((a, b) => a.written_ms - b.written_ms).slice(0, names.length - most);
  for (const { name } of oldest) await fs.rm(join(folder, name));
}

/** Joins items with those that are kept, and publishes the months whose rows or items changed. */
async function takeInto<Item, Row extends Record<string, unknown>>(
  root: Root,
  definition: Collection<Item, Row>,
  read: readonly ReadFeedFile<Item>[],
  options: TakeOptions,
): Promise<boolean> {
  const { now_ms, provenance } = options;
  const partition = layout.collectionPartition(definition.name);
  const manifest = await readNewest(root.path, partition);
  const states = new Map(
    (manifest?.files ?? []).filter(({ kind }) => kind === 'state').map(({ segment, path }) => [segment, path]),
  );
  const months = new Map<string, Map<string, StoredItem>>();
  const itemsOf = async (month: string): Promise<Map<string, StoredItem>> => {
    const known = months.get(month);
    if (known !== undefined) return known;
    const path = states.get(month);
    const items =
      path === undefined
        ? []
        : decodeItems(await readState(root, path), path, definition.name, definition.item_version);
    const loaded = new Map(items.map((stored) => [keyOf(stored), stored]));
    months.set(month, loaded);
    return loaded;
  };
  const touched = new Set<string>();
  const instants: number[] = [];
  for (const { file, content } of read.toSorted((a, b) => a.file.received_ms - b.file.received_ms)) {
    const { listing } = content;
    const listed = new Set<string>();
    for (const item of content.rows) {
      const time_ms = definition.timeOf(item);
      const month = monthAt(time_ms);
      const stored = { key: hashOf(item), listing: listing?.key ?? null, received_ms: file.received_ms, item };
      const items = await itemsOf(month);
      listed.add(keyOf(stored));
      if (items.has(keyOf(stored))) continue;
      items.set(keyOf(stored), stored);
      touched.add(month);
      instants.push(time_ms);
    }
    if (listing === null) continue;
    for (const month of monthsOf(listing)) {
      const items = await itemsOf(month);
      for (const [key, { listing: own, item }] of items) {
        if (own !== listing.key || listed.has(key)) continue;
        items.delete(key);
        touched.add(month);
        instants.push(definition.timeOf(item as Item));
      }
    }
  }
  if (manifest === null) touched.add(monthAt(now_ms));
  const times = await collectedTimes(root, definition, manifest, read, options);
  if (touched.size === 0 && times.length === 0) return false;
  const redrawn = new Set([...touched, ...instants.flatMap((time_ms) => monthsWithin(time_ms, REACH_MS))]);
  const segments: UndatedSegment[] = [...times];
  for (const month of [...redrawn].sort()) {
    const own = await itemsOf(month);
    if (!touched.has(month) && own.size === 0) continue;
    const around = [await itemsOf(addMonths(month, -1)), own, await itemsOf(addMonths(month, 1))];
    const kept = withoutSimulated(
      around.flatMap((items) => [...items.values()]) as (StoredItem & KeptItem<Item>)[],
      definition,
    );
    const rows = definition
      .rows(kept, root.storm_day_start_hour)
      .filter((row) => monthAt(definition.rowTime(row)) === month);
    const state = encodeItems(definition.name, definition.item_version, [...own.values()]);
    const provenances = rows.map((row) => row.data_source as Provenance);
    segments.push({
      segment: month,
      table: definition.table,
      rows,
      provenance: combineProvenances(provenances) ?? provenance,
      state,
    });
  }
  return (await root.publishUndated(definition.name, segments, now_ms)).changed;
}

/** The segment that lists the times for which each source was collected; none for a collection that does not publish it, nor without news. */
async function collectedTimes<Item, Row extends Record<string, unknown>>(
  root: Root,
  { collected: spanOf, provenanceOf }: Collection<Item, Row>,
  manifest: Manifest | null,
  read: readonly ReadFeedFile<Item>[],
  { provenance, collected = [] }: TakeOptions,
): Promise<UndatedSegment[]> {
  if (spanOf === undefined) return [];
  const added = read.flatMap(({ file, content }): CollectedSpan[] => {
    const span = spanOf(file, content);
    const [item] = content.rows;
    return span === null ? [] : [{ ...span, data_source: item === undefined ? provenance : provenanceOf(item) }];
  });
  if (added.length + collected.length === 0) return [];
  const paths = (manifest?.files ?? []).filter(({ table }) => table === collectedReports.name).map(({ path }) => path);
  const before = await readRows<CollectedReports>(
    root.engine,
    collectedReports,
    paths.map((path) => join(root.path, path)),
  );
  const rows = collectedRows(before, [...added, ...collected], root.storm_day_start_hour);
  if (rows.length === 0) return [];
  const source = combineProvenances(rows.map(({ data_source }) => data_source)) ?? provenance;
  return [{ segment: COLLECTED_TIMES, table: collectedReports, rows, provenance: source, state: null }];
}

/** A lost or damaged file costs the feeds of its collection, not the others: it does not pass by itself. */
async function readState({ path: data_root }: Root, path: string): Promise<Uint8Array> {
  try {
    return await fs.readFile(join(data_root, path));
  } catch (cause) {
    throw new PipelineError('collection', path, 'cannot be read, and the list of its collection names it', { cause });
  }
}

/** Observed and simulated items never share a day: simulated ones give way. */
function withoutSimulated<Item, Row extends Record<string, unknown>>(
  items: readonly KeptItem<Item>[],
  { provenanceOf, timeOf }: Collection<Item, Row>,
): KeptItem<Item>[] {
  const dayOf = ({ item }: KeptItem<Item>) => utcDate(timeOf(item));
  const observed = new Set(items.filter(({ item }) => provenanceOf(item) === 'observed').map(dayOf));
  return items.filter((kept) => provenanceOf(kept.item) === 'observed' || !observed.has(dayOf(kept)));
}

function keyOf({ key, listing }: Pick<StoredItem, 'key' | 'listing'>): string {
  return `${key} ${listing}`;
}

function hashOf(item: unknown): string {
  return sha256(JSON.stringify(item)).slice(0, 32);
}

function monthAt(time_ms: number): string {
  return utcDate(time_ms).slice(0, 'YYYY-MM'.length);
}

function addMonths(month: string, months: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 'YYYY-MM'.length);
}

function monthsWithin(time_ms: number, reach_ms: number): string[] {
  return [monthAt(time_ms - reach_ms), monthAt(time_ms), monthAt(time_ms + reach_ms)];
}

function monthsOf({ from_ms, to_ms }: Listing): string[] {
  return [...new Set([monthAt(from_ms), monthAt(to_ms)])];
}
