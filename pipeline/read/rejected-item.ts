import { z } from 'zod';
import { BadInput } from '../error.ts';
import { type JsonBounds, parseJson } from '../json.ts';

/** An item of a file that cannot be used, and the reason: value found and value expected. */
export interface RejectedItem {
  readonly item: string;
  readonly reason: string;
}

/** Content of a file of many items: rows in file order, items that cannot be used, and counts of items of other kinds. */
export interface ReadItems<Row> {
  readonly rows: readonly Row[];
  readonly set_aside: readonly RejectedItem[];
  /** Sound items of other kinds, by kind: a file full of them is not an empty file. */
  readonly others: ReadonlyMap<string, number>;
}

/** How the items of a file are read. */
interface ItemReader<Item, Row> {
  /** Name of an item in the list of rejected ones. */
  readonly name: (item: Item, index: number) => string;
  /** Word under which an item of another kind is counted; null for an item to read. */
  readonly otherKind?: (item: Item) => string | null;
  /** Row of an item, or the reason why it cannot be used. */
  readonly read: (item: Item) => Row | string;
}

/** Reads the items of a file one by one: each gives a row, a rejected item or a count. */
export function readItems<Item, Row extends object>(
  items: readonly Item[],
  { name, otherKind = () => null, read }: ItemReader<Item, Row>,
): ReadItems<Row> {
  const rows: Row[] = [];
  const set_aside: RejectedItem[] = [];
  const others = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const other = otherKind(item);
    const row = other === null ? read(item) : null;
    if (other !== null) countWord(others, other);
    else if (typeof row === 'string') set_aside.push({ item: name(item, index), reason: row });
    else if (row !== null) rows.push(row);
  }
  return { rows, set_aside, others };
}

const Collection = z.object({ type: z.literal('FeatureCollection'), features: z.array(z.unknown()) });

/** Unchecked features of a GeoJSON file. `expected` names the format; throws BadInput for any other content. */
export function readFeatures(
  bytes: Uint8Array,
  subject: string,
  expected: string,
  bounds: JsonBounds,
  max_features = Number.POSITIVE_INFINITY,
): unknown[] {
  rejectHtml(bytes, subject, expected);
  const collection = Collection.safeParse(parseJson(bytes, subject, bounds));
  if (!collection.success || collection.data.features.length > max_features)
    throw badFile(subject, `not a feature collection, expected ${expected}`, collection.error);
  return collection.data.features;
}

/** First fault that a schema finds, in lower case after its path; `item` stands for an empty path. */
export function firstFault({ issues: [issue] }: z.ZodError, item: string): string {
  return `${issue?.path.join('.') || item}: ${issue?.message.toLowerCase()}`;
}

/** Error of a file whose content cannot be used. */
export function badFile(subject: string, reason: string, cause?: unknown): BadInput {
  return new BadInput('read', subject, reason, cause === undefined ? undefined : { cause });
}

/** Text of a broken item for use in a reason: one line, at most 60 characters. */
export function quoted(value: unknown): string {
  const text = (typeof value === 'string' ? value.slice(0, 200) : String(JSON.stringify(value)?.slice(0, 200)))
    .replaceAll(/\s+/g, ' ')
    .trim();
  return `'${text.length > 60 ? `${text.slice(0, 60)}…` : text}'`;
}

/** Adds one to the count of a word. */
export function countWord(counts: Map<string, number>, word: string): void {
  counts.set(word, (counts.get(word) ?? 0) + 1);
}

/** Throws BadInput for an error page of a server instead of a file. `expected` names the format. */
export function rejectHtml(bytes: Uint8Array, subject: string, expected: string): void {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 512)).toString('latin1');
  if (/^(\u00ef\u00bb\u00bf)?\s*<(!doctype|html|head|body|\?xml)/i.test(start))
    throw badFile(subject, `an html or xml page, expected ${expected}`);
}

/** Throws BadInput for a file above a size. */
export function rejectLarge(bytes: Uint8Array, subject: string, max_bytes: number): void {
  if (bytes.length > max_bytes) throw badFile(subject, `${bytes.length} bytes, expected at most ${max_bytes}`);
}

/** Reports and messages that claim to be later than this after the clock are wrong, ms. */
export const MAX_FUTURE_MS = 10 * 60_000;
