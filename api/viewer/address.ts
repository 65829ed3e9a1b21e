import { addDays, scanTime } from '../../schemas/time.ts';
import type { LngLat, MapPlace } from './data/day.ts';
import { chosenDate, chosenFrame, state } from './state.ts';

/** Ids of the layers, in the order of their card. */
export const LAYER_IDS = 'hail smooth reflectivity storms warnings outlooks reports locations areas alerts'.split(' ');
/** Layers that are on while the address names none. */
export const DEFAULT_LAYERS: readonly string[] = ['hail'];

/** What an address names of the state; null where the page chooses. */
type Address = Pick<typeof state, 'date' | 'view' | 'span' | 'scan_id' | 'layers' | 'place' | 'pin'>;

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
  const layers = values.get('layers')?.split(',');
  const isRecent = view === 'recent' || (!isDate(date) && view !== 'scan' && view !== 'day');
  return {
    date: isDate(date) && !isRecent ? date : null,
    view: view === 'scan' ? 'scan' : 'day',
    span: isRecent ? 'recent' : 'date',
    scan_id: isScanId(frame) ? frame : null,
    layers: layers ? LAYER_IDS.filter((id) => layers.includes(id)) : DEFAULT_LAYERS,
    place: readPlace(values.get('map') ?? ''),
    pin: readPin(values.get('pin') ?? ''),
  };
}

/** The first value of an address that names no date and no scan, in words; null for an address without such a value. */
export function addressFault(hash: string): string | null {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const [date, frame] = ['date', 'frame'].map((name) => values.get(name)?.slice(0, REPEATED_MAX));
  if (date && !isDate(date)) return `This link names the date “${date}”, which does not exist.`;
  return frame && !isScanId(frame) ? `This link names the scan “${frame}”, which is not the name of a scan.` : null;
}

/** Hash from which `readAddress` reads the same address. */
export function writeAddress({ date, view, span, scan_id, layers, place, pin }: Address): string {
  const isRecent = span === 'recent' && view === 'day';
  const parts = [
    `view=${isRecent ? 'recent' : view}`,
    !isRecent && date && `date=${date}`,
    view === 'scan' && scan_id && `frame=${scan_id}`,
    layers.join() !== DEFAULT_LAYERS.join() && `layers=${layers.join()}`,
    pin && `pin=${pin.lat.toFixed(5)},${pin.lng.toFixed(5)}`,
    place && `map=${place.zoom.toFixed(2)}/${place.lat.toFixed(4)}/${place.lon.toFixed(4)}`,
  ];
  return `#${parts.filter(Boolean).join('&')}`;
}

/** Hash of the address that shows the state. */
export function stateAddress(): string {
  const { day, date, scan_id, view, span, layers, place, pin } = state;
  const chosen =
    day?.date === date ? { date: chosenDate(), scan_id: chosenFrame()?.scan_id ?? null } : { date, scan_id };
  return writeAddress({ ...chosen, view, span, layers, place, pin });
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
