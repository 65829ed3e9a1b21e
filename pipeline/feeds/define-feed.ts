import type { CollectionName } from '../../schemas/collections.ts';
import type { Table } from '../../schemas/columns.ts';
import type { Provenance } from '../../schemas/provenance.ts';
import type { CollectedSpan } from '../../schemas/tables/feeds.ts';
import type { WebAddresses } from '../config.ts';
import type { RejectedItem } from '../read/rejected-item.ts';
import { Unavailable, type Web } from '../sources/http.ts';
import { inParallel } from '../sources/parallel.ts';

/** A file of a feed, as received. */
export interface FeedFile {
  /** Name that shows its format, such as `250605_rpts_hail.csv`. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Time of receipt on the data clock, epoch milliseconds. */
  readonly received_ms: number;
}

/** A list that names every item of its span: its next version replaces it, and items missing there are withdrawn. */
export interface ListVersion {
  readonly from_ms: number;
  readonly to_ms: number;
  readonly received_ms: number;
  /** Name of the list and its day. */
  readonly list: string;
}

/** Span of time for which a source is known in full, with reports or without. */
type SourceSpan = Omit<CollectedSpan, 'data_source'>;

/** Content of a file of a feed. */
export interface FeedItems<Row = unknown> {
  /** Rows of the table. */
  readonly rows: readonly Row[];
  readonly set_aside: readonly RejectedItem[];
  /** Sound items of other kinds, by kind: a file full of them is not an empty file. */
  readonly others: ReadonlyMap<string, number>;
  /** Absent for a file that only adds items. */
  readonly version?: ListVersion;
  /** Span for which the file lists every report of its source; absent for a file that only adds items. */
  readonly collected?: SourceSpan;
  /** Times of rejected reports of a source, epoch milliseconds; null for a time that cannot be read. */
  readonly rejected?: { readonly source: CollectedSpan['source']; readonly times_ms: readonly (number | null)[] };
}

/** Rows of a file, and the list that they are. */
export type ReceivedRows<Row = unknown> = Pick<FeedItems<Row>, 'rows' | 'version'>;

/** The rows of a table that feeds fill, stored by month. */
export interface Collection<Row = unknown> {
  readonly name: CollectionName;
  readonly table: Table;
  /** True when the spans for which its sources are known in full are published too. */
  readonly publishes_collected?: true;
  /** Time that decides the month of a row, epoch milliseconds. */
  timeOf(row: Row): number;
  provenanceOf(row: Row): Provenance;
  /** Rows to store, of those stored and of files received in any order, which may repeat them. */
  merge(stored: readonly Row[], files: readonly ReceivedRows<Row>[], storm_day_start_hour: number): readonly Row[];
}

/** A feed of a public server: how its files are fetched and read, and the collection of its rows. */
export interface WebFeed<Row = unknown> {
  readonly name: string;
  /** Time between two polls, seconds. */
  readonly every_s: number;
  /** Files that changed since the last poll; throws Unavailable when the feed cannot be read. */
  fetch(web: Web, addresses: WebAddresses, now_ms: number): Promise<FetchedFiles>;
  /** Span for which a poll without failures knows its source in full; absent where only the files state it. */
  collectedByPoll?(now_ms: number): SourceSpan;
  /** True for a file of this feed, by its name or content. */
  accepts(file: FeedFile): boolean;
  /** Content of a file; throws BadInput for a file that cannot be used as a whole. */
  read(file: FeedFile): FeedItems<Row>;
  readonly collection: Collection<Row>;
}

/** Declares a feed. Callers pass its rows from `read` to `collection` and do not know their type. */
export function feed<Row>(definition: WebFeed<Row>): WebFeed {
  return definition;
}

/** Of rows with one key the one received last, and of equal ones the one received first; a tie is decided by content. */
export function newestRows<Row extends object>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  received: keyof Row & string,
): Row[] {
  const newest = new Map<string, Row>();
  const timeOf = (row: Row) => Number(row[received]);
  for (const row of rows) {
    const key = keyOf(row);
    const known = newest.get(key);
    const [text, known_text] = known === undefined ? ['', ''] : [contentOf(row, received), contentOf(known, received)];
    const later_ms = known === undefined ? 0 : timeOf(row) - timeOf(known);
    const wins = text === known_text ? later_ms < 0 : later_ms > 0 || (later_ms === 0 && text > known_text);
    if (known === undefined || wins) newest.set(key, row);
  }
  return [...newest.values()];
}

/** Content of a row as text but for one column, whatever the order of its fields. */
export function contentOf(row: object, except = ''): string {
  return JSON.stringify(row, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const fields = Object.entries(value).filter(([name]) => name !== except);
    return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** A file of a feed as a server delivered it. */
export interface FetchedFile {
  /** Name that shows its format. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** True when the content of the address never changes: a file that cannot be used is not fetched again. */
  readonly is_final: boolean;
  /** Called once the file is published. */
  readonly confirm: () => void;
}

/** Files fetched by one poll of a feed. */
export interface FetchedFiles {
  readonly files: readonly FetchedFile[];
  /** Why files that the feed lists were not delivered: the next poll asks for them again. */
  readonly failures: readonly string[];
}

interface WantedPage {
  /** Name that shows the format; a function of the time of its last change for a page of another day under the same address. */
  readonly name: string | ((modified_ms: number | null) => string);
  readonly url: string;
  /** True when the feed cannot be read without this page. */
  readonly is_required: boolean;
  readonly media_type?: string;
}

const MAX_PAGE_BYTES = 32 * 1024 * 1024;
/** Pages of one server that are fetched at once. */
const AT_ONCE = 4;

/** The pages that changed. Throws Unavailable when one of them, or a required one that is missing, cannot be fetched. */
export async function fetchPages(web: Web, wanted: readonly WantedPage[]): Promise<FetchedFiles> {
  const pages = await inParallel(wanted, AT_ONCE, async ({ name, url, is_required, media_type }) => {
    const page = await web.page(url, MAX_PAGE_BYTES, media_type);
    if (page === 'missing' && is_required) throw new Unavailable(url, 'server answers 404, expected 200');
    if (page === 'missing' || page === 'unchanged') return null;
    const { bytes, modified_ms, confirm } = page;
    return { name: typeof name === 'string' ? name : name(modified_ms), bytes, is_final: false, confirm };
  });
  return { files: pages.filter((page) => page !== null), failures: [] };
}

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
