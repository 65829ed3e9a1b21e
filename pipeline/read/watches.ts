import type { Watch } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY } from '../../schemas/time.ts';
import { MS_PER_KNOT } from '../../schemas/units.ts';
import { type CheckedPolygon, edgesOf } from './polygon.ts';
import { badFile, MAX_FUTURE_MS, quoted, type RejectedItem } from './rejected-item.ts';
import { inchesToMm, MAX_SIZE_INCH } from './report-fields.ts';
import { issueLine, nearestDayTime, productLines, textOutline, validity, wmoHeading } from './text-product.ts';

/** Gusts above 200 kt have never been forecast. */
const MAX_GUST_KT = 200;

/**
 * One product of a watch. The public text (SEL), the aviation text (SAW) and the probabilities (WWP) of one watch each state a
 * part; null where a product states nothing. Only the aviation text has an outline.
 */
export interface WatchProduct {
  readonly product: 'SAW' | 'SEL' | 'WWP';
  readonly number: number;
  readonly type: Exclude<Watch['type'], 'mesoscale_discussion'>;
  readonly issued_ms: number;
  readonly is_cancelled: boolean;
  readonly begins_ms: number | null;
  readonly ends_ms: number | null;
  readonly areas: string | null;
  readonly hail_inch: number | null;
  readonly gust_kt: number | null;
  readonly severe_hail_probability_pct: number | null;
  readonly significant_hail_probability_pct: number | null;
  readonly is_particularly_dangerous: boolean | null;
  readonly polygon: CheckedPolygon | null;
  readonly is_simulated: boolean;
  /** Numbers of the watches that this one replaces; left out without any, and in products kept by earlier versions. */
  readonly replaces?: readonly number[];
  /** Parts of the product that cannot be used. Kept on disk under this name. */
  readonly set_aside: readonly RejectedItem[];
}

/**
 * One watch product of the Storm Prediction Center: SAW, SEL or WWP. Its times have no month and year: those nearest to
 * `received_ms` are meant. Throws BadInput for a text that is none of the three, or whose number, type or times cannot be read.
 */
export function readWatchProduct(bytes: Uint8Array, subject: string, received_ms: number): WatchProduct {
  const lines = productLines(bytes, subject);
  const bad = (reason: string) => badFile(subject, reason);
  const heading = wmoHeading(lines);
  const kind = lines
    .slice(0, 10)
    .map((line) => /^(SAW|SEL|WWP)[0-9]$/.exec(line.trim())?.[1])
    .find((word) => word !== undefined);
  if (heading === null || kind === undefined) throw bad('no heading, expected that of SAW, SEL or WWP');
  const issued_ms = nearestDayTime(heading.ddhhmm, issueLine(lines)?.issued_ms ?? received_ms);
  if (issued_ms === null) throw bad(`heading has the time ${heading.ddhhmm}, expected ddhhmm`);
  if (issued_ms > received_ms + MAX_FUTURE_MS) throw bad(`issued ${heading.ddhhmm}, which lies in the future`);
  const silent = {
    issued_ms,
    is_cancelled: false,
    begins_ms: null,
    ends_ms: null,
    areas: null,
    hail_inch: null,
    gust_kt: null,
    severe_hail_probability_pct: null,
    significant_hail_probability_pct: null,
    is_particularly_dangerous: null,
    polygon: null,
    is_simulated: heading.is_simulated,
    set_aside: [],
  } as const;
  const product = kind as WatchProduct['product'];
  const parsed = { SAW: parseSaw, SEL: parseSel, WWP: parseWwp }[product](lines, issued_ms);
  if (typeof parsed === 'string') throw bad(parsed);
  const replaces = replacedNumbers(lines.join(' '));
  return { ...silent, ...parsed, ...(replaces.length === 0 ? {} : { replaces }), product };
}

const REPLACES =
  /\breplaces\s+(?:WW|(?:(?:severe thunderstorm|tornado)\s+)?watch\s+(?:number)?)\s*(\d{1,4}(?:(?:,|\s+and)\s+(?:WW\s+)?\d{1,4})*)/gi;

/** Numbers of `REPLACES WW 152` (SAW), or of `This tornado watch replaces tornado watch number 152.` (SEL). */
function replacedNumbers(text: string): number[] {
  return [...text.matchAll(REPLACES)].flatMap(([, numbers = '']) => (numbers.match(/\d+/g) ?? []).map(Number));
}

type Parsed = Partial<WatchProduct> & Pick<WatchProduct, 'number' | 'type'>;

function typeOf(words: string): WatchProduct['type'] {
  return /^tornado/i.test(words) ? 'tornado_watch' : 'severe_thunderstorm_watch';
}

