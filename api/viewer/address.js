/**
 * What an address shows; null where it leaves the choice to the page.
 * @typedef {{
 *   date: string | null,
 *   view: 'day' | 'scan',
 *   frame: string | null,
 *   reflectivity: boolean,
 *   place: { zoom: number, lat: number, lon: number } | null,
 * }} Address
 */

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const SCAN_ID = /^\d{8}T\d{6}Z$/;
const PLACE = /^(\d+(?:\.\d+)?)\/(-?\d+(?:\.\d+)?)\/(-?\d+(?:\.\d+)?)$/;
const ZOOM_MAX = 22;

/**
 * Reads the hash of an address; what it cannot read counts as not given.
 * @param {string} hash such as `#view=scan&date=2026-11-21&frame=20261121T040511Z&map=6.2/36.1/-98.5`
 * @returns {Address}
 */
export function readAddress(hash) {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const date = values.get('date') ?? '';
  const frame = values.get('frame') ?? '';
  return {
    date: isDate(date) ? date : null,
    view: values.get('view') === 'scan' ? 'scan' : 'day',
    frame: SCAN_ID.test(frame) ? frame : null,
    reflectivity: values.get('reflectivity') === 'on',
    place: readPlace(values.get('map') ?? ''),
  };
}

/**
 * The hash that shows the same again.
 * @param {Address} address
 */
export function writeAddress({ date, view, frame, reflectivity, place }) {
  const parts = [
    `view=${view}`,
    date && `date=${date}`,
    view === 'scan' && frame && `frame=${frame}`,
    reflectivity && 'reflectivity=on',
    place && `map=${place.zoom.toFixed(2)}/${place.lat.toFixed(4)}/${place.lon.toFixed(4)}`,
  ];
  return `#${parts.filter(Boolean).join('&')}`;
}

/**
 * True for a date of the calendar.
 * @param {string} text
 */
export function isDate(text) {
  if (!DATE.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

/** @param {string} text */
function readPlace(text) {
  const [, zoom, lat, lon] = (PLACE.exec(text) ?? []).map(Number);
  if (zoom === undefined || zoom > ZOOM_MAX || Math.abs(lat) > 85 || Math.abs(lon) > 180) return null;
  return { zoom, lat, lon };
}
