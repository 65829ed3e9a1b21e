import { type Section, sectionError, signed, unsigned } from './section.ts';

/** Degrees; longitudes in -180 .. 180 come out, -180 .. 360 may go in. */
interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** Latitude-longitude grid of template 3.0; degrees, steps positive, in file order from the first point. */
interface LatLonGrid {
  readonly template: 0;
  readonly la1: number;
  readonly lo1: number;
  /** Last point; real files round it. */
  readonly la2: number;
  readonly lo2: number;
  readonly di: number;
  readonly dj: number;
  /** Resolution flags: both steps are given. */
  readonly is_step_given: boolean;
}

/** Lambert conformal grid of template 3.30; degrees and metres. */
interface LambertGrid extends Cone, Earth {
  readonly template: 30;
  readonly la1: number;
  readonly lo1: number;
  readonly latin1: number;
  readonly latin2: number;
  readonly dx_m: number;
  readonly dy_m: number;
  /** First point on the plane, metres. */
  readonly x0_m: number;
  readonly y0_m: number;
}

/** Grid of a field (section 3): its size, and its positions where the template is supported. */
export interface GridDefinition {
  readonly section: Section;
  readonly template: number;
  readonly points: number;
  /** Columns and rows; a single row of all points for templates of unknown shape. */
  readonly columns: number;
  readonly rows: number;
  readonly scanning_mode: number;
  readonly projection: Projection | null;
}

type Projection = LatLonGrid | LambertGrid;
type ProjectionReader = (section: Section, columns: number, rows: number) => Projection;

/**
 * Grid definition templates that have columns at octet 31 and rows at octet 35: octet of the scanning mode, and a reader of
 * positions where they are supported.
 */
const GRID_TEMPLATES: Readonly<Record<number, readonly [scanning_mode_octet: number, ProjectionReader | null]>> = {
  0: [72, readLatLon],
  10: [60, null],
  12: [60, null],
  30: [65, readLambert],
};

const EASTERN_FIRST = 0x80;
const SOUTHERN_FIRST = 0x40;

/** Reads section 3. Throws BadInput when columns x rows is not the number of points. */
export function readGridDefinition(section: Section): GridDefinition {
  const template = unsigned(section, 13, 2);
  const points = unsigned(section, 7, 4);
  if (points === 0) throw sectionError(section, 'grid of 0 points, expected at least 1');
  const known = GRID_TEMPLATES[template];
  const quasiRegular = unsigned(section, 11, 1) !== 0;
  if (known === undefined || quasiRegular)
    return { section, template, points, columns: points, rows: 1, scanning_mode: 0, projection: null };
  const columns = unsigned(section, 31, 4);
  const rows = unsigned(section, 35, 4);
  if (columns * rows !== points)
    throw sectionError(section, `${columns} x ${rows} grid, expected ${points} points in all`);
  const [scanning_mode_octet, readProjection] = known;
  const scanning_mode = unsigned(section, scanning_mode_octet, 1);
  const projection = readProjection?.(section, columns, rows) ?? null;
  return { section, template, points, columns, rows, scanning_mode, projection };
}

const MISSING = 0xffffffff;
/** Resolution flags of code table 3.3: steps along rows, and from row to row. */
const STEPS_GIVEN = 0x30;

function readLatLon(section: Section, columns: number, rows: number): LatLonGrid {
  const basic = unsigned(section, 39, 4);
  const parts = unsigned(section, 43, 4);
  const perDegree = basic === 0 || basic === MISSING || parts === 0 || parts === MISSING ? 1e6 : parts / basic;
  const degrees = (octet: number) => signed(section, octet, 4) / perDegree;
  const la1 = degrees(47);
  const lo1 = degrees(51);
  const [la2, lo2] = [degrees(56), degrees(60)];
  // The last point is rounded in real files, so the step is computed from it only where it is not given.
  const step = (octet: number, span: number, count: number) =>
    unsigned(section, octet, 4) === MISSING ? span / Math.max(1, count - 1) : unsigned(section, octet, 4) / perDegree;
  const di = step(64, wrap360(lo2 - lo1), columns);
  const dj = step(68, Math.abs(la2 - la1), rows);
  if (Math.abs(la1) > 90) throw sectionError(section, `first latitude ${la1}, expected -90 to 90`);
  const is_step_given = (unsigned(section, 55, 1) & STEPS_GIVEN) === STEPS_GIVEN;
  return { template: 0, la1, lo1, la2, lo2, di, dj, is_step_given };
}

