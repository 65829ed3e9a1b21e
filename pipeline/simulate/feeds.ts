import { KM_PER_DEG, KM_PER_DEG_EQUATOR, RAD_PER_DEG } from '../../schemas/geo/constants.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MIN, stormDateStart, timestamp, utcDate } from '../../schemas/time.ts';
import { MM_PER_INCH, MS_PER_KNOT } from '../../schemas/units.ts';
import { between, drawsOf, normal, uniformOf } from './random.ts';
import { coreFall, coresOf, distanceFrom } from './storm-core.ts';
import { type Storm, stormAt, stormsBetween } from './storms.ts';
import { isInWindow, offsetPosition, type Scenario, shifted, windTowards } from './weather.ts';

/** A text file below the output folder. */
interface TextFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Files of the other feeds at `to_ms` about the weather of [from_ms, to_ms): hail reports, warnings and outlooks in the formats of
 * their sources, marked as simulated. `scan_times`: all scans of the days that the span touches, ascending; reports refer to them.
 */
export function feedFiles(
  scenario: Scenario,
  from_ms: number,
  to_ms: number,
  scan_times: readonly number[],
): TextFile[] {
  const reportsOf = (start_ms: number) => hailReports(scenario, start_ms, to_ms, scan_times);
  return [
    ...daysOf(from_ms, to_ms, 12).map((start_ms) => ({
      path: `reports/spc/${dateDigits(start_ms).slice(2)}_rpts_hail.csv`,
      text: spcCsv(reportsOf(start_ms)),
    })),
    ...daysOf(from_ms, to_ms, 0).map((start_ms) =>
      collectionFile(`reports/lsr/lsr_${dateDigits(start_ms)}.geojson`, reportsOf(start_ms).map(lsrFeature)),
    ),
    collectionFile('alerts/alerts.json', alertFeatures(scenario, to_ms)),
    ...outlookFiles(scenario, to_ms),
  ];
}

function collectionFile(path: string, features: readonly object[]): TextFile {
  return { path, text: `${JSON.stringify({ type: 'FeatureCollection', features })}\n` };
}

/** Starts of the days that [from_ms, to_ms) touches, which begin at an hour UTC. */
function daysOf(from_ms: number, to_ms: number, start_hour: number): number[] {
  const starts: number[] = [];
  const first_ms = stormDateStart(utcDate(from_ms - start_hour * MS_PER_HOUR), start_hour);
  for (let start_ms = first_ms; start_ms < to_ms; start_ms += MS_PER_DAY) starts.push(start_ms);
  return starts;
}

/** `20260501`. */
function dateDigits(time_ms: number): string {
  return utcDate(time_ms).replaceAll('-', '');
}

/** `202605012012`. */
function minuteDigits(time_ms: number): string {
  return timestamp(time_ms).slice(0, 16).replaceAll(/[-T:]/g, '');
}

function hundredths(degrees: number): number {
  return Math.round(degrees * 100) / 100;
}

/** Longest interval between scans that counts as observed. */
const MAX_SCAN_GAP_MS = 10 * MS_PER_MIN;
/** Smallest hail of the SPC list, inches: severe. */
const SPC_SMALLEST_IN = 1;
/** Largest pixel over the MESH of a core: texture adds about a third. */
const LARGEST_OF_CORE = 1.35;
/** Time step of hail on the ground, and of its warnings. */
const STEP_MS = 2 * MS_PER_MIN;
/** Side of the squares that are town or country. */
const TOWN_DEG = 0.05;
/** Smallest reported hail, mm. */
const SMALLEST_REPORT_MM = 19;
/** Sizes of the objects that spotters compare hail with, inches. */
const OBJECTS_IN = [0.75, 0.88, 1, 1.25, 1.5, 1.75, 2, 2.5, 2.75, 3, 4, 4.5];

/** A ground report of hail; times at whole minutes. */
interface HailReport extends Position {
  readonly valid_ms: number;
  readonly issued_ms: number;
  readonly size_in: number;
  readonly measured: boolean;
  readonly location: string;
}

