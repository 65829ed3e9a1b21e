import { z } from 'zod';
import type { CollectionName } from '../../schemas/collections.ts';
import type { CollectedSpan } from '../../schemas/tables/collected-reports.ts';
import { addDays, MS_PER_HOUR, timestamp, utcDate } from '../../schemas/time.ts';
import type { WebAddresses } from '../config.ts';
import { inParallel } from '../sources/parallel.ts';
import { Unavailable } from '../sources/retry.ts';
import type { Web } from './web.ts';

const MIB = 1024 * 1024;
/** Local storm reports come hours after the hail, and their corrections days after: this far back is looked each time. */
const LSR_REACH_MS = 24 * MS_PER_HOUR;
/** Texts of watches and discussions that are looked for: the longest watch lasts less than a day. */
const TEXT_REACH_MS = 24 * MS_PER_HOUR;
/** Texts of one list; on the busiest days the centre issues some sixty discussions. */
const MAX_TEXTS = 100;
/** Pages of one server that are fetched at once. */
const AT_ONCE = 4;

/** A file of a feed, under the name by which its kind is known. */
export interface FetchedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** What the address gives never changes: when it cannot be used, fetching it again is of no use. */
  readonly is_final: boolean;
  /** Called once what the file says is published. */
  readonly confirm: () => void;
}

/** What a look at a feed brought. */
export interface Fetched {
  readonly files: readonly FetchedFile[];
  /** What the feed names and does not deliver, each with its reason: the next look asks for it again. */
  readonly failures: readonly string[];
}

/** A feed of the web. */
export interface WebFeed {
  readonly name: string;
  readonly collection: CollectionName;
  /** Time between two looks, seconds. */
  readonly every_s: number;
  /** Of which times a look that nothing failed in has collected the reports; left out where the files alone say so. */
  readonly collects?: (now_ms: number) => Omit<CollectedSpan, 'data_source'>;
  /** What is new since the last look; throws Unavailable when the feed cannot be read. */
  readonly poll: (web: Web, addresses: WebAddresses, now_ms: number) => Promise<Fetched>;
}

/** Every feed of reports, warnings, watches and outlooks. */
export const WEB_FEEDS: readonly WebFeed[] = [
  {
    ...{ name: 'spc-reports', collection: 'reports', every_s: 120, poll: pollSpcReports },
    collects: (now_ms) => ({ source: 'spc', from_ms: null, until_ms: now_ms }),
  },
  {
    ...{ name: 'lsr', collection: 'reports', every_s: 120, poll: pollLsr },
    collects: (now_ms) => ({ source: 'lsr', from_ms: now_ms - LSR_REACH_MS, until_ms: now_ms }),
  },
  { name: 'warnings', collection: 'warnings', every_s: 120, poll: pollAlerts },
  { name: 'watches', collection: 'watches', every_s: 120, poll: (...at) => pollTexts(['SAW', 'SEL', 'WWP'], ...at) },
  { name: 'discussions', collection: 'watches', every_s: 120, poll: (...at) => pollTexts(['SWO'], ...at) },
  { name: 'spc-outlooks', collection: 'outlooks', every_s: 3600, poll: pollOutlooks },
];

/**
 * The list of the running convective day, and that of the day before, which goes on changing. The first is known by the day on
 * which it was changed last: after 12 UTC that of the day before lies there still, until the new day's is written.
 */
async function pollSpcReports(web: Web, { spc_url }: WebAddresses, now_ms: number): Promise<Fetched> {
  const running = (modified_ms: number | null) => spcListOf(convectiveDay(Math.min(modified_ms ?? now_ms, now_ms)));
  const dated = spcListOf(addDays(convectiveDay(now_ms), -1));
  const folder = `${spc_url}/climo/reports`;
  return fetchAll(web, [
    { name: running, url: `${folder}/today_filtered_hail.csv`, is_needed: true },
    { name: dated, url: `${folder}/${dated}`, is_needed: false },
  ]);
}

