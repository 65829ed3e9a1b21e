import { z } from 'zod';
import { watches as table, type Watch } from '../../schemas/tables/feeds.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { readDiscussion } from '../read/discussions.ts';
import { joinWatches, readWatchProduct, type WatchProduct } from '../read/watches.ts';
import { Unavailable, type Web } from '../sources/http.ts';
import { type Collection, feed, hasAwipsLine, ONLY_ADDS } from './define-feed.ts';
import { type FetchedFile, type FetchedFiles, parseJsonPage, unexpectedShape } from './web-pages.ts';

const WATCH = /^(SAW|SEL|WWP)[0-9]$/;
const DISCUSSION = /^SWOMCD$/;
/** Age of the oldest texts that are fetched: the longest watch lasts less than a day. */
const TEXT_REACH_MS = 24 * MS_PER_HOUR;
/** Texts of one list; on the busiest days the centre issues some sixty discussions. */
const MAX_TEXTS = 100;
const MAX_TEXT_BYTES = 1024 * 1024;
const MEDIA_TYPE = 'application/ld+json';
/** After this many texts of a list that the server does not deliver, the rest waits for the next poll. */
const MAX_UNDELIVERED = 3;

/** A product of a watch, or a whole discussion. */
type WatchItem = { readonly product: WatchProduct } | { readonly discussion: Watch };

/** Watches, each joined from its products, and mesoscale discussions. */
const collection: Collection<WatchItem, Watch> = {
  name: 'watches',
  table,
  item_version: 1,
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
};

/** Watch products of the Storm Prediction Center: the aviation text, the public text and the probabilities. */
export const watches = feed<WatchItem, Watch>({
  name: 'watches',
  every_s: 120,
  fetch: (web, { nws_url }, now_ms) => fetchTexts(web, nws_url, ['SAW', 'SEL', 'WWP'], now_ms),
  accepts: (file) => hasAwipsLine(file, WATCH),
  read: ({ name, bytes, received_ms }) => {
    const product = readWatchProduct(bytes, name, received_ms);
    return { ...ONLY_ADDS, rows: [{ product }], set_aside: product.set_aside };
  },
  collection,
});

/** Mesoscale discussions of the Storm Prediction Center; its outlooks have the same product type. */
export const discussions = feed<WatchItem, Watch>({
  name: 'discussions',
  every_s: 120,
  fetch: (web, { nws_url }, now_ms) => fetchTexts(web, nws_url, ['SWO'], now_ms, /^SWOMCD\s*$/m),
  accepts: (file) => hasAwipsLine(file, DISCUSSION),
  read: ({ name, bytes, received_ms }) => {
    const { row, set_aside } = readDiscussion(bytes, name, received_ms);
    return { ...ONLY_ADDS, rows: [{ discussion: row }], set_aside };
  },
  collection,
});

const TextList = z.object({ '@graph': z.array(z.unknown()) });
const TextEntry = z.object({ id: z.string().regex(/^[\w-]{1,100}$/), issuanceTime: z.iso.datetime({ offset: true }) });
const Text = z.object({ productText: z.string().max(200_000) });

/** Texts of some product types that were issued within a day and whose first lines match. */
async function fetchTexts(web: Web, nws_url: string, types: readonly string[], now_ms: number, heading = /^/) {
  const lists = await Array.fromAsync(types, (type) => fetchTextsOfType(web, nws_url, type, now_ms, heading));
  return { files: lists.flatMap(({ files }) => files), failures: lists.flatMap(({ failures }) => failures) };
}

/**
 * A text never changes under its id and is fetched once; one that the server does not deliver does not hold up the others. The
 * list is confirmed with the last of its texts, at once where it has no new ones: until then it is fetched again.
 */
async function fetchTextsOfType(
  web: Web,
  nws_url: string,
  type: string,
  now_ms: number,
  heading: RegExp,
): Promise<FetchedFiles> {
  const list_url = `${nws_url}/products?type=${type}&office=KWNS&limit=${MAX_TEXTS}`;
  const list = await web.page(list_url, MAX_TEXT_BYTES, MEDIA_TYPE);
  if (list === 'missing') throw new Unavailable(list_url, 'server answers 404, expected a list of texts');
  if (list === 'unchanged') return { files: [], failures: [] };
  const entries = parseJsonPage(list_url, list, TextList)['@graph'].map((entry) => TextEntry.safeParse(entry));
  const recent = entries
    .flatMap(({ data }) => data ?? [])
    .filter(({ issuanceTime }) => Date.parse(issuanceTime) >= now_ms - TEXT_REACH_MS)
    .slice(0, MAX_TEXTS);
  const broken = entries.flatMap(({ error }) => (error === undefined ? [] : unexpectedShape(list_url, error).message));
  const files: FetchedFile[] = [];
  const undelivered: string[] = [];
  for (const { id } of recent) {
    const url = `${nws_url}/products/${id}`;
    try {
      const page = await web.page(url, MAX_TEXT_BYTES, MEDIA_TYPE);
      if (page === 'unchanged') continue;
      if (page === 'missing') throw new Unavailable(url, 'server answers 404, expected a text that its list names');
      const { productText: text } = parseJsonPage(url, page, Text);
      if (heading.test(text.slice(0, 200)))
        files.push({ name: `${type}-${id}.txt`, bytes: Buffer.from(text), is_final: true, confirm: page.confirm });
      else page.confirm();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      undelivered.push(error.message);
      if (undelivered.length >= MAX_UNDELIVERED) break;
    }
  }
  const failures = [...broken, ...undelivered];
  if (failures.length > 0) return { files, failures };
  const last = files.pop();
  const confirm = () => {
    last?.confirm();
    list.confirm();
  };
  if (last === undefined) confirm();
  else files.push({ ...last, confirm });
  return { files, failures };
}
