import type { Bbox, Position } from '../../schemas/geo/position.ts';
import type { MultiPolygon, Ring } from '../../schemas/geo/rings.ts';
import { BASEMAP } from '../../schemas/palette.ts';
import { boxOf } from './frame.ts';
import { fits } from './labels.ts';
import type { MapView, Rectangle } from './map-view.ts';
import type { State, States } from './states.ts';
import { element, linePath, polygonPath, text } from './svg.ts';

/** Possible spacings of graticule lines, degrees, and their target number across the map. */
const GRATICULE_STEPS_DEG = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const GRATICULE_LINES = 7;
/** A state is named where it covers at least this share of the sample points of the map and is about as wide as its name. */
const NAMED_SHARE = 0.01;
const NAME_PX_PER_LETTER = 8.6;
const SAMPLES = { across: 48, down: 32 };

/** Land, then `shade`, graticule and state lines, drawn under the hail. */
export function drawBasemap(view: MapView, { states, borders, coasts }: States, shade: string): string {
  const land = states.filter((state) => meets(boxOf(state.polygons.flat()), view.visible));
  const lines = (rings: readonly Ring[], stroke: string, width: number) =>
    element('path', {
      d: rings
        .filter((ring) => meets(boxOf([ring]), view.visible))
        .map((ring) => linePath(view, ring))
        .join(''),
      fill: 'none',
      stroke,
      'stroke-width': width,
      'stroke-linejoin': 'round',
    });
  return [
    element('rect', { ...view.area, fill: BASEMAP.outside }),
    element('path', { d: land.map((state) => polygonPath(view, state.polygons)).join(''), fill: BASEMAP.land }),
    shade,
    drawGraticule(view),
    lines(borders, BASEMAP.border, 1),
    lines(coasts, BASEMAP.outline, 1.1),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** Names of the states in view, in the visible part of each, as near to its centre as they are clear of the obstacles. */
export function drawStateNames(view: MapView, states: readonly State[], obstacles: readonly Rectangle[]): string {
  const kept = [...obstacles, ...graticuleMargins(view.area)];
  return statePlaces(view, states)
    .flatMap(({ name, places }) => {
      const width = name.length * NAME_PX_PER_LETTER;
      const free = places.find(({ x, y }) => fits({ x: x - width / 2, y: y - 11, width, height: 14 }, view.area, kept));
      return free ? [{ name, ...free }] : [];
    })
    .map(({ name, x, y }) =>
      text(name.toUpperCase(), x, y, {
        'font-size': 11,
        fill: BASEMAP.faint,
        'text-anchor': 'middle',
        'letter-spacing': 1.6,
        opacity: 0.75,
      }),
    )
    .join('\n');
}

/** Possible places of the name of each state in view, nearest to the centre of its visible part first. */
function statePlaces(view: MapView, states: readonly State[]) {
  const { area } = view;
  const samples = Array.from({ length: SAMPLES.across * SAMPLES.down }, (_, i) => {
    const x = area.x + (((i % SAMPLES.across) + 0.5) / SAMPLES.across) * area.width;
    const y = area.y + ((Math.floor(i / SAMPLES.across) + 0.5) / SAMPLES.down) * area.height;
    return { x, y, position: view.locate(x, y) };
  });
  return states.flatMap(({ name, polygons }) => {
    const box = boxOf(polygons.flat());
    if (!meets(box, view.visible)) return [];
    const inside = samples.filter(({ position }) => holds(box, position) && covers(polygons, position));
    const xs = inside.map(({ x }) => x);
    const width = Math.max(...xs) - Math.min(...xs);
    if (inside.length < NAMED_SHARE * samples.length || width < name.length * NAME_PX_PER_LETTER) return [];
    const mean = (pick: (sample: { x: number; y: number }) => number) =>
      inside.reduce((sum, sample) => sum + pick(sample), 0) / inside.length;
    const middle = { x: mean(({ x }) => x), y: mean(({ y }) => y) };
    const off = ({ x, y }: { x: number; y: number }) => Math.hypot(x - middle.x, y - middle.y);
    return [{ name, places: [middle, ...inside.toSorted((a, b) => off(a) - off(b))] }];
  });
}

function drawGraticule(view: MapView): string {
  const [west, south, east, north] = view.visible;
  const step =
    GRATICULE_STEPS_DEG.find(
      (deg) => (north - south) / deg <= GRATICULE_LINES && (east - west) / deg <= 2 * GRATICULE_LINES,
    ) ?? (GRATICULE_STEPS_DEG.at(-1) as number);
  const lons = multiples(step, west, east);
  const lats = multiples(step, south, north);
  const lines = [
    ...lons.map((lon) => fine(south, north).map((lat) => [lon, lat])),
    ...lats.map((lat) => fine(west, east).map((lon) => [lon, lat])),
  ];
  return [
    element('path', {
      d: lines.map((line) => linePath(view, line)).join(''),
      fill: 'none',
      stroke: BASEMAP.graticule,
      'stroke-width': 0.8,
    }),
    ...graticuleLabels(view, lons, lats).map(({ label, x, y }) =>
      text(label, x, y, { 'font-size': 9.5, fill: BASEMAP.faint, opacity: 0.8 }),
    ),
  ].join('\n');
}

/** Strips of the map that hold the labels of the graticule. */
function graticuleMargins({ x, y, width, height }: Rectangle): Rectangle[] {
  return [
    { x, y, width: 44, height },
    { x, y: y + height - 20, width, height: 20 },
  ];
}

/** Labels of latitudes along the left edge and of longitudes along the lower edge, where there is room. */
function graticuleLabels(view: MapView, lons: readonly number[], lats: readonly number[]) {
  const { x: left, y: top, width, height } = view.area;
  const bottom = top + height;
  const leftLon = view.locate(left, top + height / 2).lon;
  const bottomLat = view.locate(left + width / 2, bottom).lat;
  const beside = lats.map((lat) => ({
    label: `${degrees(lat)}${lat < 0 ? 'S' : 'N'}`,
    x: left + 6,
    y: view.project(leftLon, lat)[1] - 4,
  }));
  const below = lons.map((lon) => ({
    label: `${degrees(lon)}${lon < 0 ? 'W' : 'E'}`,
    x: view.project(lon, bottomLat)[0] + 4,
    y: bottom - 6,
  }));
  return [
    ...beside.filter(({ y }) => y > top + 12 && y < bottom - 20),
    ...below.filter(({ x }) => x > left + 4 && x < left + width - 40),
  ];
}

/** Multiples of a step within a range. */
function multiples(step: number, from: number, to: number): number[] {
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, i) => (first + i) * step);
}

function degrees(deg: number): string {
  return `${Math.abs(Math.round(deg * 100) / 100)}°`;
}

/** Points between two degrees, dense enough for a curved line. */
function fine(from: number, to: number): number[] {
  const pieces = 32;
  return Array.from({ length: pieces + 1 }, (_, i) => from + ((to - from) * i) / pieces);
}

function meets(a: Bbox, b: Bbox): boolean {
  return a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];
}

function holds([west, south, east, north]: Bbox, { lat, lon }: Position): boolean {
  return lon >= west && lon <= east && lat >= south && lat <= north;
}

/** True when a position lies inside polygons, by the even-odd rule. */
function covers(polygons: MultiPolygon, { lat, lon }: Position): boolean {
  let inside = false;
  for (const ring of polygons.flat())
    for (let i = 1; i < ring.length; i++) {
      const [ax, ay] = ring[i - 1] as [number, number];
      const [bx, by] = ring[i] as [number, number];
      if (ay > lat !== by > lat && lon < ax + ((lat - ay) / (by - ay)) * (bx - ax)) inside = !inside;
    }
  return inside;
}
