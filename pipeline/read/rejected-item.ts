import { BadInput } from '../error.ts';

/** An item of a file that cannot be used: which one, and what was found against what was expected. */
export interface RejectedItem {
  readonly item: string;
  readonly reason: string;
}

/** What a file of many items gives: rows in file order, the items that cannot be used, and a count of those it is not asked for. */
export interface ReadItems<Row> {
  readonly rows: readonly Row[];
  readonly set_aside: readonly RejectedItem[];
  /** Sound items of other kinds, by kind: a file full of them is not an empty file. */
  readonly others: ReadonlyMap<string, number>;
}

/** Words of a broken item as they may stand in a reason: one line, at most 60 characters. */
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

/** Refuses what a server says instead of its file: an error page. `expected` names the format. */
export function refuseHtml(bytes: Uint8Array, subject: string, expected: string): void {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 512)).toString('latin1');
  if (/^(\u00ef\u00bb\u00bf)?\s*<(!doctype|html|head|body|\?xml)/i.test(start))
    throw new BadInput('read', subject, `an html or xml page, expected ${expected}`);
}

/** Refuses a file above a size. */
export function refuseLarge(bytes: Uint8Array, subject: string, max_bytes: number): void {
  if (bytes.length > max_bytes)
    throw new BadInput('read', subject, `${bytes.length} bytes, expected at most ${max_bytes}`);
}

/** Reports and messages that claim to be later than this after the clock are wrong, ms. */
export const MAX_FUTURE_MS = 10 * 60_000;
