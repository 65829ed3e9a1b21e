import { KM_PER_DEG, KM_PER_DEG_EQUATOR } from '../../schemas/geo/constants.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MIN, stormDateStart, timestamp, utcDate } from '../../schemas/time.ts';
import { METRES_PER_MILE, MM_PER_INCH } from '../../schemas/units.ts';
import { between, type Draw, drawsOf, hashOf, normal, uniformOf } from './random.ts';
import { coreFall, coreReach, coresOf, distanceFrom, type StormCore } from './storm-core.ts';
import { type Storm, stormAt, stormsBetween } from './storms.ts';
import { isInWindow, offsetPosition, type Scenario, windTowards } from './weather.ts';

/** Longest interval between scans that counts as observed. */
const MAX_SCAN_GAP_MS = 10 * MS_PER_MIN;
/** Smallest hail of the SPC list, inches: severe. */
const SPC_SMALLEST_IN = 1;
/** Time step of the hail on the ground. */
const STEP_MS = 2 * MS_PER_MIN;
/** Squares with at most one report per storm: about 25 km2. */
const SQUARE_LAT_DEG = 0.045;
const SQUARE_LON_DEG = 0.055;
const SMALLEST_MESH_MM = 10;
/** Largest pixel of a square over the smooth core at its centre, because of texture. */
const LARGEST_OF_SQUARE = 1.25;
/** Smallest reported hail, mm. */
const SMALLEST_REPORT_MM = 19;

/** Sizes of the objects that spotters compare hail with, inches. */
const OBJECTS_IN = [0.75, 0.88, 1, 1.25, 1.5, 1.75, 2, 2.5, 2.75, 3, 4, 4.5];

/** A ground report of hail. */
interface HailReport extends Position {
  /** Time as reported, epoch milliseconds at a whole minute. */
  readonly valid_ms: number;
  /** Issue time of the product that carries it. */
  readonly issued_ms: number;
  readonly size_in: number;
  readonly measured: boolean;
  /** Distance and direction from a named place. */
  readonly location: string;
  /** Storm that produced the hail; not written to files. */
  readonly storm_id: string;
  /** `corrects`: a later report of the same event with another size. `repeats`: a duplicate. */
  readonly kind: 'first' | 'corrects' | 'repeats';
}

/**
 * Reports of hail that fell in [from_ms, to_ms) and were issued before `issued_before_ms`, in order of time.
 * Size on the ground: ln D = 1.18 + 0.62 ln MESH + 0.28 N. Hail falls for 5-8 minutes and drifts 1-4 km with the wind. The chance
 * of a report depends on the population. Errors: 1.5 km, 6 minutes, sizes rounded to known objects.
 */
function hailReports(scenario: Scenario, from_ms: number, to_ms: number, issued_before_ms: number): HailReport[] {
  const reports = stormsBetween(scenario, from_ms - 60 * MS_PER_MIN, to_ms).flatMap((storm) =>
    reportsOfStorm(scenario, storm),
  );
  return reports
    .filter(({ valid_ms, issued_ms }) => valid_ms >= from_ms && valid_ms < to_ms && issued_ms < issued_before_ms)
    .filter((report) => isInWindow(scenario, report))
    .sort((a, b) => a.valid_ms - b.valid_ms || a.issued_ms - b.issued_ms || a.lat - b.lat || a.lon - b.lon);
}

/** Largest MESH of a storm in a square, and its time. */
interface Hit {
  readonly square_row: number;
  readonly square_col: number;
  mesh_mm: number;
  time_ms: number;
}

function reportsOfStorm(scenario: Scenario, storm: Storm): HailReport[] {
  if (storm.peak_mm < SMALLEST_MESH_MM) return [];
  const hits = new Map<number, Hit>();
  for (let time_ms = storm.birth_ms; time_ms < storm.birth_ms + storm.life_ms; time_ms += STEP_MS)
    for (const core of coresOf(stormAt(storm, time_ms), time_ms)) hitAround(core, time_ms, hits);
  return [...hits.values()].flatMap((hit) => {
    const draw = drawsOf(scenario.seed, storm.key, hit.square_row, hit.square_col);
    const size_mm = Math.exp(1.18 + 0.62 * Math.log(hit.mesh_mm) + 0.28 * normal(draw));
    if (size_mm < SMALLEST_REPORT_MM || draw() >= reportChance(hit)) return [];
    return withFollowUps(firstReport(storm, hit, size_mm, draw), draw);
  });
}

/** Probability that hail in a square is reported: .02 in empty country to .4 in towns; equal in every scenario. */
function reportChance({ square_row, square_col }: Hit): number {
  return 0.02 + 0.38 * uniformOf(0x9e091e, square_row, square_col) ** 3;
}

