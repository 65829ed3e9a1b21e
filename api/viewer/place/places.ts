import { geohashBox } from '../../../schemas/geo/geohash.ts';
import { readCoordinates } from '../map/coordinates.ts';
import { placeInWords } from '../page/words.ts';

/** `[name, state, lat, lon]` */
type PlaceRow = readonly [string, string, number, number];
/** `[zip, town, state, lat, lon]` */
type ZipRow = readonly [string, string, string, number, number];

/** Content of `places.json`. */
export interface Places {
  /** USPS codes by the name of the state. */
  readonly states: Readonly<Record<string, string>>;
  /** Largest first. */
  readonly towns: readonly PlaceRow[];
  /** By name. */
  readonly counties: readonly PlaceRow[];
}

/** Content of `zips.json`, ascending. */
export type Zips = readonly ZipRow[];

/** A place that was found. */
export interface Found {
  readonly kind: 'town' | 'county' | 'zip' | 'coordinates' | 'address';
  readonly label: string;
  readonly lat: number;
  readonly lng: number;
  /** Who is to be named as the source of an address. */
  readonly source?: string | null;
}

const FOUND_MAX = 8;
/** Places of this many counties are kept free for them: a town of the name is mostly meant. */
const COUNTIES_MIN = 2;
const ZIP = /^(\d{3,5})(?:-\d{4})?$/;
/** A geohash of the contiguous states with a digit and a letter: not a ZIP code, and no name. */
const GEOHASH = /^(?=.*\d)(?=.*[a-z])[9cdf][0-9b-hjkmnp-z]{3,8}$/;
const COUNTY_WORD = / (?:county|co|parish)$/;

/** Texts of up to five digits are looked up among the ZIP codes, which are a file of their own. */
export function isZip(text: string): boolean {
  return ZIP.test(text.trim());
}

/** Finds towns, counties, ZIP codes and coordinates. Names that begin with the text come first, of these the largest town. */
export function openFinder({ states, towns, counties }: Places, zips: Zips) {
  const named = (kind: Found['kind'], rows: readonly PlaceRow[]) =>
    rows.map(([name, state, lat, lng]) => {
      const found: Found = { kind, label: `${name}, ${state}`, lat, lng };
      return { plain: plainOf(name), state, found };
    });
  const known = [named('town', towns), named('county', counties)];
  const codes = new Map(
    Object.entries(states).flatMap(([name, code]) => [plainOf(name), code.toLowerCase()].map((text) => [text, code])),
  );

  const findNames = (text: string): Found[] => {
    const readings = readingsOf(plainOf(text), codes);
    const matching = (all: (typeof known)[number]) => {
      const fits = (isMatch: (plain: string, name: string) => boolean) =>
        all.filter(({ plain, state }) =>
          readings.some((reading) => (reading.state ?? state) === state && isMatch(plain, reading.name)),
        );
      const [first, later] = [
        fits((plain, name) => plain.startsWith(name)),
        fits((plain, name) => plain.includes(` ${name}`)),
      ];
      return [...new Set([...first, ...later])].map(({ found }) => found);
    };
    const [inTowns, inCounties] = known.map(matching);
    if (readings.some(({ name }) => COUNTY_WORD.test(name))) return [...inCounties, ...inTowns].slice(0, FOUND_MAX);
    const room = FOUND_MAX - Math.min(COUNTIES_MIN, inCounties.length);
    return [...inTowns.slice(0, room), ...inCounties].slice(0, FOUND_MAX);
  };

  return {
    /** What a text may mean, likeliest first. */
    find(text: string): Found[] {
      const at = readCoordinates(text);
      if (at) return [{ kind: 'coordinates', label: placeInWords(at), ...at }];
      const hash = text.trim().toLowerCase();
      if (GEOHASH.test(hash)) {
        const [west, south, east, north] = geohashBox(hash);
        const middle = { lat: (south + north) / 2, lng: (west + east) / 2 };
        return [{ kind: 'coordinates', label: `${hash} · ${placeInWords(middle)}`, ...middle }];
      }
      const digits = ZIP.exec(text.trim())?.[1];
      if (digits) return findZips(zips, digits);
      return plainOf(text) === '' ? [] : findNames(text);
    },
  };
}

function findZips(zips: Zips, digits: string): Found[] {
  return zips
    .filter(([zip]) => zip.startsWith(digits))
    .slice(0, FOUND_MAX)
    .map(([zip, town, state, lat, lng]) => ({ kind: 'zip', label: `${zip} · ${town}, ${state}`, lat, lng }));
}

/** Lower case letters and digits: `St. Louis` as `saint louis`, `Doña Ana` as `dona ana`. */
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
    .replace(/^mt /, 'mount ');
}

/** Readings of a text: as a name, and as a name with the state after it. */
function readingsOf(plain: string, codes: ReadonlyMap<string, string>) {
  const words = plain.split(' ');
  const name = (text: string) => text.replace(/ co$/, ' county');
  const withState = words.flatMap((_, at) => {
    const state = at === 0 ? undefined : codes.get(words.slice(at).join(' '));
    return state === undefined ? [] : [{ name: name(words.slice(0, at).join(' ')), state }];
  });
  return [{ name: name(plain), state: null }, ...withState];
}