function readLambert(section: Section): LambertGrid {
  const degrees = (octet: number) => signed(section, octet, 4) / 1e6;
  const [la1, latin1, latin2] = [degrees(39), degrees(66), degrees(70)];
  for (const [name, value] of [
    ['first latitude', la1],
    ['first parallel', latin1],
    ['second parallel', latin2],
  ] as const)
    if (Math.abs(value) >= 90) throw sectionError(section, `${name} ${value}, expected between -90 and 90`);
  if (latin1 + latin2 === 0) throw sectionError(section, 'parallels on both sides of the equator, expected one side');
  const earth = readEarth(section);
  const lambert = { lov: degrees(52), latin1, latin2, ...earth, ...cone(earth, latin1, latin2) };
  const first = project(lambert, la1, degrees(43));
  return {
    template: 30,
    la1,
    lo1: degrees(43),
    dx_m: unsigned(section, 56, 4) / 1000,
    dy_m: unsigned(section, 60, 4) / 1000,
    ...lambert,
    x0_m: first.x,
    y0_m: first.y,
  };
}

/** Semi-axes of code table 3.2, metres. */
const EARTHS: Readonly<Record<number, readonly [a_m: number, b_m: number]>> = {
  0: [6367470, 6367470],
  2: [6378160, 6356775],
  4: [6378137, 6356752.314],
  5: [6378137, 6356752.3142],
  6: [6371229, 6371229],
  8: [6371200, 6371200],
};

function readEarth(section: Section): { earth_m: number; eccentricity2: number } {
  const shape = unsigned(section, 15, 1);
  const scaled = (octet: number) => unsigned(section, octet + 1, 4) / 10 ** signed(section, octet, 1);
  const axes = EARTHS[shape] ?? statedAxes(shape, scaled);
  if (!axes) throw sectionError(section, `shape of the earth ${shape}, expected 0 to 8`);
  const [a, b] = axes;
  if (!(a > 6e6 && a < 7e6 && b > 6e6 && b <= a))
    throw sectionError(section, `earth of ${a} x ${b} m, expected about 6371 km`);
  return { earth_m: a, eccentricity2: 1 - (b * b) / (a * a) };
}

function statedAxes(shape: number, scaled: (octet: number) => number): readonly [number, number] | null {
  if (shape === 1) return [scaled(16), scaled(16)];
  if (shape === 3) return [1000 * scaled(21), 1000 * scaled(26)];
  return shape === 7 ? [scaled(21), scaled(26)] : null;
}

/** Signs of a step along a row and from row to row, as the scanning mode gives them. */
function directions(grid: GridDefinition): readonly [east: number, north: number] {
  return [(grid.scanning_mode & EASTERN_FIRST) === 0 ? 1 : -1, (grid.scanning_mode & SOUTHERN_FIRST) === 0 ? -1 : 1];
}

/** Whether rows run from south to north, and columns from east to west. */
export function isFlipped(grid: GridDefinition): { readonly rows: boolean; readonly columns: boolean } {
  const [east, north] = directions(grid);
  return { rows: north === 1, columns: east === -1 };
}

/**
 * Position of the point at row `j` and column `i` of the file, longitude in -180 .. 180.
 * Throws BadInput naming the template when its positions are not supported.
 */
export function positionOf(grid: GridDefinition, j: number, i: number): Position {
  const [east, north] = directions(grid);
  const projection = projectionOf(grid);
  if (projection.template === 0)
    return {
      lat: nanodegrees(projection.la1 + north * j * projection.dj),
      lon: nanodegrees(wrap180(projection.lo1 + east * i * projection.di)),
    };
  const { x0_m, y0_m, dx_m, dy_m } = projection;
  return unproject(projection, x0_m + east * i * dx_m, y0_m + north * j * dy_m);
}

/** Row and column of the grid point nearest to a position; null outside the grid (more than half a step beyond its points). */
export function nearestPoint(grid: GridDefinition, at: Position): { readonly j: number; readonly i: number } | null {
  const place = placeOf(grid, at);
  const i = Math.floor(place.i + 0.5);
  const j = Math.floor(place.j + 0.5);
  return i >= 0 && i < grid.columns && j >= 0 && j < grid.rows ? { j, i } : null;
}

/** Row and column of a position with their fractions, in file order; beyond the grid they run on. */
export function placeOf(grid: GridDefinition, at: Position): { readonly j: number; readonly i: number } {
  const [east, north] = directions(grid);
  const projection = projectionOf(grid);
  if (projection.template === 0) {
    const half = projection.di / 2;
    return {
      i: wrap360(east * (at.lon - projection.lo1) + half) / projection.di - 0.5,
      j: (north * (at.lat - projection.la1)) / projection.dj,
    };
  }
  const point = project(projection, at.lat, at.lon);
  return {
    i: (east * (point.x - projection.x0_m)) / projection.dx_m,
    j: (north * (point.y - projection.y0_m)) / projection.dy_m,
  };
}