/** Raises the squares around a core to the MESH at their centres. */
function hitAround(core: StormCore, time_ms: number, hits: Map<number, Hit>): void {
  const reach_km = 1.4 * core.along_km * coreReach(LARGEST_OF_SQUARE * core.peak_mm, SMALLEST_MESH_MM);
  if (reach_km === 0) return;
  const km_per_lon = KM_PER_DEG_EQUATOR * Math.cos((core.lat * Math.PI) / 180);
  const rows = reach_km / KM_PER_DEG / SQUARE_LAT_DEG;
  const cols = reach_km / km_per_lon / SQUARE_LON_DEG;
  const row = core.lat / SQUARE_LAT_DEG;
  const col = core.lon / SQUARE_LON_DEG;
  for (let square_row = Math.floor(row - rows); square_row <= row + rows; square_row += 1)
    for (let square_col = Math.floor(col - cols); square_col <= col + cols; square_col += 1) {
      const north_km = ((square_row + 0.5) * SQUARE_LAT_DEG - core.lat) * KM_PER_DEG;
      const east_km = ((square_col + 0.5) * SQUARE_LON_DEG - core.lon) * km_per_lon;
      const mesh_mm = LARGEST_OF_SQUARE * core.peak_mm * coreFall(distanceFrom(core, east_km, north_km));
      if (mesh_mm < SMALLEST_MESH_MM) continue;
      const square = hashOf(square_row, square_col);
      const hit = hits.get(square);
      if (!hit) hits.set(square, { square_row, square_col, mesh_mm, time_ms });
      else if (mesh_mm > hit.mesh_mm) Object.assign(hit, { mesh_mm, time_ms });
    }
}

function firstReport(storm: Storm, hit: Hit, size_mm: number, draw: Draw): HailReport {
  const middle = {
    lat: (hit.square_row + draw()) * SQUARE_LAT_DEG,
    lon: (hit.square_col + draw()) * SQUARE_LON_DEG,
  };
  const drift = windTowards(storm.direction_deg - 20, between(draw, 1, 4));
  const at = offsetPosition(middle, drift.east + 1.5 * normal(draw), drift.north + 1.5 * normal(draw));
  const fell_ms = hit.time_ms + between(draw, 5, 8) * MS_PER_MIN;
  const valid_ms = Math.round((fell_ms + 6 * MS_PER_MIN * normal(draw)) / MS_PER_MIN) * MS_PER_MIN;
  const issued_ms = Math.round(Math.max(valid_ms, fell_ms) / MS_PER_MIN + between(draw, 4, 45)) * MS_PER_MIN;
  return {
    lat: Math.round(at.lat * 100) / 100,
    lon: Math.round(at.lon * 100) / 100,
    valid_ms,
    issued_ms,
    size_in: reportedSize(size_mm / MM_PER_INCH, draw),
    measured: draw() < 0.15,
    location: locationOf(at),
    storm_id: storm.storm_id,
    kind: 'first',
  };
}

/** Reported size: that of the nearest object, biased towards quarter and golf ball between the two. */
function reportedSize(size_in: number, draw: Draw): number {
  const favoured = draw() < 0.45;
  const near = (a: number, b: number) => (Math.abs(Math.log(size_in / a)) < Math.abs(Math.log(size_in / b)) ? a : b);
  if (favoured && size_in > 0.9 && size_in < 1.9) return near(1, 1.75);
  return OBJECTS_IN.reduce(near);
}

/** The first report, for a few events followed by a corrected size or a duplicate in a later product. */
function withFollowUps(first: HailReport, draw: Draw): HailReport[] {
  const fate = draw();
  const issued_ms = first.issued_ms + Math.round(between(draw, 7, 90)) * MS_PER_MIN;
  if (fate < 0.04) {
    const place = OBJECTS_IN.indexOf(first.size_in) + (draw() < 0.7 ? 1 : -1);
    const size_in = OBJECTS_IN[Math.min(OBJECTS_IN.length - 1, Math.max(0, place))];
    return [first, { ...first, issued_ms, size_in, kind: 'corrects' }];
  }
  return fate < 0.07 ? [first, { ...first, issued_ms, kind: 'repeats' }] : [first];
}

const WINDS = ['N', 'NNE', 'NE', 'ENE', 'E', 'ESE', 'SE', 'SSE', 'S', 'SSW', 'SW', 'WSW', 'W', 'WNW', 'NW', 'NNW'];
/** Side of the squares with one named place each, degrees. */
const PLACE_DEG = 0.2;