/**
 * Reports of the observed hail of the day from `start_ms` that were issued before `to_ms`, in order of time.
 * Size on the ground: ln D = 1.18 + 0.62 ln MESH + 0.28 N. Hail falls for 5-8 minutes and drifts 1-4 km with the wind. The chance
 * of a report depends on the population. Errors: 1.5 km, 6 minutes, sizes rounded to known objects.
 */
function hailReports(scenario: Scenario, start_ms: number, to_ms: number, scan_times: readonly number[]): HailReport[] {
  const end_ms = start_ms + MS_PER_DAY;
  return stormsBetween(scenario, start_ms - 60 * MS_PER_MIN, end_ms)
    .flatMap((storm) => reportsOfStorm(scenario, storm))
    .filter(({ valid_ms, issued_ms }) => valid_ms >= start_ms && valid_ms < end_ms && issued_ms < to_ms)
    .filter((report) => isInWindow(scenario, report) && isSeen(report.valid_ms, scan_times))
    .sort((a, b) => a.valid_ms - b.valid_ms || a.issued_ms - b.issued_ms || a.lat - b.lat || a.lon - b.lon);
}

/** True for an instant between two scans that follow one another without a gap. */
function isSeen(time_ms: number, scan_times: readonly number[]): boolean {
  const next = scan_times.findIndex((scan_time) => scan_time >= time_ms);
  const after = scan_times[next];
  return after !== undefined && (after === time_ms || after - scan_times[next - 1] <= MAX_SCAN_GAP_MS);
}

/** Reports of a storm: each step draws a place near one of its cores, where an observer is present by chance. */
function reportsOfStorm({ seed }: Scenario, storm: Storm): HailReport[] {
  const reports: HailReport[] = [];
  for (let time_ms = storm.birth_ms; time_ms < storm.birth_ms + storm.life_ms; time_ms += STEP_MS) {
    const draw = drawsOf(seed, storm.key, Math.floor(time_ms));
    const cores = coresOf(stormAt(storm, time_ms), time_ms);
    const core = cores[Math.floor(draw() * cores.length)];
    if (core === undefined) continue;
    const [east_km, north_km] = [0.5 * core.core_km * normal(draw), 0.5 * core.core_km * normal(draw)];
    const mesh_mm = LARGEST_OF_CORE * core.peak_mm * coreFall(distanceFrom(core, east_km, north_km));
    const size_mm = Math.exp(1.18 + 0.62 * Math.log(mesh_mm) + 0.28 * normal(draw));
    const drift = windTowards(storm.direction_deg - 20, between(draw, 1, 4));
    const at = offsetPosition(
      core,
      east_km + drift.east + 1.5 * normal(draw),
      north_km + drift.north + 1.5 * normal(draw),
    );
    // .02 in empty country to .4 in towns, equal in every scenario.
    const chance = 0.02 + 0.38 * uniformOf(0x9e091e, Math.floor(at.lat / TOWN_DEG), Math.floor(at.lon / TOWN_DEG)) ** 3;
    if (size_mm < SMALLEST_REPORT_MM || draw() >= chance) continue;
    const fell_ms = time_ms + between(draw, 5, 8) * MS_PER_MIN;
    const valid_ms = Math.round((fell_ms + 6 * MS_PER_MIN * normal(draw)) / MS_PER_MIN) * MS_PER_MIN;
    reports.push({
      lat: hundredths(at.lat),
      lon: hundredths(at.lon),
      valid_ms,
      issued_ms: Math.round(Math.max(valid_ms, fell_ms) / MS_PER_MIN + between(draw, 4, 45)) * MS_PER_MIN,
      size_in: nearestObject(size_mm / MM_PER_INCH),
      measured: draw() < 0.15,
      // Tenths of a degree of the place.
      location: `SIM${Math.round(10 * at.lat)}-${Math.round(-10 * at.lon)}`,
    });
  }
  return reports;
}

function nearestObject(size_in: number): number {
  const near = (a: number, b: number) => (Math.abs(Math.log(size_in / a)) < Math.abs(Math.log(size_in / b)) ? a : b);
  return OBJECTS_IN.reduce(near);
}

