import { watches as table, type Watch } from '../../schemas/tables/watches.ts';
import { readDiscussion } from '../read/discussions.ts';
import { joinWatches, readWatchProduct, type WatchProduct } from '../read/watches.ts';
import { collection } from './collection.ts';
import { hasAwipsLine } from './file-kind.ts';

const DISCUSSION = /^SWOMCD$/;
const WATCH = /^(SAW|SEL|WWP)[0-9]$/;

/** A product of a watch, or a whole discussion. */
type WatchItem = { readonly product: WatchProduct } | { readonly discussion: Watch };

const NO_OTHERS: ReadonlyMap<string, number> = new Map();

/** Watches, each joined from its products, and mesoscale discussions. */
export const watches = collection<WatchItem, Watch>({
  name: 'watches',
  table,
  item_version: 1,
  accepts: (file) => hasAwipsLine(file, DISCUSSION) || hasAwipsLine(file, WATCH),
  read: (file) => {
    const { name, bytes, received_ms } = file;
    if (hasAwipsLine(file, DISCUSSION)) {
      const { row, set_aside } = readDiscussion(bytes, name, received_ms);
      return { rows: [{ discussion: row }], set_aside, others: NO_OTHERS, listing: null };
    }
    const product = readWatchProduct(bytes, name, received_ms);
    return { rows: [{ product }], set_aside: product.set_aside, others: NO_OTHERS, listing: null };
  },
  timeOf: (item) => ('product' in item ? item.product.issued_ms : item.discussion.issued_at),
  provenanceOf: (item) => {
    if ('discussion' in item) return item.discussion.data_source;
    return item.product.is_simulated ? 'simulated' : 'observed';
  },
  rows: (items) => {
    const joined = joinWatches(items.flatMap(({ item }) => ('product' in item ? [item.product] : [])));
    const latest = items
      .flatMap(({ item }) => ('discussion' in item ? [item.discussion] : []))
      .toSorted((a, b) => a.issued_at - b.issued_at);
    const discussions = new Map(latest.map((row) => [`${row.data_source} ${row.watch_id}`, row]));
    return [...joined, ...discussions.values()];
  },
  rowTime: ({ issued_at }) => issued_at,
});
