import type { CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import type { CollectedSpan } from '../../schemas/tables/feeds.ts';
import type { WebAddresses } from '../config.ts';
import type { ReadItems } from '../read/rejected-item.ts';
import type { Web } from '../sources/http.ts';
import type { FetchedFiles } from './web-pages.ts';

/** A file of a feed, as received. */
export interface FeedFile {
  /** Name that shows its format, such as `250605_rpts_hail.csv`. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Time of receipt on the data clock, epoch milliseconds. */
  readonly received_ms: number;
}

/** Span of time whose items a file lists in full: its next version replaces it, and items missing there are withdrawn. */
export interface Listing {
  readonly key: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Span of time for which a source is known in full, with reports or without. */
export type SourceSpan = Omit<CollectedSpan, 'data_source'>;

/** Content of a file of a feed. */
export interface FeedItems<Item = unknown> extends ReadItems<Item> {
  /** Null for a file that only adds items. */
  readonly listing: Listing | null;
  /** Span for which the file lists every report of its source; absent for a file that only adds items. */
  readonly collected?: SourceSpan;
}

/** An item and the time it was received first, epoch milliseconds. */
export interface ReceivedItem<Item = unknown> {
  readonly item: Item;
  readonly received_ms: number;
}

/** Items of one or more feeds, stored by month, and the table published from them. */
export interface Collection<Item = unknown, Row extends Record<string, unknown> = Record<string, unknown>> {
  readonly name: CollectionName;
  readonly table: Table;
  /** Version of the shape of an item; raised when stored items of the last version can no longer be read. */
  readonly item_version: number;
  /** True when the spans for which its sources are known in full are published too. */
  readonly publishes_collected?: true;
  /** Time that an item belongs to, epoch milliseconds. */
  timeOf(item: Item): number;
  provenanceOf(item: Item): Provenance;
  /** Rows of items in any order; a pure function of the items of a month and of its neighbours. */
  rows(items: readonly ReceivedItem<Item>[], storm_day_start_hour: number): readonly Row[];
  /** Time that decides the month of a row, epoch milliseconds. */
  rowTime(row: Row): number;
}

/** A feed of a public server: how its files are fetched and read, and the collection that their items go to. */
export interface WebFeed<Item = unknown, Row extends Record<string, unknown> = Record<string, unknown>> {
  readonly name: string;
  /** Time between two polls, seconds. */
  readonly every_s: number;
  /** Files that changed since the last poll; throws Unavailable when the feed cannot be read. */
  fetch(web: Web, addresses: WebAddresses, now_ms: number): Promise<FetchedFiles>;
  /** Span for which a poll without failures knows its source in full; absent where only the files state it. */
  collectedByPoll?(now_ms: number): SourceSpan;
  /** True for a file of this feed, by its name or content. */
  accepts(file: FeedFile): boolean;
  /** Items of a file; throws BadInput for a file that cannot be used as a whole. */
  read(file: FeedFile): FeedItems<Item>;
  readonly collection: Collection<Item, Row>;
}

/** Declares a feed. Callers pass its items from `read` to `collection` and do not know their type. */
export function feed<Item, Row extends Record<string, unknown>>(definition: WebFeed<Item, Row>): WebFeed {
  return definition;
}

/** Content of a file without items of other kinds that only adds items. */
export const ONLY_ADDS = { others: new Map<string, number>(), listing: null } as const;

/** The AWIPS line stands in the first lines of a text product. */
const HEAD_BYTES = 600;
const HEAD_LINES = 10;

/** True for a text product with an AWIPS line, such as `LSRFSD` or `SAW3`, that matches. */
export function hasAwipsLine({ name, bytes }: FeedFile, awips: RegExp): boolean {
  if (!/\.txt$/i.test(name)) return false;
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES)).toString('latin1');
  const lines = head.split(/\r?\n/).slice(0, HEAD_LINES);
  return lines.some((line) => awips.test(line.trim()));
}

/** True for a JSON file that has a property: public files are saved under many names. */
export function isJsonWith({ name, bytes }: FeedFile, property: string): boolean {
  if (!/\.(?:geo)?json$/i.test(name)) return false;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(`"${property}"`);
}