/** Date of the convective day, 12 to 12 UTC, of an instant. */
function convectiveDay(time_ms: number): string {
  return utcDate(time_ms - 12 * MS_PER_HOUR);
}

function spcListOf(date: string): string {
  return `${date.slice(2).replaceAll('-', '')}_rpts_filtered_hail.csv`;
}

async function pollLsr(web: Web, { lsr_url }: WebAddresses, now_ms: number): Promise<Fetched> {
  const query = new URLSearchParams({ sts: minuteOf(now_ms - LSR_REACH_MS), ets: minuteOf(now_ms + MS_PER_HOUR) });
  const url = `${lsr_url}/geojson/lsr.geojson?${query}`;
  return fetchAll(web, [{ name: 'lsr_recent.geojson', url, is_needed: true }]);
}

async function pollAlerts(web: Web, { nws_url }: WebAddresses): Promise<Fetched> {
  const query = new URLSearchParams({ status: 'actual', event: 'Severe Thunderstorm Warning,Tornado Warning' });
  const url = `${nws_url}/alerts/active?${query}`;
  return fetchAll(web, [{ name: 'alerts.json', url, is_needed: true, accept: 'application/geo+json' }]);
}

const Products = z.object({ '@graph': z.array(z.unknown()) });
const Listed = z.object({ id: z.string().regex(/^[\w-]{1,100}$/), issuanceTime: z.iso.datetime({ offset: true }) });
const Product = z.object({ productText: z.string().max(200_000) });
/** Texts that the server may fail to deliver before the rest of their list waits for the next look. */
const MAX_FAILED_TEXTS = 3;

/**
 * Texts issued within a day, of which each is fetched once: a text never changes under its id. One that the server does not
 * deliver costs itself only.
 */
async function pollTexts(
  types: readonly string[],
  web: Web,
  { nws_url }: WebAddresses,
  now_ms: number,
): Promise<Fetched> {
  const found: FetchedFile[] = [];
  const failures: string[] = [];
  for (const type of types) {
    const list = `${nws_url}/products?type=${type}&office=KWNS&limit=${MAX_TEXTS}`;
    const page = await web.page(list, { max_bytes: MIB, accept: 'application/ld+json' });
    if (page === 'missing') throw new Unavailable(list, 'server answers 404, expected a list of texts');
    if (page === 'unchanged') continue;
    const texts: FetchedFile[] = [];
    const failed: string[] = [];
    const { recent, failures: broken } = listedTexts(list, page.bytes, now_ms);
    for (const { id } of recent) {
      const text = await textOf(web, `${nws_url}/products/${id}`);
      if (text === 'unchanged') continue;
      if ('failure' in text) failed.push(text.failure);
      // One type may hold texts of several kinds: outlooks come with the discussions.
      else if (type === 'SWO' && !/^SWOMCD\s*$/m.test(text.product.slice(0, 200))) text.confirm();
      else
        texts.push({
          name: `${type}-${id}.txt`,
          bytes: Buffer.from(text.product),
          is_final: true,
          confirm: text.confirm,
        });
      if (failed.length >= MAX_FAILED_TEXTS) break;
    }
    // The list is that of the last look only once all of its texts are safe; without texts it is so now.
    const last = texts.at(-1);
    const is_whole = broken.length + failed.length === 0;
    if (is_whole && last === undefined) page.confirm();
    if (is_whole && last !== undefined)
      texts[texts.length - 1] = { ...last, confirm: both(last.confirm, page.confirm) };
    found.push(...texts);
    failures.push(...broken, ...failed);
  }
  return { files: found, failures };
}

/** Entries of a list of texts from within a day, and why others cannot be read. */
function listedTexts(list: string, bytes: Uint8Array, now_ms: number) {
  const entries = parsed(list, bytes, Products)['@graph'].map((entry) => Listed.safeParse(entry));
  const recent = entries
    .flatMap(({ data }) => data ?? [])
    .filter(({ issuanceTime }) => Date.parse(issuanceTime) >= now_ms - TEXT_REACH_MS)
    .slice(0, MAX_TEXTS);
  const failures = entries.flatMap(({ error }) => (error === undefined ? [] : issueOf(list, error).message));
  return { recent, failures };
}

