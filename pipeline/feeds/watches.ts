import { z } from 'zod';
import { watches as table, type Watch } from '../../schemas/tables/watches.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { readDiscussion } from '../read/discussions.ts';
import { joinWatches, readWatchProduct, type WatchProduct } from '../read/watches.ts';
import { Unavailable } from '../sources/retry.ts';
import { type Collection, feed, hasAwipsLine, ONLY_ADDS } from './define-feed.ts';
import { type FetchedFile, type FetchedFiles, type Page, parseJsonPage, unexpectedShape, type Web } from './web.ts';

const WATCH = /^(SAW|SEL|WWP)[0-9]$/;
const DISCUSSION = /^SWOMCD$/;
/** Age of the oldest texts that are fetched: the longest watch lasts less than a day. */
const TEXT_REACH_MS = 24 * MS_PER_HOUR;
/** Texts of one list; on the busiest days the centre issues some sixty discussions. */
const MAX_TEXTS = 100;
const MAX_TEXT_BYTES = 1024 * 1024;
/** After this many texts of a list that the server does not deliver, the rest waits for the next poll. */
const MAX_FAILED_TEXTS = 3;

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

/**
 * Texts of some product types that were issued within a day and whose first lines match. A text never changes under its id and
 * is fetched once; one that the server does not deliver does not hold up the others.
 */
async function fetchTexts(
  web: Web,
  nws_url: string,
  types: readonly string[],
  now_ms: number,
  heading: RegExp = /^/,
): Promise<FetchedFiles> {
  const files: FetchedFile[] = [];
  const failures: string[] = [];
  for (const type of types) {
    const list_url = `${nws_url}/products?type=${type}&office=KWNS&limit=${MAX_TEXTS}`;
    const list = await web.page(list_url, { max_bytes: MAX_TEXT_BYTES, accept: 'application/ld+json' });
    if (list === 'missing') throw new Unavailable(list_url, 'server answers 404, expected a list of texts');
    if (list === 'unchanged') continue;
    const texts: FetchedFile[] = [];
    const { recent, failures: failed } = parseTextList(list_url, list, now_ms);
    let undelivered = 0;
    for (const { id } of recent) {
      const text = await fetchText(web, `${nws_url}/products/${id}`);
      if (text === 'unchanged') continue;
      if ('failure' in text) {
        failed.push(text.failure);
        undelivered += 1;
        if (undelivered >= MAX_FAILED_TEXTS) break;
      } else if (heading.test(text.product.slice(0, 200)))
        texts.push({
          name: `${type}-${id}.txt`,
          bytes: Buffer.from(text.product),
          is_final: true,
          confirm: text.confirm,
        });
      else text.confirm();
    }
    // The list is confirmed with the last of its texts, at once where it has no new ones: until then it is fetched again.
    const confirmList = failed.length === 0 ? list.confirm : () => {};
    const last = texts.pop();
    if (last === undefined) confirmList();
    else
      texts.push({
        ...last,
        confirm: () => {
          last.confirm();
          confirmList();
        },
      });
    files.push(...texts);
    failures.push(...failed);
  }
  return { files, failures };
}

/** Entries of a list of texts from within a day, and why others cannot be read. */
function parseTextList(url: string, list: Page, now_ms: number) {
  const entries = parseJsonPage(url, list, TextList)['@graph'].map((entry) => TextEntry.safeParse(entry));
  const recent = entries
    .flatMap(({ data }) => data ?? [])
    .filter(({ issuanceTime }) => Date.parse(issuanceTime) >= now_ms - TEXT_REACH_MS)
    .slice(0, MAX_TEXTS);
  const failures = entries.flatMap(({ error }) => (error === undefined ? [] : unexpectedShape(url, error).message));
  return { recent, failures };
}

/** A text, or why the server does not deliver it. */
async function fetchText(
  web: Web,
  url: string,
): Promise<{ readonly product: string; readonly confirm: () => void } | { readonly failure: string } | 'unchanged'> {
  try {
    const page = await web.page(url, { max_bytes: MAX_TEXT_BYTES, accept: 'application/ld+json' });
    if (page === 'unchanged') return page;
    if (page === 'missing') throw new Unavailable(url, 'server answers 404, expected a text that its list names');
    return { product: parseJsonPage(url, page, Text).productText, confirm: page.confirm };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return { failure: error.message };
  }
}
