import type { Feature, Geometry, Point, Polygon, Position } from 'geojson';
import type { Map as MapLibre } from 'maplibre-gl';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import type { View } from '../data/day.ts';
import type { Service } from '../data/service.ts';

/** What the map shows at present, as far as layers depend on it. */
export interface Shown {
  readonly view: View;
  /** Storm date; null while nothing is shown. */
  readonly date: string | null;
  /** Date of the first scan of the list: in the last 24 hours it may be the date before. */
  readonly first_date: string | null;
  /** The last 24 hours are open. */
  readonly is_recent: boolean;
  /** First and last instant that is shown, epoch milliseconds: of a scan both are its time. Null without scans. */
  readonly span: readonly [from_ms: number, to_ms: number] | null;
  /** The newest scan of the service is among what is shown. */
  readonly is_newest: boolean;
  /** The service's clock; null while it is not known. */
  readonly now_ms: number | null;
  readonly middle: { readonly lat: number; readonly lon: number };
  /** Feeds of which nothing was ever collected. */
  readonly never_collected: ReadonlySet<string>;
}

/** What was shown when a layer was read. */
export type Asked = Pick<Shown, 'date' | 'first_date' | 'middle'>;

/** Content of a layer as it came from the service. */
export interface Reading {
  readonly features: readonly Feature[];
  /** What the reader should know of it: how much there is, up to when it is known. */
  readonly note: string | null;
  /** Why the service has nothing of this kind; null where it has. */
  readonly absent?: string | null;
}

/** Facts about one item of a layer, for the card of a place. */
export interface Facts {
  readonly title: string;
  readonly color: string;
  readonly lines: readonly string[];
}

/** Calls that a layer may make; a refusal is thrown as a `ServiceError`. */
export type Calls = Pick<Service, 'call' | 'file'>;

// biome-ignore lint/suspicious/noExplicitAny: attributes of any type
type Attributes = Readonly<Record<string, any>>;

interface AnyLayer {
  readonly id: string;
  readonly label: string;
  /** Kinds of marks, for the key in the card. */
  readonly key: readonly { readonly color: string; readonly words: string }[];
  /** Why the layer is not available for the date and view on the page; null where it is. */
  unavailable(shown: Shown): string | null;
  /** Summary of the marks on the map, before the note of the reading. */
  inWords(visible: readonly Feature[], shown: Shown, reading: Reading): string;
}

/** Layer whose content is read from the service. */
export interface ReadLayer extends AnyLayer {
  readonly kind: 'read';
  /** Scope of the key that its calls need. */
  readonly scope: string;
  /** Price in words: `8 credits`. */
  readonly price: string;
  /** Read only when the reader presses the button: it is dear. */
  readonly only_on_request?: true;
  /** For how long a reading need not be repeated, milliseconds. */
  readonly fresh_ms: number;
  /** True when a reading that was made for `asked` serves what is shown; else the card offers to read again. */
  serves(asked: Asked, shown: Shown): boolean;
  read(service: Calls, shown: Shown): Promise<Reading>;
  /** Features of a reading that belong to what is shown. */
  visible(reading: Reading, shown: Shown): readonly Feature[];
}

/** Layer that follows from what the map has already: nothing is read for it. */
export interface FreeLayer extends AnyLayer {
  readonly kind: 'free';
  features(map: MapLibre): readonly Feature[];
}

export type MapLayer = ReadLayer | FreeLayer;

export const feature = (geometry: Geometry, properties: Attributes): Feature => ({
  type: 'Feature',
  geometry,
  properties,
});

export const point = (at: Position): Point => ({ type: 'Point', coordinates: at });
/** The area within a closed ring. */
export const area = (ring: Position[]): Polygon => ({ type: 'Polygon', coordinates: [ring] });

/** Lines, some of which hold. */
export type Said = readonly (string | false | null | undefined)[];
/** Lines that hold, and no others. */
export const lines = (...given: Said): string[] =>
  given.filter((line) => typeof line === 'string' && line !== '') as string[];

/** A feature with what a click on it says, and further attributes for its marks. */
export const item = (geometry: Geometry, color: string, title: string, said: Said, more: Attributes = {}): Feature =>
  feature(geometry, { color, title, said: lines(...said).join('\n'), ...more });

/** What a click on an item says; null for a mark that belongs to one. */
export const factsOf = ({ color, title, said }: Attributes): Facts | null =>
  title === undefined ? null : { color, title, lines: said.split('\n') };

/** Place at a distance and direction (0 = north, clockwise) from another. */
export function placeAway([lon, lat]: Position, km: number, direction_deg: number): Position {
  const end = destination({ lat, lon }, direction_deg, km);
  return [end.lon, end.lat];
}

const RING_POINTS = 64;

/** Circle around a place as a closed ring. */
export function circle(centre: Position, radius_km: number): Position[] {
  const ring = Array.from({ length: RING_POINTS }, (_, i) => placeAway(centre, radius_km, (-360 * i) / RING_POINTS));
  return [...ring, ring[0]];
}

/** True where a reading has all dates that are shown. */
export function hasDates(asked: Asked, shown: Shown): boolean {
  if (asked.date === null || asked.first_date === null || shown.date === null || shown.first_date === null)
    return false;
  return asked.first_date <= shown.first_date && shown.date <= asked.date;
}

/** True for an item that was in force at some instant that is shown. */
export function isInForce({ properties }: Feature, { span }: Shown): boolean {
  if (span === null) return false;
  const [from_ms, to_ms] = span;
  return Date.parse(properties?.from) <= to_ms && Date.parse(properties?.until) > from_ms;
}

/** Share of the radius by which the middle of the map may move before a reading around it no longer serves. */
const MOVED_SHARE = 0.5;

/** True while the middle of the map is near that of a reading of this radius: a small move causes no call. */
export function isNear(asked: Asked, { middle }: Shown, radius_km: number): boolean {
  return distanceKm(asked.middle, middle) < radius_km * MOVED_SHARE;
}