/** SPC hail list: reports of hail >= 1 inch; times are HHMM UTC, sizes hundredths of an inch. */
function spcCsv(reports: readonly HailReport[]): string {
  const rows = reports
    .filter(({ size_in }) => size_in >= SPC_SMALLEST_IN)
    .map(({ valid_ms, size_in, location, lat, lon }) => {
      const place = `${location},SIMULATED,XX,${lat.toFixed(2)},${lon.toFixed(2)}`;
      return `${minuteDigits(valid_ms).slice(8)},${Math.round(100 * size_in)},${place},SIMULATED REPORT. (SIM)`;
    });
  return `${['Time,Size,Location,County,State,Lat,Lon,Comments', ...rows].join('\n')}\n`;
}

function lsrFeature({ valid_ms, issued_ms, size_in, measured, location, lat, lon }: HailReport): object {
  return {
    type: 'Feature',
    properties: {
      valid: timestamp(valid_ms),
      magnitude: size_in,
      city: location,
      county: 'SIMULATED',
      state: 'XX',
      remark: 'Simulated report.',
      wfo: 'SIM',
      typetext: 'HAIL',
      product_id: `${minuteDigits(issued_ms)}-KSIM-NWUS54-LSRSIM`,
      unit: 'Inch',
      qualifier: measured ? 'M' : 'E',
    },
    geometry: { type: 'Point', coordinates: [lon, lat] },
  };
}

/** Hail size from which on a storm is severe, and a warning is issued. */
const SEVERE_MM = MM_PER_INCH;
/** Delay from the first sign to the warning. */
const DELAY_MS = 4 * MS_PER_MIN;
const WARNING_MS = 45 * MS_PER_MIN;
/** Interval of updates while the storm lasts. */
const UPDATE_MS = 20 * MS_PER_MIN;
/** Half width of a warning polygon at its start, and its growth to the end, km. */
const HALF_WIDTH_KM = 8;
const WIDENS_KM = 6;

/** One message about a storm. */
interface Message {
  readonly id: string;
  readonly storm: Storm;
  readonly sent_ms: number;
  readonly ends_ms: number;
  readonly action: 'NEW' | 'CON' | 'CAN';
  readonly replaces: string | null;
}

/** Warnings of the day before `to_ms`, the newest first: a polygon ahead of each severe storm. */
function alertFeatures(scenario: Scenario, to_ms: number): object[] {
  const from_ms = to_ms - MS_PER_DAY;
  return stormsBetween(scenario, from_ms, to_ms)
    .flatMap(messagesOf)
    .filter(({ sent_ms }) => sent_ms >= from_ms && sent_ms <= to_ms)
    .filter(({ storm, sent_ms }) => isInWindow(scenario, stormAt(storm, sent_ms)))
    .sort((a, b) => b.sent_ms - a.sent_ms || (a.id < b.id ? -1 : 1))
    .map(alertFeature);
}

/** Messages over the life of a storm: the first warning, updates, and a cancellation when the storm ends early. */
function messagesOf(storm: Storm): Message[] {
  const severe_ms: number[] = [];
  for (let time_ms = storm.birth_ms; time_ms < storm.birth_ms + storm.life_ms; time_ms += STEP_MS)
    if (largestAt(storm, time_ms) >= SEVERE_MM) severe_ms.push(time_ms);
  const to_ms = severe_ms.at(-1);
  if (to_ms === undefined) return [];
  const messages: Message[] = [];
  const add = (sent_ms: number, ends_ms: number, action: Message['action']) => {
    const id = `urn:oid:simulated.${storm.storm_id}.${dateDigits(sent_ms)}.${messages.length + 1}`;
    messages.push({ id, storm, sent_ms, ends_ms, action, replaces: messages.at(-1)?.id ?? null });
  };
  let sent_ms = wholeMinute(severe_ms[0] + DELAY_MS);
  add(sent_ms, sent_ms + WARNING_MS, 'NEW');
  for (; sent_ms + UPDATE_MS < to_ms; add(sent_ms, sent_ms + WARNING_MS, 'CON')) sent_ms += UPDATE_MS;
  const ended_ms = wholeMinute(Math.max(to_ms, sent_ms + STEP_MS));
  const ends_ms = sent_ms + WARNING_MS;
  if (ended_ms < ends_ms - 10 * MS_PER_MIN) add(ended_ms, ends_ms, 'CAN');
  return messages;
}