/** `WW 503 SEVERE TSTM NE SD 100335Z - 100900Z`, or `WW 575 SEVERE TSTM CANCELLED`. */
function parseSaw(lines: readonly string[], issued_ms: number): Parsed | string {
  const line = lines.find((text) => /^WW \d/.test(text)) ?? '';
  const [, number, words, rest] = /^WW (\d{1,4}) (SEVERE TSTM|TORNADO) (.{1,200})$/.exec(line) ?? [];
  if (number === undefined || words === undefined || rest === undefined)
    return `no line 'WW number type …', found ${quoted(line)}`;
  const watch = { number: Number(number), type: typeOf(words) };
  if (/^CANCELL?ED/.test(rest)) return { ...watch, is_cancelled: true, ends_ms: issued_ms };
  const [, areas, from, to] = /^(.*?) ?(\d{6})Z - (\d{6})Z/.exec(rest) ?? [];
  const times = from !== undefined && to !== undefined ? validity(from, to, issued_ms) : null;
  if (times === null) return `validity is ${quoted(rest)}, expected ddhhmmZ - ddhhmmZ`;
  const text = lines.join(' ');
  const polygon = textOutline(lines);
  return {
    ...watch,
    ...times,
    areas: areas?.trim() || null,
    hail_inch: bounded(/\bHAIL SURFACE AND ALOFT\.+\s*(\d{1,2}(?:\.\d{1,2})?) INCH/.exec(text)?.[1], MAX_SIZE_INCH),
    gust_kt: bounded(/\bWIND GUSTS\.+\s*(\d{1,3}) KNOTS/.exec(text)?.[1], MAX_GUST_KT),
    ...(typeof polygon === 'string' ? { set_aside: [{ item: 'outline', reason: polygon }] } : { polygon }),
  };
}

/** Public text: number, type, end of the validity in its zone line, largest hail and gust in the aviation paragraph. */
function parseSel(lines: readonly string[], issued_ms: number): Parsed | string {
  const title = lines.find((line) => /\bwatch number \d/i.test(line)) ?? '';
  const [, words, number] = /^\s*(severe thunderstorm|tornado) watch number (\d{1,4})\b/i.exec(title) ?? [];
  if (words === undefined || number === undefined) return `no line '… watch number …', found ${quoted(title)}`;
  const until = /-(\d{6})-\s*$/.exec(lines.find((line) => /^[A-Z]{2}[CZ]\d{3}.*-\d{6}-\s*$/.test(line)) ?? '')?.[1];
  const ends_ms = until === undefined ? null : nearestDayTime(until, issued_ms);
  if (ends_ms === null || ends_ms < issued_ms)
    return `end is ${quoted(until ?? null)}, expected ddhhmm after the issue`;
  const text = lines.join(' ');
  const aviation = text.slice(Math.max(0, text.search(/\bAVIATION\.\./i)));
  return {
    number: Number(number),
    type: typeOf(words),
    ends_ms,
    is_cancelled: /\bhas cancelled\b/i.test(text),
    hail_inch: bounded(/\bhail surface and aloft to (\d{1,2}(?:\.\d{1,2})?) inch/i.exec(aviation)?.[1], MAX_SIZE_INCH),
    gust_kt: bounded(/\bwind gusts to (\d{1,3}) knots/i.exec(aviation)?.[1], MAX_GUST_KT),
    is_particularly_dangerous: /\bparticularly dangerous situation\b/i.test(text),
  };
}

/** Probabilities and attributes: lines of `NAME : VALUE`. */
function parseWwp(lines: readonly string[]): Parsed | string {
  const title = lines.find((line) => /WATCH PROBABILITIES FOR W[ST] \d/i.test(line)) ?? '';
  const [, letter, number] = /WATCH PROBABILITIES FOR W([ST]) (\d{1,4})/i.exec(title) ?? [];
  if (letter === undefined || number === undefined)
    return `no line 'WATCH PROBABILITIES FOR …', found ${quoted(title)}`;
  const values = probabilitiesOf(lines);
  const percentOf = (name: string) => bounded(/^<?(\d{1,3})%$/.exec(values.get(name) ?? '')?.[1], 100);
  return {
    number: Number(number),
    type: letter.toUpperCase() === 'T' ? 'tornado_watch' : 'severe_thunderstorm_watch',
    hail_inch: bounded(/^\d{1,2}(?:\.\d{1,2})?$/.exec(values.get('MAX HAIL /INCHES/') ?? '')?.[0], MAX_SIZE_INCH),
    gust_kt: bounded(/^\d{1,3}$/.exec(values.get('MAX WIND GUSTS SURFACE /KNOTS/') ?? '')?.[0], MAX_GUST_KT),
    severe_hail_probability_pct: percentOf('PROB OF 10 OR MORE SEVERE HAIL EVENTS'),
    significant_hail_probability_pct: percentOf('PROB OF 1 OR MORE HAIL EVENTS >= 2 INCHES'),
    is_particularly_dangerous: yesOrNo(values.get('PARTICULARLY DANGEROUS SITUATION')),
  };
}

