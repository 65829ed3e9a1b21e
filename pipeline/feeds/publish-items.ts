import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { COLLECTED_TIMES } from '../../schemas/collections.ts';
import { layout } from '../../schemas/layout.ts';
import type { Manifest } from '../../schemas/manifest.ts';
import { combineProvenances, type Provenance } from '../../schemas/provenance.ts';
import { type CollectedReports, type CollectedSpan, collectedReports } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, utcDate } from '../../schemas/time.ts';
import { PipelineError } from '../error.ts';
import { sha256 } from '../files.ts';
import { readNewest, tablePaths } from '../publish/manifests.ts';
import type { Root } from '../publish/root.ts';
import { readRows } from '../publish/tables.ts';
import type { UndatedSegment } from '../publish/undated.ts';
import { collectedRows } from './collected-spans.ts';
import type { Collection, FeedFile, FeedItems, ReceivedItem } from './define-feed.ts';

/** Items this near to the turn of a month decide about rows of the other month: corrections, products of a watch. */
const REACH_MS = 3 * MS_PER_DAY;

/** A file and its content. */
export interface ReadFile {
  readonly file: FeedFile;
  readonly content: FeedItems;
}

export interface PublishOptions {
  readonly now_ms: number;
  /** Provenance of files and tables without items. */
  readonly provenance: Provenance;
  /** Spans for which the poll itself, not a file, knows a source of reports in full. */
  readonly collected?: readonly CollectedSpan[];
}

/** Adds the items of files to those stored, and publishes the months whose rows or items changed. Returns whether any rows did. */
export async function publishItems(
  root: Root,
  collection: Collection,
  files: readonly ReadFile[],
  options: PublishOptions,
): Promise<boolean> {
  const { now_ms, provenance } = options;
  const manifest = await readNewest(root.path, layout.collectionPartition(collection.name));
  const itemsOf = openMonths(root, collection, manifest);
  const { months, times_ms } = await mergeFiles(itemsOf, collection, files);
  if (manifest === null) months.add(monthAt(now_ms));
  const segments = await collectedSegments(root, collection, manifest, files, options);
  if (months.size + segments.length === 0) return false;
  const redrawn = new Set([...months, ...times_ms.flatMap(monthsAround)]);
  for (const month of [...redrawn].sort()) {
    const stored = await itemsOf(month);
    if (!months.has(month) && stored.size === 0) continue;
    const around = [await itemsOf(addMonths(month, -1)), stored, await itemsOf(addMonths(month, 1))];
    const stored_around = around.flatMap((one) => [...one.values()]);
    const all_rows = collection.rows(withoutSimulated(stored_around, collection), root.storm_day_start_hour);
    const rows = all_rows.filter((row) => monthAt(collection.rowTime(row)) === month);
    segments.push({
      segment: month,
      table: collection.table,
      rows,
      provenance: combineProvenances(rows.map((row) => row.data_source as Provenance)) ?? provenance,
      state: encodeItems(collection, [...stored.values()]),
    });
  }
  return (await root.publishUndated(collection.name, segments, now_ms)).changed;
}

/** Items of a month by their keys, to be changed in place. */
type MonthItems = Map<string, StoredItem>;

/** Gives the items of a month, read once. */
function openMonths(root: Root, collection: Collection, manifest: Manifest | null) {
  const states = new Map(
    (manifest?.files ?? []).filter(({ kind }) => kind === 'state').map(({ segment, path }) => [segment, path]),
  );
  const months = new Map<string, MonthItems>();
  return async (month: string): Promise<MonthItems> => {
    const known = months.get(month);
    if (known !== undefined) return known;
    const path = states.get(month);
    const items = path === undefined ? [] : decodeItems(await readState(root, path), path, collection);
    const loaded: MonthItems = new Map(items.map((stored) => [keyOf(stored), stored]));
    months.set(month, loaded);
    return loaded;
  };
}

/** A lost or damaged file fails the feeds of its collection only; no retry mends it. */
async function readState({ path: data_root }: Root, path: string): Promise<Uint8Array> {
  try {
    return await fs.readFile(join(data_root, path));
  } catch (cause) {
    throw new PipelineError('collection', path, 'cannot be read, and the list of its collection names it', { cause });
  }
}

