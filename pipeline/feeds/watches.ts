import { z } from 'zod';
import { watches as table, type Watch } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../schemas/time.ts';
import { readDiscussion, readWatch, watchHeadline, watchId } from '../read/watches.ts';
import { type Page, Unavailable, type Web } from '../sources/http.ts';
import {
  type Collection,
  contentOf,
  type FetchedFile,
  type FetchedFiles,
  feed,
  hasAwipsLine,
  newestRows,
} from './define-feed.ts';

/** Aviation text of a watch, and its public text and probabilities, which are rejected. */
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

/** Texts of watches, one current row for each watch, and the newest text of each mesoscale discussion. */
const collection: Collection<Watch> = {
  name: 'watches',
  table,
  timeOf: ({ issued_at }) => issued_at,
  provenanceOf: ({ data_source }) => data_source,
  merge: (stored, files) => {
    // The current rows of watches are made again from their texts.
    const rows = [
      ...stored.filter((row) => isDiscussion(row) || !row.is_current),
      ...files.flatMap((file) => file.rows),
    ];
    const idOf = (row: Watch) => `${row.data_source} ${row.watch_id}`;
    const discussions = Map.groupBy(rows.filter(isDiscussion), idOf);
    const texts = newestRows(
      rows.filter((row) => !isDiscussion(row)),
      (row) => contentOf(row, 'received_at'),
      'received_at',
    );
    return [...[...discussions.values()].map(newestIssue), ...texts, ...joinWatches(texts)];
  },
};

/** Watches of the Storm Prediction Center, by their aviation texts. */
export const watches = feed<Watch>({
  name: 'watches',
  every_s: 120,
  fetch: (web, { nws_url }, now_ms) => fetchTexts(web, nws_url, 'SAW', now_ms),
  accepts: (file) => hasAwipsLine(file, WATCH),
  read: ({ name, bytes, received_ms }) => readWatch(bytes, name, received_ms),
  collection,
});

/** Mesoscale discussions of the Storm Prediction Center; its outlooks have the same product type. */
export const discussions = feed<Watch>({
  name: 'discussions',
  every_s: 120,
  fetch: (web, { nws_url }, now_ms) => fetchTexts(web, nws_url, 'SWO', now_ms, /^SWOMCD\s*$/m),
  accepts: (file) => hasAwipsLine(file, DISCUSSION),
  read: ({ name, bytes, received_ms }) => readDiscussion(bytes, name, received_ms),
  collection,
});

function isDiscussion({ type }: Watch): boolean {
  return type === 'mesoscale_discussion';
}

/** The row issued last; of those the one received last. */
function newestIssue(rows: readonly Watch[]): Watch {
  const issued_at = Math.max(...rows.map((row) => row.issued_at));
  return newestRows(
    rows.filter((row) => row.issued_at === issued_at),
    () => '',
    'received_at',
  )[0];
}

/** Texts of a watch are issued within hours; its cancellation within a day. */
const SAME_WATCH_MS = 2 * MS_PER_DAY;

/**
 * Current rows of watches from their texts, in any order: texts of one number within two days are one watch. A value that several
 * texts state is taken from the newest. A watch that another replaces ends when that one is issued.
 */
function joinWatches(texts: readonly Watch[]): Watch[] {
  const newest_first = texts.toSorted((a, b) => b.issued_at - a.issued_at || (contentOf(a) < contentOf(b) ? -1 : 1));
  const groups: Watch[][] = [];
  const open = new Map<string, Watch[]>();
  for (const text of newest_first) {
    const key = `${text.data_source} ${text.number}`;
    const group = open.get(key);
    if (group !== undefined && group[0].issued_at - text.issued_at <= SAME_WATCH_MS) group.push(text);
    else {
      const started = [text];
      open.set(key, started);
      groups.push(started);
    }
  }
  return groups.map((group) => watchOf(group, replacementOf(group, texts)));
}

/** The first text that replaces a watch; null without one. */
function replacementOf(group: readonly Watch[], texts: readonly Watch[]): Watch | null {
  const [newest] = group;
  const first_ms = Math.min(...group.map(({ issued_at }) => issued_at));
  const replacing = texts.filter(
    ({ replaces, data_source, issued_at }) =>
      replaces.split(' ').includes(String(newest.number)) &&
      data_source === newest.data_source &&
      issued_at >= first_ms &&
      issued_at - first_ms <= SAME_WATCH_MS,
  );
  return replacing.toSorted((a, b) => a.issued_at - b.issued_at || a.number - b.number)[0] ?? null;
}

function watchOf(group: readonly Watch[], replacement: Watch | null): Watch {
  const [newest] = group;
  const stating = <Key extends keyof Watch>(key: Key) => group.find((text) => text[key] !== null) ?? newest;
  const { geometry, west, south, east, north } = stating('geometry');
  const cancelled = group.find(({ is_cancelled }) => is_cancelled);
  const ends_ms = (cancelled ?? newest).expires_at;
  const watch = {
    ...newest,
    watch_id: watchId(newest.issued_at, newest.number),
    begins_at: stating('begins_at').begins_at,
    expires_at: Math.min(ends_ms, replacement?.issued_at ?? ends_ms),
    areas: stating('areas').areas,
    hail_size_mm: stating('hail_size_mm').hail_size_mm,
    gust_kmh: stating('gust_kmh').gust_kmh,
    is_cancelled: cancelled !== undefined,
    ...{ geometry, west, south, east, north },
    is_current: true,
  };
  return { ...watch, headline: watchHeadline(watch, replacement?.number) };
}

const TextList = z.object({ '@graph': z.array(z.unknown()) });
const TextEntry = z.object({ id: z.string().regex(/^[\w-]{1,100}$/), issuanceTime: z.iso.datetime({ offset: true }) });
const Text = z.object({ productText: z.string().max(200_000) });

/**
 * Texts of a product type that were issued within a day and whose first lines match. A text never changes under its id and is
 * fetched once; one that the server does not deliver does not hold up the others. The list is fetched again until it has no new texts.
 */
async function fetchTexts(
  web: Web,
  nws_url: string,
  type: string,
  now_ms: number,
  heading = /^/,
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
  if (files.length + failures.length === 0) list.confirm();
  return { files, failures };
}

/** A page of JSON; throws Unavailable for one of another shape. */
function parseJsonPage<Shape extends z.ZodType>(url: string, { bytes }: Page, shape: Shape): z.infer<Shape> {
  try {
    return shape.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch (cause) {
    throw cause instanceof z.ZodError ? unexpectedShape(url, cause) : new Unavailable(url, 'is not JSON', { cause });
  }
}

/** The error of a page whose JSON has another shape, with the first fault. */
function unexpectedShape(url: string, cause: z.ZodError): Unavailable {
  const [issue] = cause.issues;
  return new Unavailable(url, `${issue?.path.join('.')}: ${issue?.message.toLowerCase()}`, { cause });
}