/** Location such as `3 NE SIM352-0974`: whole miles from the place of the surrounding square, which is named after its corner. */
function locationOf({ lat, lon }: Position): string {
  const row = Math.floor(lat / PLACE_DEG);
  const col = Math.floor(lon / PLACE_DEG);
  const north = (lat - (row + uniformOf(0x70, row, col)) * PLACE_DEG) * KM_PER_DEG;
  const east =
    (lon - (col + uniformOf(0x71, row, col)) * PLACE_DEG) * KM_PER_DEG_EQUATOR * Math.cos((lat * Math.PI) / 180);
  const miles = Math.round((Math.hypot(east, north) * 1000) / METRES_PER_MILE);
  const name = `SIM${Math.round(row * PLACE_DEG * 10)}-${String(Math.round(-col * PLACE_DEG * 10)).padStart(4, '0')}`;
  if (miles === 0) return name;
  const sector = Math.round(((Math.atan2(east, north) / (2 * Math.PI)) * 16 + 16) % 16) % 16;
  return `${miles} ${WINDS[sector]} ${name}`;
}

/** A text file below the output folder. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Ground reports at `to_ms`: the SPC hail list of each convective day that [from_ms, to_ms) touches, and the local storm reports of
 * each UTC date in the form of the Iowa archive. Only hail at observed times is reported. `scan_times`: all scans of those days,
 * ascending. Each file holds its whole day so far, so that a later run replaces it by a longer one.
 */
export function reportFiles(
  scenario: Scenario,
  from_ms: number,
  to_ms: number,
  scan_times: readonly number[],
): TextFile[] {
  const reportsOf = (start_ms: number) =>
    hailReports(scenario, start_ms, start_ms + MS_PER_DAY, to_ms).filter(({ valid_ms }) =>
      isSeen(valid_ms, scan_times),
    );
  return [
    ...daysOf(from_ms, to_ms, 12).map(({ date, start_ms }) => ({
      path: `reports/spc/${date.slice(2).replaceAll('-', '')}_rpts_hail.csv`,
      text: spcCsv(reportsOf(start_ms)),
    })),
    ...daysOf(from_ms, to_ms, 0).map(({ date, start_ms }) => ({
      path: `reports/lsr/lsr_${date.replaceAll('-', '')}.geojson`,
      text: lsrGeoJson(reportsOf(start_ms)),
    })),
  ];
}

/** True for an instant between two scans that follow one another without a gap. */
function isSeen(time_ms: number, scan_times: readonly number[]): boolean {
  const next = scan_times.findIndex((scan_time) => scan_time >= time_ms);
  const after = scan_times[next];
  if (after === undefined) return false;
  const before = scan_times[next - 1];
  return after === time_ms || (before !== undefined && after - before <= MAX_SCAN_GAP_MS);
}

function daysOf(from_ms: number, to_ms: number, start_hour: number): { date: string; start_ms: number }[] {
  const days = [];
  let date = utcDate(from_ms - start_hour * MS_PER_HOUR);
  for (let start_ms = stormDateStart(date, start_hour); start_ms < to_ms; start_ms += MS_PER_DAY) {
    date = utcDate(start_ms);
    days.push({ date, start_ms });
  }
  return days;
}

/** SPC hail list: the last report of each event with hail >= 1 inch; times are HHMM UTC, sizes hundredths of an inch. */
function spcCsv(reports: readonly HailReport[]): string {
  const corrected = new Set(reports.filter(({ kind }) => kind === 'corrects').map(eventOf));
  const rows = reports
    .filter((report) => report.size_in >= SPC_SMALLEST_IN)
    .filter((report) => report.kind !== 'first' || !corrected.has(eventOf(report)))
    .map((report) =>
      [
        timestamp(report.valid_ms).slice(11, 16).replace(':', ''),
        Math.round(100 * report.size_in),
        report.location,
        'SIMULATED',
        'XX',
        report.lat.toFixed(2),
        report.lon.toFixed(2),
        'SIMULATED REPORT. (SIM)',
      ].join(','),
    );
  return `${['Time,Size,Location,County,State,Lat,Lon,Comments', ...rows].join('\n')}\n`;
}

function eventOf({ valid_ms, lat, lon, storm_id }: HailReport): string {
  return `${storm_id} ${valid_ms} ${lat} ${lon}`;
}

function lsrGeoJson(reports: readonly HailReport[]): string {
  const features = reports.map((report) => ({
    type: 'Feature',
    properties: {
      valid: timestamp(report.valid_ms),
      magnitude: report.size_in,
      city: report.location,
      county: 'SIMULATED',
      state: 'XX',
      remark: remarkOf(report),
      wfo: 'SIM',
      typetext: 'HAIL',
      product_id: `${timestamp(report.issued_ms).slice(0, 16).replaceAll(/[-:T]/g, '')}-KSIM-NWUS54-LSRSIM`,
      unit: 'Inch',
      qualifier: report.measured ? 'M' : 'E',
    },
    geometry: { type: 'Point', coordinates: [report.lon, report.lat] },
  }));
  return `${JSON.stringify({ type: 'FeatureCollection', features })}\n`;
}

function remarkOf({ kind, location }: HailReport): string {
  if (kind === 'corrects') return `Corrects previous hail report from ${location}. Simulated.`;
  return 'Simulated report.';
}
