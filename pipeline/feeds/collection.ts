import type { CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import type { CollectedSpan } from '../../schemas/tables/collected-reports.ts';
import type { ReadItems } from '../read/rejected-item.ts';

/** A file of a feed, as it came. */
export interface FeedFile {
  /** Name by which its kind is known, such as `250605_rpts_hail.csv`. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** When it was fetched, on the data clock, epoch milliseconds. */
  readonly received_ms: number;
}

/** A file that lists everything of a span of time: its next version takes its place, with what was withdrawn in between. */
export interface Listing {
  readonly key: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** What a file of a feed gives. */
export interface FeedItems<Item> extends ReadItems<Item> {
  /** Null for a file that only adds. */
  readonly listing: Listing | null;
}

/** An item as the collection keeps it. */
export interface KeptItem<Item> {
  readonly item: Item;
  /** When it first came, epoch milliseconds. */
  readonly received_ms: number;
}

/** What is published beside the scans: how its files are known and read, and what its rows are made of. */
export interface Collection<Item, Row extends Record<string, unknown> = Record<string, unknown>> {
  readonly name: CollectionName;
  readonly table: Table;
  /** Version of the shape of an item; raised when what was kept cannot be read any more. */
  readonly item_version: number;
  readonly accepts: (file: FeedFile) => boolean;
  /** Throws BadInput for a file that cannot be used as a whole. */
  readonly read: (file: FeedFile) => FeedItems<Item>;
  /** Instant that an item belongs to, epoch milliseconds. */
  readonly timeOf: (item: Item) => number;
  readonly provenanceOf: (item: Item) => Provenance;
  /** Rows of items, in any order; a pure function, which sees the items of a month and of its neighbours. */
  readonly rows: (items: readonly KeptItem<Item>[], storm_day_start_hour: number) => readonly Row[];
  /** Instant that decides the month of a row, epoch milliseconds. */
  readonly rowTime: (row: Row) => number;
  /**
   * Time of which a file lists everything that its source knows, whether that is anything or not; null for a file that only adds.
   * Left out where it is not published.
   */
  readonly collected?: (file: FeedFile, content: FeedItems<Item>) => Omit<CollectedSpan, 'data_source'> | null;
}

/** Declares a collection; callers treat its items as a whole and need not know their shape. */
export function collection<Item, Row extends Record<string, unknown>>(
  definition: Collection<Item, Row>,
): Collection<Item, Row> {
  return definition;
}
