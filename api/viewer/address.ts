import type { LngLat } from './coverage.ts';

/** Content of the address's hash; null where the page chooses. */
export interface Address {
  readonly date: string | null;
  readonly view: View;
  /** Scan id. */
  readonly frame: string | null;
  readonly reflectivity: boolean;
  readonly place: MapPlace | null;
  /** The pinned place. */
  readonly pin: LngLat | null;
}

/** Swaths of a whole day, or one scan. */
export type View = 'day' | 'scan';

/** Centre and zoom of the map. */
export interface MapPlace {
  readonly zoom: number;
  readonly lat: number;
  readonly lon: number;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const SCAN_ID = /^\d{8}T\d{6}Z$/;
const PLACE = /^(\d+(?:\.\d+)?)\/(-?\d+(?:\.\d+)?)\/(-?\d+(?:\.\d+)?)$/;
const PIN = /^(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?)$/;
const ZOOM_MAX = 22;

/**
 * Parses the hash of an address; an invalid value counts as absent.
 *
 * `hash`: such as `#view=scan&date=2026-11-21&frame=20261121T040511Z&map=6.2/36.1/-98.5`.
 */
export function readAddress(hash: string): Address {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const date = values.get('date') ?? '';
  const frame = values.get('frame') ?? '';
  return {
    date: isDate(date) ? date : null,
    view: values.get('view') === 'scan' ? 'scan' : 'day',
    frame: SCAN_ID.test(frame) ? frame : null,
    reflectivity: values.get('reflectivity') === 'on',
    place: readPlace(values.get('map') ?? ''),
    pin: readPin(values.get('pin') ?? ''),
  };
}

/** Hash from which `readAddress` reads the same address. */
export function writeAddress({ date, view, frame, reflectivity, place, pin }: Address): string {
  const parts = [
    `view=${view}`,
    date && `date=${date}`,
    view === 'scan' && frame && `frame=${frame}`,
    reflectivity && 'reflectivity=on',
    pin && `pin=${pin.lat.toFixed(5)},${pin.lng.toFixed(5)}`,
    place && `map=${place.zoom.toFixed(2)}/${place.lat.toFixed(4)}/${place.lon.toFixed(4)}`,
  ];
  return `#${parts.filter(Boolean).join('&')}`;
}

/** True for a date of the calendar. */
function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

function readPlace(text: string): MapPlace | null {
  const [, zoom, lat, lon] = (PLACE.exec(text) ?? []).map(Number);
  if (zoom === undefined || zoom > ZOOM_MAX || Math.abs(lat) > 85 || Math.abs(lon) > 180) return null;
  return { zoom, lat, lon };
}

function readPin(text: string): LngLat | null {
  const [, lat, lng] = (PIN.exec(text) ?? []).map(Number);
  return lat === undefined || Math.abs(lat) > 85 || Math.abs(lng) > 180 ? null : { lat, lng };
}