/** Lines of a table of names and values, by name. */
function probabilitiesOf(lines: readonly string[]): Map<string, string> {
  const pairs = lines.map((line) => line.split(':')).filter((cells) => cells.length === 2);
  return new Map(pairs.map(([name = '', value = '']) => [name.trim().toUpperCase(), value.trim()]));
}

function yesOrNo(word: string | undefined): boolean | null {
  return word === 'YES' || word === 'NO' ? word === 'YES' : null;
}

/** Number of a text; null when it is absent or above its maximum. */
function bounded(text: string | undefined, most: number): number | null {
  return text === undefined || Number(text) > most ? null : Number(text);
}

/** Products of a watch are issued within minutes; its cancellation within a day. */
const SAME_WATCH_MS = 2 * MS_PER_DAY;

/**
 * Watches from their products, in any order: products of one number within two days are one watch. A value that
 * several products state is taken from the newest. A watch that another replaces ends when that one is issued. A watch whose
 * end no product states is left out.
 */
export function joinWatches(products: readonly WatchProduct[]): Watch[] {
  const newest_first = products.toSorted((a, b) => b.issued_ms - a.issued_ms || (a.product < b.product ? -1 : 1));
  const groups: WatchProduct[][] = [];
  const open = new Map<string, WatchProduct[]>();
  for (const product of newest_first) {
    const key = `${product.is_simulated} ${product.number}`;
    const group = open.get(key);
    if (group !== undefined && group[0].issued_ms - product.issued_ms <= SAME_WATCH_MS) group.push(product);
    else {
      const started = [product];
      open.set(key, started);
      groups.push(started);
    }
  }
  return groups.map((group) => watchOf(group, replacementOf(group, products))).filter((watch) => watch !== null);
}

/** The first product that replaces a watch; null without one. */
function replacementOf(group: readonly WatchProduct[], products: readonly WatchProduct[]): WatchProduct | null {
  const [newest] = group;
  const first_ms = Math.min(...group.map(({ issued_ms }) => issued_ms));
  const replacing = products.filter(
    ({ replaces, is_simulated, issued_ms }) =>
      replaces?.includes(newest.number) &&
      is_simulated === newest.is_simulated &&
      issued_ms >= first_ms &&
      issued_ms - first_ms <= SAME_WATCH_MS,
  );
  return replacing.toSorted((a, b) => a.issued_ms - b.issued_ms)[0] ?? null;
}

function watchOf(group: readonly WatchProduct[], replacement: WatchProduct | null): Watch | null {
  const [newest] = group;
  const said = <Key extends keyof WatchProduct>(key: Key) =>
    (group.find((product) => product[key] !== null)?.[key] ?? null) as WatchProduct[Key];
  const cancelled = group.find(({ is_cancelled }) => is_cancelled);
  const ends_ms = cancelled?.issued_ms ?? said('ends_ms');
  if (ends_ms === null) return null;
  const expires_at = Math.min(ends_ms, replacement?.issued_ms ?? ends_ms);
  const fate = cancelled ? ' cancelled' : replacement === null ? '' : ` replaced by watch ${replacement.number}`;
  const hail_inch = said('hail_inch');
  const gust_kt = said('gust_kt');
  const areas = said('areas');
  const polygon = said('polygon');
  const name = newest.type === 'tornado_watch' ? 'Tornado Watch' : 'Severe Thunderstorm Watch';
  return {
    watch_id: `watch-${new Date(newest.issued_ms).getUTCFullYear()}-${String(newest.number).padStart(4, '0')}`,
    type: newest.type,
    number: newest.number,
    issued_at: newest.issued_ms,
    begins_at: said('begins_ms'),
    expires_at,
    headline: `${name} ${newest.number}${areas === null ? '' : ` ${areas}`}${fate}`,
    areas,
    watch_probability_pct: null,
    hail_size_mm: hail_inch === null ? null : inchesToMm(hail_inch),
    gust_kmh: gust_kt === null ? null : Math.round(gust_kt * MS_PER_KNOT * 3600) / 1000,
    severe_hail_probability_pct: said('severe_hail_probability_pct'),
    significant_hail_probability_pct: said('significant_hail_probability_pct'),
    is_particularly_dangerous: said('is_particularly_dangerous'),
    is_cancelled: cancelled !== undefined,
    geometry: polygon?.geometry ?? null,
    ...edgesOf(polygon),
    data_source: newest.is_simulated ? 'simulated' : 'observed',
  };
}
