import { bandInWords, categoryInWords, motionInWords, sizeInWords, stepOf, timeInWords } from './words.js';

/**
 * What the tiles say of a place: the largest step drawn there, and the storm that was meant, if any.
 * @typedef {{ mm_min: number | null, storm: Record<string, any> | null }} Finding
 * @typedef {{ properties: Record<string, any>, geometry?: any }} Drawn
 */

/**
 * @param {readonly Drawn[]} bands fills at the place
 * @param {readonly Drawn[]} storms points near it
 * @param {(lng: number, lat: number) => number} distance to the place, pixels
 * @returns {Finding}
 */
export function pickAmong(bands, storms, distance) {
  const sizes = bands.map(({ properties }) => Number(properties.mm_min));
  const away = (/** @type {Drawn} */ { geometry }) => distance(geometry.coordinates[0], geometry.coordinates[1]);
  const nearest = storms.reduce((/** @type {Drawn | null} */ a, b) => (a === null || away(b) < away(a) ? b : a), null);
  return { mm_min: sizes.length ? Math.max(...sizes) : null, storm: nearest?.properties ?? null };
}

/**
 * A finding in words: a headline with its colour, and lines below it.
 * @param {Finding} finding
 * @param {{ view: 'day' | 'scan', palette: import('./words.js').Palette, coarse: boolean, covered: boolean | null }} given
 *   `coarse`: outlines are simplified here; `covered`: radar looked here in the scan, or in the newest of the day; null: not known
 * @returns {{ headline: string, second: string | null, color: string | null, lines: string[] }}
 */
export function findingInWords({ mm_min, storm }, { view, palette, coarse, covered }) {
  if (storm) return stormInWords(storm, mm_min, palette);
  if (mm_min === null) {
    const least = view === 'day' ? palette.sizes.find(({ category }) => category !== null) : palette.sizes[0];
    const { headline, line } = emptinessInWords(view, covered, least?.mm_min ?? 0);
    return { headline, second: null, color: null, lines: [line, ...roughly(coarse)] };
  }
  const band = bandInWords(mm_min, palette);
  const what = view === 'day' ? 'Largest of the day here' : 'In this scan';
  return {
    headline: band.mm,
    second: band.inches,
    color: band.step.color,
    lines: [
      band.category ? `${what}: ${band.category}` : `${what}: below the size of a nickel, perhaps no hail at all`,
      ...roughly(coarse),
    ],
  };
}

/**
 * Why nothing is drawn at a place: no hail, or nobody looked.
 * @param {'day' | 'scan'} view
 * @param {boolean | null} covered
 * @param {number} least_mm
 */
function emptinessInWords(view, covered, least_mm) {
  if (covered === null)
    return { headline: 'No hail drawn here', line: `Less than ${least_mm} mm, or no radar coverage.` };
  const when = view === 'scan' ? 'in this scan' : 'in the newest scan of the day';
  if (!covered)
    return { headline: 'No radar coverage here', line: `No radar looked here ${when}: hail or none is not known.` };
  return view === 'scan'
    ? { headline: 'No hail here', line: `Radar looked and saw less than ${least_mm} mm.` }
    : { headline: 'No hail here', line: `Less than ${least_mm} mm all day, as far as radar looked.` };
}

/** @param {boolean} coarse */
function roughly(coarse) {
  return coarse ? ['Zoom in for exact edges.'] : [];
}

/**
 * @param {Record<string, any>} storm attributes of a storm of a scan, or of the peak of a day
 * @param {number | null} mm_min
 * @param {import('./words.js').Palette} palette
 */
function stormInWords(storm, mm_min, palette) {
  const mm = Number(storm.mm ?? storm.peak_mm);
  const category = categoryInWords(stepOf(mm, palette).category);
  const moves = storm.speed_kmh !== undefined && storm.direction_deg !== undefined;
  return {
    headline: sizeInWords(mm, palette),
    second: storm.peak_mm === undefined ? 'largest of this storm, in this scan' : 'largest of this storm',
    color: stepOf(mm, palette).color,
    lines: [
      category && `At least the size of a ${category}`,
      storm.time && `On ${timeInWords(storm.time)}`,
      storm.duration_min !== undefined && `Seen for ${Math.round(storm.duration_min)} min`,
      moves && `Moves at ${motionInWords(storm.speed_kmh, storm.direction_deg)}`,
      storm.trend && `Trend: ${storm.trend.replaceAll('_', ' ')}`,
      storm.prob !== undefined && `Probability of severe hail ${Math.round(100 * storm.prob)} %`,
      mm_min !== null && `At this very place: ${bandInWords(mm_min, palette).mm}`,
    ].filter((line) => typeof line === 'string' && line !== ''),
  };
}
