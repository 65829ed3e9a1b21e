import { BadInput } from '../error.ts';

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
    throw new BadInput('read', subject, `an html or xml page, expected ${expected}`);
}

/** Throws BadInput for a file above a size. */
export function rejectLarge(bytes: Uint8Array, subject: string, max_bytes: number): void {
  if (bytes.length > max_bytes)
    throw new BadInput('read', subject, `${bytes.length} bytes, expected at most ${max_bytes}`);
}

/** Reports and messages that claim to be later than this after the clock are wrong, ms. */
export const MAX_FUTURE_MS = 10 * 60_000;