/** Adds new items in order of receipt, and removes those that a newer version of their listing no longer has. */
async function mergeFiles(
  itemsOf: (month: string) => Promise<MonthItems>,
  { timeOf }: Collection,
  files: readonly ReadFile[],
): Promise<{ readonly months: Set<string>; readonly times_ms: readonly number[] }> {
  const months = new Set<string>();
  const times_ms: number[] = [];
  const change = (month: string, time_ms: number) => {
    months.add(month);
    times_ms.push(time_ms);
  };
  for (const { file, content } of files.toSorted((a, b) => a.file.received_ms - b.file.received_ms)) {
    const { rows, listing } = content;
    const listed = new Set<string>();
    for (const item of rows) {
      const time_ms = timeOf(item);
      const month = monthAt(time_ms);
      const hash = sha256(JSON.stringify(item)).slice(0, 32);
      const stored = { key: hash, listing: listing?.key ?? null, received_ms: file.received_ms, item };
      const items = await itemsOf(month);
      listed.add(keyOf(stored));
      if (items.has(keyOf(stored))) continue;
      items.set(keyOf(stored), stored);
      change(month, time_ms);
    }
    if (listing === null) continue;
    for (const month of new Set([monthAt(listing.from_ms), monthAt(listing.to_ms)])) {
      const items = await itemsOf(month);
      for (const [key, stored] of items) {
        if (stored.listing !== listing.key || listed.has(key)) continue;
        items.delete(key);
        change(month, timeOf(stored.item));
      }
    }
  }
  return { months, times_ms };
}

/**
 * The segment of the spans for which each source is known in full; none for a collection without spans, or when no span is added.
 */
async function collectedSegments(
  root: Root,
  { publishes_collected, provenanceOf }: Collection,
  manifest: Manifest | null,
  files: readonly ReadFile[],
  { provenance, collected = [] }: PublishOptions,
): Promise<UndatedSegment[]> {
  if (publishes_collected === undefined) return [];
  const added = files.flatMap(({ content }): CollectedSpan[] => {
    const [item] = content.rows;
    if (content.collected === undefined) return [];
    return [{ ...content.collected, data_source: item === undefined ? provenance : provenanceOf(item) }];
  });
  if (added.length + collected.length === 0) return [];
  const paths = manifest === null ? [] : tablePaths(root.path, manifest, collectedReports.name);
  const before = await readRows<CollectedReports>(root.engine, collectedReports, paths);
  const rows = collectedRows(before, [...added, ...collected], root.storm_day_start_hour);
  if (rows.length === 0) return [];
  const source = combineProvenances(rows.map(({ data_source }) => data_source)) ?? provenance;
  return [{ segment: COLLECTED_TIMES, table: collectedReports, rows, provenance: source, state: null }];
}

/** Items without the simulated ones of days that have observed ones. */
function withoutSimulated(items: readonly ReceivedItem[], { provenanceOf, timeOf }: Collection): ReceivedItem[] {
  const dayOf = ({ item }: ReceivedItem) => utcDate(timeOf(item));
  const observed = new Set(items.filter(({ item }) => provenanceOf(item) === 'observed').map(dayOf));
  return items.filter((one) => provenanceOf(one.item) === 'observed' || !observed.has(dayOf(one)));
}

/** An item as stored between two runs. */
const StoredItem = z.object({
  /** Hash of the item: many files have the same one. */
  key: z.string(),
  /** Listing of the item; null for one that stays until it is replaced. */
  listing: z.string().nullable(),
  received_ms: z.number(),
  item: z.unknown(),
});
type StoredItem = z.infer<typeof StoredItem>;

const State = z.object({ collection: z.string(), item_version: z.int(), items: z.array(StoredItem) });

/** Items of a month as bytes, the same for the same items in any order. */
function encodeItems({ name, item_version }: Collection, items: readonly StoredItem[]): Uint8Array {
  const sorted = items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return gzipSync(JSON.stringify({ collection: name, item_version, items: sorted }));
}

/** Items of a month; throws PipelineError for damaged bytes, another collection or another version of its items. */
export function decodeItems(
  bytes: Uint8Array,
  subject: string,
  { name, item_version }: { readonly name: string; readonly item_version: number },
): readonly StoredItem[] {
  const state = parseState(bytes, subject);
  if (state.collection === name && state.item_version === item_version) return state.items;
  const found = `holds version ${state.item_version} of ${state.collection}`;
  throw new PipelineError('collection', subject, `${found}, expected version ${item_version} of ${name}`);
}

function parseState(bytes: Uint8Array, subject: string): z.infer<typeof State> {
  try {
    return State.parse(JSON.parse(gunzipSync(bytes).toString('utf8')));
  } catch (cause) {
    throw new PipelineError('collection', subject, 'is damaged, expected the items of a month', { cause });
  }
}

function keyOf({ key, listing }: Pick<StoredItem, 'key' | 'listing'>): string {
  return `${key} ${listing}`;
}

function monthAt(time_ms: number): string {
  return utcDate(time_ms).slice(0, 'YYYY-MM'.length);
}

function addMonths(month: string, months: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 'YYYY-MM'.length);
}

/** Months whose rows an item of a time may change. */
function monthsAround(time_ms: number): string[] {
  return [monthAt(time_ms - REACH_MS), monthAt(time_ms), monthAt(time_ms + REACH_MS)];
}
