import { geohashBox } from '../../../schemas/geo/geohash.ts';
import type { LngLat } from '../data/day.ts';
import { remembered } from '../page/page.ts';
import { placeInWords } from '../page/words.ts';

type PlaceRow = readonly [name: string, state: string, lat: number, lng: number];
/** Content of `places.json`: codes by the name of the state, towns, the largest first, and counties by name. */
type Places = { readonly states: Record<string, string> } & Readonly<Record<'towns' | 'counties', readonly PlaceRow[]>>;
/** Content of `zips.json`, ascending. */
type Zips = readonly (readonly [zip: string, town: string, state: string, lat: number, lng: number])[];

/** A place that was found. */
export interface Found extends LngLat {
  readonly kind: 'town' | 'county' | 'ZIP' | 'coordinates' | 'address';
  readonly label: string;
  /** Who is to be named as the source of an address. */
  readonly source?: string | null;
}

const FOUND_MAX = 8;
/** Places of this many counties are kept free for them: a town of the name is mostly meant. */
const COUNTIES_MIN = 2;
const ZIP = /^(\d{1,5})(?:-\d{4})?$/;
/** A geohash of the contiguous states with a digit and a letter: not a ZIP code, and no name. */
const GEOHASH = /^(?=.*\d)(?=.*[a-z])[9cdf][0-9b-hjkmnp-z]{3,8}$/;

/**
 * Finds what a text may mean, likeliest first: coordinates, a geohash, ZIP codes, towns and counties. Names that begin with the
 * text come first, of these the largest town. `read` reads `places.json` and `zips.json`, each when it is needed.
 */
export function openFinder(read: <Content>(file: string) => Promise<Content>) {
  const names = new Map<string, Promise<ReturnType<typeof openNames>>>();
  const zips = new Map<string, Promise<Zips>>();
  const readNames = async (file: string) => openNames(await read(file));
  return async (text: string): Promise<Found[]> => {
    const at = readCoordinates(text);
    if (at) return [{ kind: 'coordinates', label: placeInWords(at), ...at }];
    const hash = text.trim().toLowerCase();
    if (GEOHASH.test(hash)) {
      const [west, south, east, north] = geohashBox(hash);
      const middle = { lat: (south + north) / 2, lng: (west + east) / 2 };
      return [{ kind: 'coordinates', label: `${hash} · ${placeInWords(middle)}`, ...middle }];
    }
    const digits = ZIP.exec(hash)?.[1];
    if (!digits) return (await remembered(names, 'places.json', readNames))(plainOf(text));
    return (await remembered(zips, 'zips.json', read<Zips>))
      .filter(([zip]) => zip.startsWith(digits))
      .slice(0, FOUND_MAX)
      .map(([zip, town, state, lat, lng]) => ({ kind: 'ZIP', label: `${zip} · ${town}, ${state}`, lat, lng }));
  };
}

/** Finds towns and counties by the begin of their name or of a word in it, with the state after it or without. */
function openNames({ states, towns, counties }: Places) {
  const nameOf = new Map(Object.entries(states).map(([name, code]) => [code, name]));
  const readable = (kind: Found['kind'], rows: readonly PlaceRow[]) =>
    rows.map(([name, code, lat, lng]) => {
      const spellings = [code, nameOf.get(code)].map((state) => `|${plainOf(`${name} ${state}`)}`);
      const found: Found = { kind, label: `${name}, ${code}`, lat, lng };
      return { spellings: spellings.join(''), found };
    });
  const known = [readable('town', towns), readable('county', counties)];
  return (plain: string): Found[] => {
    if (plain === '') return [];
    const [inTowns, inCounties] = known.map((rows) => {
      const having = (part: string) => rows.filter(({ spellings }) => spellings.includes(part));
      return [...new Set([...having(`|${plain}`), ...having(` ${plain}`)])].map(({ found }) => found);
    });
    const room = FOUND_MAX - Math.min(COUNTIES_MIN, inCounties.length);
    return [...inTowns.slice(0, room), ...inCounties].slice(0, FOUND_MAX);
  };
}

/** Lower case letters and digits: `St. Louis` as `saint louis`, `Doña Ana Co, NM` as `dona ana county nm`. */
function plainOf(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/['’.]/g, '')
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()
    .replace(/^st /, 'saint ')
    .replace(/^ft /, 'fort ')
    .replace(/^mt /, 'mount ')
    .replace(/ co /, ' county ');
}

const WORDS = /\b(?:geo|lat(?:itude)?|lon(?:gitude)?|lng)\b|[():]/g;
const MINUS = /[−–—]/g;
const DIRECTION = /\b([nsew])(?:orth|outh|ast|est)\b/g;

/**
 * The place of coordinates in one of their usual spellings: `35.2, -97.4`, `35°13'N 97°26'W`, `N35.2 W97.4`. Without letters
 * the latitude comes first. Null for any other text.
 */
export function readCoordinates(text: string): LngLat | null {
  const plain = text.toLowerCase().replace(WORDS, ' ').replace(MINUS, '-').replace(DIRECTION, '$1');
  const numbers = plain.split(/[\s,;°º˚'’′"”″nsew]+/).filter((part) => part !== '');
  const [letter = '', other = '', ...more] = plain.match(/[nsew]/g) ?? [];
  const isMarked = other !== '' || (letter === '' && plain.includes('°'));
  const isPair = numbers.length === 2 && letter === '';
  if (more.length > 0 || !(isPair || (isMarked && [2, 4, 6].includes(numbers.length)))) return null;
  const half = numbers.length / 2;
  const [first, second] = [degreesOf(numbers.slice(0, half), letter), degreesOf(numbers.slice(half), other)];
  const isSwapped = /[ew]/.test(letter);
  if (letter && isSwapped === /[ew]/.test(other)) return null;
  const [lat, lng] = isSwapped ? [second, first] : [first, second];
  return Math.abs(lat) <= 90 && Math.abs(lng) <= 180 ? { lat, lng } : null;
}

/** Degrees of an angle with minutes and seconds; NaN for what is none, such as a sign beside a letter, which would say it twice. */
function degreesOf(parts: readonly string[], letter: string): number {
  const [degrees, minutes = 0, seconds = 0] = parts.map((part) => Math.abs(Number(part)));
  const isNegative = parts[0].startsWith('-');
  if (minutes >= 60 || seconds >= 60 || (letter && isNegative)) return Number.NaN;
  const size = degrees + minutes / 60 + seconds / 3600;
  return isNegative || letter === 's' || letter === 'w' ? -size : size;
}
