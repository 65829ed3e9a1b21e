import { VectorTile, type VectorTileFeature, type VectorTileLayer } from '@mapbox/vector-tile';
import { fromVectorTileJs } from '@maplibre/vt-pbf';
import { PbfReader } from 'pbf';

interface Point {
  readonly x: number;
  readonly y: number;
}
type Path = readonly Point[];

/**
 * A place is moved by what lies within this distance, which is the margin of a tile; tile units. Smoothed tiles end at zoom 6: there
 * their margin is eight pixels of the grid wide, so that two tiles agree on what crosses their edge.
 */
const REACH = 64;
const STEP = 8;
/** The units of a smoothed tile are finer by this factor. */
const FINER = 2;
/** Parts of the curve of a corner. */
const CURVE = [0, 0.25, 0.5, 0.75, 1];

/** One vector tile with the content of several; smoothed: with rounded outlines and filtered lines, points and attributes stay. */
export function joinTiles(tiles: readonly Uint8Array[], is_smooth: boolean): Uint8Array {
  if (tiles.length === 0) return new Uint8Array();
  if (tiles.length === 1 && !is_smooth) return tiles[0];
  const all = tiles.flatMap((data) => Object.values(new VectorTile(new PbfReader(data)).layers));
  const named = Object.entries(Object.groupBy(all, ({ name }) => name));
  const layers = named.map(([name, of = []]) => [name, joinLayers(of, is_smooth)]);
  return fromVectorTileJs({ layers: Object.fromEntries(layers) });
}

function joinLayers(layers: readonly VectorTileLayer[], is_smooth: boolean) {
  const [{ version, name, extent }] = layers;
  const features = layers.flatMap((layer) => Array.from({ length: layer.length }, (_, i) => layer.feature(i)));
  const { length } = features;
  return is_smooth
    ? { version, name, length, extent: extent * FINER, feature: (i: number) => smoothFeature(features[i]) }
    : { version, name, length, extent, feature: (i: number) => features[i] };
}

function smoothFeature(feature: VectorTileFeature) {
  const { id, type, properties } = feature;
  const smooth = { 0: same, 1: same, 2: filtered, 3: rounded }[type];
  const finer = ({ x, y }: Point) => ({ x: Math.round(x * FINER), y: Math.round(y * FINER) });
  return { id, type, properties, loadGeometry: () => feature.loadGeometry().map((path) => smooth(path).map(finer)) };
}

const same = (path: Path) => path;

const between = (a: Point, b: Point, share: number): Point => ({
  x: a.x + (b.x - a.x) * share,
  y: a.y + (b.y - a.y) * share,
});
const distance = (a: Point, b: Point) => Math.hypot(b.x - a.x, b.y - a.y);

/** A closed ring whose corners are quadratic curves, from the middle of one edge to that of the next or from `REACH` before the corner. */
export function rounded(ring: Path): Path {
  const corners = ring.slice(0, -1);
  const towards = (a: Point, b: Point) => between(a, b, Math.min(0.5, REACH / distance(a, b)));
  const curve = corners.flatMap((corner, i) => {
    const from = towards(corner, corners.at(i - 1) as Point);
    const to = towards(corner, corners[(i + 1) % corners.length]);
    return CURVE.map((t) => between(between(from, corner, t), between(corner, to, t), t));
  });
  return [...curve, curve[0]];
}

/** A line as means of its places within `REACH` along it, weighted by a cosine bell; its ends stay. */
export function filtered(line: Path): Path {
  const points = spaced(line);
  return points.map((_, i) => {
    const half = Math.min(REACH / STEP, i, points.length - 1 - i);
    let [x, y, sum] = [0, 0, 0];
    for (let k = -half; k <= half; k++) {
      const weight = 1 + Math.cos((Math.PI * k) / (half + 1));
      x += weight * points[i + k].x;
      y += weight * points[i + k].y;
      sum += weight;
    }
    return { x: x / sum, y: y / sum };
  });
}

/** Places along a line, about `STEP` apart. */
function spaced(line: Path): Path {
  const parts = line.slice(1).flatMap((to, i) => {
    const count = Math.max(1, Math.round(distance(line[i], to) / STEP));
    return Array.from({ length: count }, (_, k) => between(line[i], to, (k + 1) / count));
  });
  return [line[0], ...parts];
}