function wholeMinute(time_ms: number): number {
  return Math.ceil(time_ms / MS_PER_MIN) * MS_PER_MIN;
}

function largestAt(storm: Storm, time_ms: number): number {
  return LARGEST_OF_CORE * stormAt(storm, time_ms).peak_mm;
}

function alertFeature({ id, storm, sent_ms, ends_ms, action, replaces }: Message): object {
  const { lat, lon, direction_deg, speed_ms } = stormAt(storm, sent_ms);
  const size_in = Math.max(1, Math.round((4 * largestAt(storm, sent_ms)) / MM_PER_INCH) / 4);
  const from_deg = Math.round(direction_deg + 180) % 360;
  const event = 'Severe Thunderstorm Warning';
  const [sent, ends] = [timestamp(sent_ms), timestamp(ends_ms)];
  const motion = `${String(from_deg).padStart(3, '0')}DEG...${Math.round(speed_ms / MS_PER_KNOT)}KT`;
  const number = String(1 + (storm.key % 9999)).padStart(4, '0');
  return {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [warningRing(storm, sent_ms, ends_ms)] },
    properties: {
      id,
      areaDesc: 'Simulated',
      references: replaces === null ? [] : [{ identifier: replaces, sender: 'simulated' }],
      sent,
      expires: ends,
      ends,
      status: 'Actual',
      messageType: { NEW: 'Alert', CON: 'Update', CAN: 'Cancel' }[action],
      severity: 'Severe',
      event,
      sender: 'simulated',
      senderName: 'Simulated',
      headline: `${event} (simulated) issued ${sent} until ${ends}`,
      parameters: {
        eventMotionDescription: [`${sent}...storm...${motion}...${lat.toFixed(2)},${lon.toFixed(2)}`],
        maxWindGust: ['60 MPH'],
        maxHailSize: [size_in.toFixed(2)],
        VTEC: [`/O.${action}.KSIM.SV.W.${number}.${vtecTime(sent_ms)}-${vtecTime(ends_ms)}/`],
        eventEndingTime: [ends],
      },
    },
  };
}

/** `260501T2012Z`. */
function vtecTime(time_ms: number): string {
  return `${timestamp(time_ms).slice(2, 16).replaceAll(/[-:]/g, '')}Z`;
}

/** Ring around the path extrapolated from the motion at `sent_ms`. */
function warningRing(storm: Storm, sent_ms: number, ends_ms: number): number[][] {
  const state = stormAt(storm, sent_ms);
  const { direction_deg, speed_ms } = state;
  const length_km = Math.max(10, (speed_ms * (ends_ms - sent_ms)) / 1e6);
  const start = shifted(state, direction_deg + 180, HALF_WIDTH_KM);
  const end = shifted(state, direction_deg, length_km + HALF_WIDTH_KM);
  const wide_km = HALF_WIDTH_KM + WIDENS_KM;
  const ring = [
    shifted(start, direction_deg + 90, HALF_WIDTH_KM),
    shifted(end, direction_deg + 90, wide_km),
    shifted(end, direction_deg - 90, wide_km),
    shifted(start, direction_deg - 90, HALF_WIDTH_KM),
  ].map(({ lat, lon }) => [hundredths(lon), hundredths(lat)]);
  return [...ring, ring[0]];
}

/** Sampling interval of storms for outlooks. */
const SAMPLE_MS = 15 * MS_PER_MIN;
/** Smallest spread of a forecast, km. */
const SMALLEST_SPREAD_KM = 60;
const CORNERS = 24;
/** Growth of the areas per day of lead. */
const WIDENS_BY_DAY = 0.25;
/** Last day with an area, as is usual. */
const LAST_WITH_AREAS = 5;

/** Labels of the areas, each with its extent in standard deviations of the places of hail. */
type Areas = readonly (readonly [label: string, deviations: number])[];

const CATEGORIES: Areas = [
  ['TSTM', 3.5],
  ['MRGL', 2.6],
  ['SLGT', 2],
  ['ENH', 1.3],
];
const PROBABILITIES: Areas = [
  ['0.05', 2.6],
  ['0.15', 2],
  ['0.30', 1.3],
];
const LATE_PROBABILITY: Areas = [['0.15', 2]];

