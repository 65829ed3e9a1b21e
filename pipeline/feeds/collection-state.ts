import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { PipelineError } from '../error.ts';

/** An item as it is kept between two runs. */
export interface StoredItem {
  /** Hash of the item: the same item comes with many files. */
  readonly key: string;
  /** Listing that it belongs to; null for an item that stays until it is replaced. */
  readonly listing: string | null;
  readonly received_ms: number;
  readonly item: unknown;
}

const State = z.object({
  collection: z.string(),
  item_version: z.int(),
  items: z.array(
    z.object({ key: z.string(), listing: z.string().nullable(), received_ms: z.number(), item: z.unknown() }),
  ),
});

/** The items of a month as bytes: the same items give the same bytes, in whatever order they came. */
export function encodeItems(collection: string, item_version: number, items: readonly StoredItem[]): Uint8Array {
  const sorted = items.toSorted((a, b) => compare(`${a.key} ${a.listing}`, `${b.key} ${b.listing}`));
  return gzipSync(JSON.stringify({ collection, item_version, items: sorted }));
}

/** The items of a month; throws PipelineError for damaged bytes, another collection or another version of its items. */
export function decodeItems(
  bytes: Uint8Array,
  subject: string,
  collection: string,
  item_version: number,
): readonly StoredItem[] {
  const state = parsed(bytes, subject);
  if (state.collection !== collection || state.item_version !== item_version)
    throw new PipelineError(
      'collection',
      subject,
      `holds version ${state.item_version} of ${state.collection}, expected version ${item_version} of ${collection}`,
    );
  return state.items;
}

function parsed(bytes: Uint8Array, subject: string): z.infer<typeof State> {
  try {
    return State.parse(JSON.parse(gunzipSync(bytes).toString('utf8')));
  } catch (cause) {
    throw new PipelineError('collection', subject, 'is damaged, expected the items of a month', { cause });
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
