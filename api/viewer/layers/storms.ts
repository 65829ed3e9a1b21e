import type { Feature, Position } from 'geojson';
import type { FilterSpecification, Map as MapLibre } from 'maplibre-gl';
import { counted, motionInWords } from '../page/words.ts';
import {
  areaMark,
  dotMark,
  type FreeLayer,
  lineMark,
  placeAway,
  putFeatures,
  removeSource,
  type Shown,
  textMark,
} from './layer.ts';

const SOURCE = 'cones';
const COLOR = '#1f5fa8';
/** Minutes of the marks along the course; the last is the end of the cone. */
const LEADS_MIN = [15, 30, 45] as const;
const LAST_MIN = LEADS_MIN[2];
/** Half of the opening of the cone, and what its length has over the course: the errors that the nowcast of the service assumes. */
export const CONE_ERROR = { speed_error_kmh: 12, direction_error_deg: 26 } as const;
/** Slower storms have no course worth drawing. */
const LEAST_KMH = 5;
const ARC_STEPS = 10;

interface Moving {
  readonly at: Position;
  readonly properties: Record<string, unknown> & { readonly speed_kmh: number; readonly direction_deg: number };
}

/** Storms of the scan with a motion, as its tiles have them; tiles overlap, so a storm may be in two. */
function movingStorms(map: MapLibre): Moving[] {
  if (!map.getSource('scan')) return [];
  const found = new Map<string, Moving>();
  for (const { geometry, properties } of map.querySourceFeatures('scan', { sourceLayer: 'storms' })) {
    const { track_id, speed_kmh, direction_deg } = properties;
    if (geometry.type !== 'Point' || !(speed_kmh >= LEAST_KMH) || direction_deg === undefined) continue;
    const name = String(track_id);
    if (!found.has(name))
      found.set(name, { at: geometry.coordinates, properties: { ...properties, speed_kmh, direction_deg } });
  }
  return [...found.values()].sort((a, b) => (String(a.properties.track_id) < String(b.properties.track_id) ? -1 : 1));
}

/** Cone of a storm: where it is after up to 45 minutes, as far as its course and speed are known. */
function coneFeatures({ at, properties }: Moving): Feature[] {
  const { speed_kmh, direction_deg } = properties;
  const far_km = ((speed_kmh + CONE_ERROR.speed_error_kmh) * LAST_MIN) / 60;
  const arc = Array.from({ length: ARC_STEPS + 1 }, (_, i) =>
    placeAway(at, far_km, direction_deg + CONE_ERROR.direction_error_deg * (1 - (2 * i) / ARC_STEPS)),
  );
  const spots = LEADS_MIN.map((minutes) => ({
    minutes,
    place: placeAway(at, (speed_kmh * minutes) / 60, direction_deg),
  }));
  return [
    { type: 'Feature', properties, geometry: { type: 'Polygon', coordinates: [[at, ...arc, at]] } },
    { type: 'Feature', properties, geometry: { type: 'LineString', coordinates: [at, spots[spots.length - 1].place] } },
    ...spots.map(
      ({ minutes, place }): Feature => ({
        type: 'Feature',
        properties: { ...properties, minutes },
        geometry: { type: 'Point', coordinates: place },
      }),
    ),
  ];
}

const isOf = (type: 'Polygon' | 'LineString' | 'Point'): FilterSpecification => ['==', ['geometry-type'], type];
const MARKS = [
  areaMark(COLOR, 0.12, { filter: isOf('Polygon') }),
  lineMark(COLOR, 1.2, { 'line-opacity': 0.65 }, { filter: isOf('Polygon') }),
  lineMark(COLOR, 1.4, { 'line-dasharray': [3, 2] }, { filter: isOf('LineString') }),
  dotMark('#fff', { 'circle-radius': 3, 'circle-stroke-color': COLOR }, { filter: isOf('Point'), minzoom: 6 }),
  textMark(
    COLOR,
    {
      'text-field': ['concat', ['to-string', ['get', 'minutes']], ' min'],
      'text-size': 11,
      'text-anchor': 'top',
      'text-offset': [0, 0.5],
    },
    { filter: isOf('Point'), minzoom: 7.5 },
  ),
];

/** Scan and storms whose cones are drawn: tiles arrive after the scan is shown, and drawing again for nothing would never end. */
let drawn = '';
let redraw: (() => void) | null = null;

function drawCones(map: MapLibre): void {
  const storms = movingStorms(map);
  const asked = JSON.stringify(storms.map(({ at, properties }) => [at, properties.speed_kmh, properties.track_id]));
  if (asked === drawn) return;
  drawn = asked;
  putFeatures(map, SOURCE, storms.flatMap(coneFeatures), MARKS);
}

/** Storms of the scan with the cone in which each will be within 45 minutes; follows from the scan's archive. */
export const storms: FreeLayer = {
  kind: 'free',
  id: 'storms',
  label: 'Storm motion, 45 minutes',
  key: [{ color: COLOR, words: 'course, and its usual error', shape: 'area' }],
  unavailable: ({ view, span }: Shown) =>
    span === null
      ? 'No scans are published for this date.'
      : view === 'day'
        ? 'Storms have a motion in a single scan: choose “Scan by scan”.'
        : null,
  draw(map) {
    drawCones(map);
    if (redraw !== null) return;
    redraw = () => drawCones(map);
    map.on('idle', redraw);
  },
  remove(map) {
    if (redraw !== null) map.off('idle', redraw);
    redraw = null;
    drawn = '';
    removeSource(map, SOURCE);
  },
  inWords: (map) => `${counted(movingStorms(map).length, 'moving storm')} in view`,
  picks: [`${SOURCE}-0`],
  facts: (properties) => ({
    title: 'A storm may come here within 45 minutes',
    color: COLOR,
    lines: [
      `It moves at ${motionInWords(properties?.speed_kmh, properties?.direction_deg)}`,
      ...(properties?.mm === undefined ? [] : [`Its largest hail in this scan: ${Math.round(properties.mm)} mm`]),
      `The cone is the usual error of course (${CONE_ERROR.direction_error_deg}°) and speed (${CONE_ERROR.speed_error_kmh} km/h).`,
      'The storm may also grow, or end on the way.',
    ],
  }),
};