/** Distance on the ground between neighbouring columns and neighbouring rows at a position, km. */
export function stepsAt(grid: GridDefinition, { lat, lon }: Position): { column_km: number; row_km: number } {
  const projection = projectionOf(grid);
  const { earth_m, eccentricity2 } = projection.template === 30 ? projection : SPHERE;
  // Radius of the parallel, and of curvature along the meridian.
  const bow = 1 - eccentricity2 * Math.sin(lat * RAD) ** 2;
  const parallel_m = (earth_m * Math.cos(lat * RAD)) / Math.sqrt(bow);
  if (projection.template === 0)
    return { column_km: (parallel_m * projection.di * RAD) / 1000, row_km: (earth_m * projection.dj * RAD) / 1000 };
  const { x, y } = project(projection, lat, lon);
  const scale = (Math.abs(projection.n) * Math.hypot(x, y)) / parallel_m;
  return { column_km: projection.dx_m / scale / 1000, row_km: projection.dy_m / scale / 1000 };
}

function projectionOf({ projection, section, template }: GridDefinition): Projection {
  if (projection) return projection;
  throw sectionError(section, `positions of grid template 3.${template} are not supported, expected 3.0 or 3.30`);
}

/** Earth of distances on latitude-longitude grids. */
const SPHERE = { earth_m: 6_371_229, eccentricity2: 0 } as const;

/** Degrees rounded to 1e-9: headers are whole microdegrees, and a box may end on a row of centres. */
function nanodegrees(degrees: number): number {
  return Math.round(degrees * 1e9) / 1e9;
}

/** Radians of a degree. */
const RAD = Math.PI / 180;

/** Semi-major axis and squared eccentricity of the earth. */
interface Earth {
  readonly earth_m: number;
  readonly eccentricity2: number;
}

interface Cone {
  /** Longitude of the meridian that is parallel to the y axis, degrees. */
  readonly lov: number;
  /** Cone constant and a F of Snyder, metres; both negative in the south. */
  readonly n: number;
  readonly scale_m: number;
  readonly eccentricity2: number;
}

/** Lambert conformal conic, metres from the point where LoV meets the pole. Source: Snyder 1987, eqs. 15-1 to 15-11. */
function project({ lov, n, scale_m, eccentricity2 }: Cone, lat: number, lon: number): { x: number; y: number } {
  const rho = scale_m * conformal(eccentricity2, lat) ** n;
  const theta = n * wrap180(lon - lov) * RAD;
  return { x: rho * Math.sin(theta), y: -rho * Math.cos(theta) };
}

/** Inverse of `project`; longitude in -180 .. 180. */
function unproject({ lov, n, scale_m, eccentricity2 }: Cone, x: number, y: number): { lat: number; lon: number } {
  const side = Math.sign(n);
  const t = (Math.hypot(x, y) / Math.abs(scale_m)) ** (1 / n);
  const theta = Math.atan2(side * x, -side * y);
  const e = Math.sqrt(eccentricity2);
  let lat = Math.PI / 2 - 2 * Math.atan(t);
  // Each round gains a factor of e2 (0.007); on a sphere the start is exact.
  for (let round = 0; round < 8 && e > 0; round++) {
    const es = e * Math.sin(lat);
    lat = Math.PI / 2 - 2 * Math.atan(t * ((1 - es) / (1 + es)) ** (e / 2));
  }
  return { lat: lat / RAD, lon: wrap180(lov + theta / n / RAD) };
}

/** Cone constant and a F of a Lambert grid. Both parallels lie on one side of the equator. */
function cone({ earth_m, eccentricity2 }: Earth, latin1: number, latin2: number): Pick<Cone, 'n' | 'scale_m'> {
  const m = (lat: number) => Math.cos(lat * RAD) / Math.sqrt(1 - eccentricity2 * Math.sin(lat * RAD) ** 2);
  const t1 = conformal(eccentricity2, latin1);
  const n =
    latin1 === latin2
      ? Math.sin(latin1 * RAD)
      : Math.log(m(latin1) / m(latin2)) / Math.log(t1 / conformal(eccentricity2, latin2));
  return { n, scale_m: (earth_m * m(latin1)) / (n * t1 ** n) };
}

/** t of Snyder eq. 15-9: tangent of half the conformal colatitude. */
function conformal(eccentricity2: number, lat: number): number {
  const e = Math.sqrt(eccentricity2);
  const es = e * Math.sin(lat * RAD);
  return Math.tan(Math.PI / 4 - (lat * RAD) / 2) / ((1 - es) / (1 + es)) ** (e / 2);
}

/** An angle in 0 .. 360. */
function wrap360(degrees: number): number {
  return ((degrees % 360) + 360) % 360;
}

/** An angle in -180 .. 180. */
function wrap180(degrees: number): number {
  return wrap360(degrees + 180) - 180;
}
