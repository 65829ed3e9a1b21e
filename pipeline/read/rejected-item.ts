import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { MM_PER_INCH } from '../../schemas/units.ts';
import { BadInput } from '../error.ts';
import { parseJson } from '../json.ts';

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

/** What an item gives: a row and the faults of its polygon, a count of another kind, or the reason why it cannot be used. */
export type ReadItem<Row> = { row: Row; polygon_faults?: readonly string[] } | { other: string } | string;

/** Reads the items of a file one by one. */
export function readItems<Item, Row>(
  items: readonly Item[],
  read: (item: Item) => ReadItem<Row>,
  nameOf: (item: Item, index: number) => string = (_, index) => `feature ${index + 1}`,
): ReadItems<Row> {
  const rows: Row[] = [];
  const set_aside: RejectedItem[] = [];
  const others = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const name = nameOf(item, index);
    const found = read(item);
    if (typeof found === 'string') set_aside.push({ item: name, reason: found });
    else if ('other' in found) others.set(found.other, (others.get(found.other) ?? 0) + 1);
    else {
      rows.push(found.row);
      for (const reason of found.polygon_faults ?? []) set_aside.push({ item: `${name} polygon`, reason });
    }
  }
  return { rows, set_aside, others };
}

const Collection = z.object({ type: z.literal('FeatureCollection'), features: z.array(z.unknown()) });

/** Unchecked features of a GeoJSON file. `expected` names the format; throws BadInput for any other content. */
export function readFeatures(bytes: Uint8Array, subject: string, expected: string): unknown[] {
  rejectHtml(bytes, subject, expected);
  const collection = Collection.safeParse(parseJson(bytes, subject));
  if (!collection.success) throw badFile(subject, `not a feature collection, expected ${expected}`, collection.error);
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

/** Throws BadInput for an error page of a server instead of a file. `expected` names the format. */
export function rejectHtml(bytes: Uint8Array, subject: string, expected: string): void {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 512)).toString('latin1');
  if (/^(\u00ef\u00bb\u00bf)?\s*<(!doctype|html|head|body|\?xml)/i.test(start))
    throw badFile(subject, `an html or xml page, expected ${expected}`);
}

/** Text of a file: UTF-8, else Windows-1252, as lists and products beyond ASCII are written. Throws BadInput for an error page and for a file above a size. */
export function textOf(bytes: Uint8Array, subject: string, expected: string, max_bytes: number): string {
  if (bytes.length > max_bytes) throw badFile(subject, `${bytes.length} bytes, expected at most ${max_bytes}`);
  rejectHtml(bytes, subject, expected);
  return new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252', { ignoreBOM: true }).decode(bytes);
}

/** Epoch milliseconds of a UTC time whose digits a pattern groups, from the year on; null for another text or a time that does not exist. */
export function utcTime(text: string, pattern: RegExp): number | null {
  const [, year, month, day, hour, minute, second = '00'] = pattern.exec(text) ?? [];
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  const time_ms = Date.parse(`${iso}Z`);
  return Number.isNaN(time_ms) || new Date(time_ms).toISOString().slice(0, 19) !== iso ? null : time_ms;
}

/** The largest hailstone on record measured 8 inches (Vivian, South Dakota, 2010). */
export const MAX_SIZE_INCH = 10;

/** Millimetres of inches, freed of binary noise. */
export function inchesToMm(inches: number): number {
  return thousandths(inches * MM_PER_INCH);
}

/** A value with three decimals: conversions of units leave binary noise. */
export function thousandths(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Reports and messages that claim to be later than this after the clock are wrong, ms. */
export const MAX_FUTURE_MS = 10 * 60_000;
