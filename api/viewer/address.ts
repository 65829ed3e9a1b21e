import { addDays, scanTime } from '../../schemas/time.ts';
import type { LngLat, MapPlace, Span, View } from './data/day.ts';

/** Ids of the layers, in the order of their card. */
export const LAYER_IDS = 'hail smooth reflectivity storms warnings outlooks reports locations areas alerts'.split(' ');
/** Layers that are on while the address names none. */
export const DEFAULT_LAYERS: readonly string[] = ['hail'];

/** Content of the address's hash; null where the page chooses. */
export interface Address {
  readonly date: string | null;
  readonly view: View;
  readonly span: Span;
  /** Scan id. */
  readonly frame: string | null;
  /** Ids of the layers that are on. */
  readonly layers: readonly string[];
  readonly place: MapPlace | null;
  /** The pinned place. */
  readonly pin: LngLat | null;
}

const ZOOM_MAX = 22;
/** More of a wrong value is not repeated to the reader. */
const REPEATED_MAX = 40;

/**
 * Parses the hash of an address; an invalid value counts as absent.
 *
 * `hash`: such as `#view=scan&date=2026-11-21&frame=20261121T040511Z&map=6.2/36.1/-98.5`.
 */
export function readAddress(hash: string): Address {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const date = values.get('date') ?? '';
  const frame = values.get('frame') ?? '';
  const view = values.get('view');
  const isRecent = view === 'recent' || (!isDate(date) && view !== 'scan' && view !== 'day');
  return {
    date: isDate(date) && !isRecent ? date : null,
    view: view === 'scan' ? 'scan' : 'day',
    span: isRecent ? 'recent' : 'date',
    frame: isScanId(frame) ? frame : null,
    layers: readLayers(values.get('layers')),
    place: readPlace(values.get('map') ?? ''),
    pin: readPin(values.get('pin') ?? ''),
  };
}

/** The first value of an address that names no date and no scan, in words; null for an address without such a value. */
export function addressFault(hash: string): string | null {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const date = values.get('date');
  const frame = values.get('frame');
  if (date && !isDate(date)) return `This link names the date “${clipped(date)}”, which does not exist.`;
  if (frame && !isScanId(frame))
    return `This link names the scan “${clipped(frame)}”, which is not the name of a scan.`;
  return null;
}

function clipped(text: string): string {
  return text.length > REPEATED_MAX ? `${text.slice(0, REPEATED_MAX)}…` : text;
}

/** Hash from which `readAddress` reads the same address. */
export function writeAddress({ date, view, span, frame, layers, place, pin }: Address): string {
  const isRecent = span === 'recent' && view === 'day';
  const parts = [
    `view=${isRecent ? 'recent' : view}`,
    !isRecent && date && `date=${date}`,
    view === 'scan' && frame && `frame=${frame}`,
    layers.join() !== DEFAULT_LAYERS.join() && `layers=${layers.join()}`,
    pin && `pin=${pin.lat.toFixed(5)},${pin.lng.toFixed(5)}`,
    place && `map=${place.zoom.toFixed(2)}/${place.lat.toFixed(4)}/${place.lon.toFixed(4)}`,
  ];
  return `#${parts.filter(Boolean).join('&')}`;
}

/** Ids of known layers, in the order of the card; `layers=` is none. */
function readLayers(text: string | null): readonly string[] {
  if (text === null) return DEFAULT_LAYERS;
  const asked = new Set(text.split(','));
  return LAYER_IDS.filter((id) => asked.has(id));
}

/** True for a date of the calendar. */
function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && addDays(text, 0) === text;
}

/** True for what may be the name of a scan: its time, `20261121T040511Z`. */
function isScanId(text: string): boolean {
  try {
    return scanTime(text) > 0;
  } catch {
    return false;
  }
}

const isOnMap = (lat: number, lon: number) => Math.abs(lat) <= 85 && Math.abs(lon) <= 180;

function readPlace(text: string): MapPlace | null {
  const [zoom, lat, lon] = text.split('/').map(Number.parseFloat);
  return zoom >= 0 && zoom <= ZOOM_MAX && isOnMap(lat, lon) ? { zoom, lat, lon } : null;
}

function readPin(text: string): LngLat | null {
  const [lat, lng] = text.split(',').map(Number.parseFloat);
  return isOnMap(lat, lng) ? { lat, lng } : null;
}