/** Layers of categories and of hail in the outlooks of days 1 to 8 in force at `to_ms`, around the hail of the scenario. */
function outlookFiles(scenario: Scenario, to_ms: number): TextFile[] {
  const today_ms = stormDateStart(utcDate(to_ms - 12 * MS_PER_HOUR), 12);
  const issued_ms = to_ms >= today_ms + 8 * MS_PER_HOUR ? today_ms + 8 * MS_PER_HOUR : today_ms;
  return [1, 2, 3, 4, 5, 6, 7, 8].flatMap((day) => {
    const begins_ms = today_ms + (day - 1) * MS_PER_DAY;
    const hail = day > LAST_WITH_AREAS ? null : hailArea(scenario, begins_ms, begins_ms + MS_PER_DAY);
    const layer = (name: string, areas: Areas): TextFile => {
      const shapes = hail === null ? [['', null] as const] : areas;
      const features = shapes.map(([label, deviations]) => {
        const rings =
          hail === null || deviations === null
            ? []
            : [[ringAround(hail, deviations * (1 + WIDENS_BY_DAY * (day - 1)))]];
        return {
          type: 'Feature',
          geometry: { type: 'MultiPolygon', coordinates: rings },
          properties: {
            VALID: minuteDigits(day === 1 ? issued_ms : begins_ms),
            EXPIRE: minuteDigits(begins_ms + MS_PER_DAY),
            ISSUE: minuteDigits(day === 1 ? issued_ms : today_ms),
            LABEL: label,
            LABEL2: 'Simulated',
            SOURCE: 'simulated',
          },
        };
      });
      return collectionFile(`outlooks/${name}.nolyr.geojson`, features);
    };
    if (day > 3) return [layer(`day${day}prob`, LATE_PROBABILITY)];
    // Day 2 lacks the highest label, day 3 the two highest.
    const lowered = (areas: Areas) => areas.slice(0, areas.length - (day - 1));
    return [
      layer(`day${day}otlk_cat`, lowered(CATEGORIES)),
      layer(`day${day}otlk_${day === 3 ? 'prob' : 'hail'}`, lowered(PROBABILITIES)),
    ];
  });
}

/** Hail of a time span: the mean of its places, and their standard deviation to the north and to the east. */
interface HailArea extends Position {
  readonly north_km: number;
  readonly east_km: number;
}

/** Area of severe hail in [from_ms, to_ms), within the window of a scenario; null without any. */
function hailArea(scenario: Scenario, from_ms: number, to_ms: number): HailArea | null {
  const places: Position[] = [];
  for (const storm of stormsBetween(scenario, from_ms, to_ms)) {
    const end_ms = Math.min(to_ms, storm.birth_ms + storm.life_ms);
    for (let time_ms = Math.max(from_ms, storm.birth_ms); time_ms < end_ms; time_ms += SAMPLE_MS) {
      const state = stormAt(storm, time_ms);
      if (LARGEST_OF_CORE * state.peak_mm >= SEVERE_MM && isInWindow(scenario, state)) places.push(state);
    }
  }
  if (places.length === 0) return null;
  const lat = mean(places.map((place) => place.lat));
  const lon = mean(places.map((place) => place.lon));
  const km_per_lon = KM_PER_DEG_EQUATOR * Math.cos(lat * RAD_PER_DEG);
  return {
    lat,
    lon,
    north_km: spreadKm(places.map((place) => (place.lat - lat) * KM_PER_DEG)),
    east_km: spreadKm(places.map((place) => (place.lon - lon) * km_per_lon)),
  };
}

/** Closed ring, counter-clockwise, around an area at a number of its standard deviations. */
function ringAround(area: HailArea, deviations: number): number[][] {
  const ring = Array.from({ length: CORNERS }, (_, corner) => {
    const { east, north } = windTowards(90 - (360 * corner) / CORNERS, 1);
    const { lat, lon } = offsetPosition(area, east * deviations * area.east_km, north * deviations * area.north_km);
    return [hundredths(lon), hundredths(lat)];
  });
  return [...ring, ring[0]];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function spreadKm(values: readonly number[]): number {
  return Math.max(SMALLEST_SPREAD_KM, Math.sqrt(mean(values.map((value) => value * value))));
}
