/**
 * Where no radar looked, as the archive of a scan tells it: runs of blocks `[row, start, end]`, rows from north.
 * @typedef {{ north: number, west: number, step_deg: number, rows: number, cols: number, runs: [number, number, number][] }} Uncovered
 * What an archive says of itself, as far as this page asks.
 * @typedef {{ hail_bounds?: [number, number, number, number] | null, uncovered?: Uncovered }} ArchiveNote
 */

/**
 * Whether radar looked at a place; null where the archive does not tell.
 * @param {Uncovered | null} uncovered
 * @param {{ lng: number, lat: number }} at
 * @returns {boolean | null}
 */
export function isCovered(uncovered, { lng, lat }) {
  if (!uncovered) return null;
  const { north, west, step_deg, rows, cols, runs } = uncovered;
  const row = Math.floor((north - lat) / step_deg);
  const col = Math.floor((lng - west) / step_deg);
  if (row < 0 || row >= rows || col < 0 || col >= cols) return false;
  return !runs.some(([at, start, end]) => at === row && start <= col && col < end);
}

/**
 * What no radar covers as an area to draw: everything outside the grid, then the uncovered blocks; runs that repeat from
 * row to row are one rectangle. Empty where coverage is not known.
 * @param {Uncovered | null} uncovered
 * @returns {GeoJSON.MultiPolygon}
 */
export function uncoveredArea(uncovered) {
  /** @type {Map<string, { top: number, bottom: number, start: number, end: number }>} rectangles that reach the row before */
  let open = new Map();
  /** @type {{ top: number, bottom: number, start: number, end: number }[]} */
  const all = [];
  let last = -1;
  for (const [row, start, end] of uncovered?.runs ?? []) {
    if (row !== last) open = new Map([...open].filter(([, { bottom }]) => bottom === row));
    last = row;
    const name = `${start} ${end}`;
    const above = open.get(name);
    if (above) above.bottom = row + 1;
    else {
      const made = { top: row, bottom: row + 1, start, end };
      open.set(name, made);
      all.push(made);
    }
  }
  if (!uncovered) return { type: 'MultiPolygon', coordinates: [] };
  const { north, west, step_deg, rows, cols } = uncovered;
  /** @param {{ top: number, bottom: number, start: number, end: number }} blocks */
  const ringOf = ({ top, bottom, start, end }) =>
    ring(west + start * step_deg, north - bottom * step_deg, west + end * step_deg, north - top * step_deg);
  const outside = [ring(...WORLD), ringOf({ top: 0, bottom: rows, start: 0, end: cols }).reverse()];
  return { type: 'MultiPolygon', coordinates: [outside, ...all.map((blocks) => [ringOf(blocks)])] };
}

/** West, south, east, north of what the map can show. */
const WORLD = /** @type {const} */ ([-180, -85, 180, 85]);

/** @param {number} west @param {number} south @param {number} east @param {number} north */
function ring(west, south, east, north) {
  return [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
}