type Text = { readonly product: string; readonly confirm: () => void } | { readonly failure: string };

/** A text, or why the server did not deliver it. */
async function textOf(web: Web, url: string): Promise<Text | 'unchanged'> {
  try {
    const page = await web.page(url, { max_bytes: MIB, accept: 'application/ld+json' });
    if (page === 'unchanged') return page;
    if (page === 'missing') throw new Unavailable(url, 'server answers 404, expected a text that its list names');
    return { product: parsed(url, page.bytes, Product).productText, confirm: page.confirm };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return { failure: error.message };
  }
}

function both(first: () => void, second: () => void): () => void {
  return () => {
    first();
    second();
  };
}

/** Layers of days 1 to 8; those of significant severity are there while there is any, and changed their name in 2026. */
async function pollOutlooks(web: Web, { spc_url }: WebAddresses): Promise<Fetched> {
  const hazards = ['torn', 'hail', 'wind'];
  const significant = hazards.flatMap((hazard) => [`sig${hazard}`, `cig${hazard}`]);
  const layer = (folder: string, name: string, is_needed: boolean) => ({
    name: `${name}.nolyr.geojson`,
    url: `${spc_url}/products/${folder}/${name}.nolyr.geojson`,
    is_needed,
  });
  return fetchAll(web, [
    ...[1, 2].flatMap((day) => [
      layer('outlook', `day${day}otlk_cat`, true),
      ...hazards.map((hazard) => layer('outlook', `day${day}otlk_${hazard}`, true)),
      ...significant.map((word) => layer('outlook', `day${day}otlk_${word}`, false)),
    ]),
    layer('outlook', 'day3otlk_cat', true),
    layer('outlook', 'day3otlk_prob', true),
    ...['sigprob', 'cigprob', ...hazards].map((word) => layer('outlook', `day3otlk_${word}`, false)),
    ...[4, 5, 6, 7, 8].map((day) => layer('exper/day4-8', `day${day}prob`, true)),
  ]);
}

interface Wanted {
  /** Name by which its kind is known; of a page that is another from day to day, by when it was changed last. */
  readonly name: string | ((modified_ms: number | null) => string);
  readonly url: string;
  /** The feed is not read when the server has no such page. */
  readonly is_needed: boolean;
  readonly accept?: string;
}

/** Pages that changed. */
async function fetchAll(web: Web, wanted: readonly Wanted[]): Promise<Fetched> {
  const pages = await inParallel(wanted, AT_ONCE, async ({ name, url, is_needed, accept }) => {
    const page = await web.page(url, { max_bytes: 32 * MIB, ...(accept === undefined ? {} : { accept }) });
    if (page === 'missing' && is_needed) throw new Unavailable(url, 'server answers 404, expected 200');
    if (page === 'missing' || page === 'unchanged') return null;
    const { bytes, modified_ms, confirm } = page;
    return { name: typeof name === 'string' ? name : name(modified_ms), bytes, is_final: false, confirm };
  });
  return { files: pages.filter((page) => page !== null), failures: [] };
}

function parsed<Shape extends z.ZodType>(url: string, bytes: Uint8Array, shape: Shape): z.infer<Shape> {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (cause) {
    throw new Unavailable(url, 'is not JSON', { cause });
  }
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  throw issueOf(url, result.error);
}

/** The first fault of what a page holds. */
function issueOf(url: string, cause: z.ZodError): Unavailable {
  const [issue] = cause.issues;
  return new Unavailable(url, `${issue?.path.join('.')}: ${issue?.message.toLowerCase()}`, { cause });
}

/** `2026-05-01T20:12Z`. */
function minuteOf(time_ms: number): string {
  return `${timestamp(time_ms).slice(0, 'YYYY-MM-DDTHH:MM'.length)}Z`;
}
