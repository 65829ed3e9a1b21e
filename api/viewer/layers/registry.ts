import type { Feature, GeoJsonProperties, Geometry, Position } from 'geojson';
import type { FilterSpecification } from 'maplibre-gl';
import type { MonitoredAreas } from '../../../schemas/resources/area.ts';
import type { SpcOutlookAnswer } from '../../../schemas/resources/convective-outlook.ts';
import type { PortfolioLocations } from '../../../schemas/resources/portfolio-location.ts';
import type { Subscription } from '../../../schemas/resources/subscription.ts';
import type { Warnings } from '../../../schemas/resources/warning.ts';
import { daysBetween, MS_PER_DAY } from '../../../schemas/time.ts';
import { remembered } from '../page/page.ts';
import { MM_PER_INCH, REFLECTIVITY } from '../page/palette.ts';
import { clockInWords, counted, dateInWords, motionInWords, timeInWords } from '../page/words.ts';
import { service, theMap } from '../site.ts';
import { chosenFrame, state } from '../state.ts';
import { isNewest } from '../time/dates.ts';
import { CONE_ERROR, circle, placeAway } from './layer.ts';

export type Shown = ReturnType<typeof shown>;
/** Dates, time range and map centre that layers depend on. */
export function shown() {
  const { day, view, place } = state;
  const frame = view === 'scan' ? chosenFrame() : undefined;
  const times = frame ? [frame] : (day?.frames ?? []);
  const date = day?.date ?? '';
  return {
    /** The scans of the last 24 hours may begin on the date before. */
    first_date: day?.before?.scans ? day.before.date : date,
    date,
    /** Of a scan both are its time; not a number without scans. */
    from_ms: Date.parse(times[0]?.scan_time),
    until_ms: Date.parse(times.at(-1)?.scan_time ?? ''),
    middle: place ?? { lat: 38, lon: -96 },
  };
}

/** Content of a layer as it came from the service. */
export interface Reading {
  /** Null where the service has nothing of this kind: the note says why. */
  readonly features: readonly Feature[] | null;
  /** What the reader should know of it: how much there is, up to when it is known. */
  readonly note: string | null;
}

/** A layer of the map, as its card shows it. */
export interface MapLayer {
  readonly id: string;
  readonly label: string;
  /** Kinds of marks, for the key in the card. */
  readonly key?: readonly (readonly [words: string, color: string, ...more: string[]])[];
  /** The content does not depend on the date. Dated layers need scans and are read for the dates shown. */
  readonly is_undated?: true;
  /** Radius of the request, km. The content stays valid until the map centre moves by half of it. */
  readonly radius_km?: number;
  /** Price of a reading in words: `8 credits`. A layer without it is free: the map has it already. */
  readonly price?: string;
  readonly read?: (shown: Shown) => Promise<Reading>;
  /** Why the layer is not available for what is shown; null where it is. */
  readonly unavailable?: (shown: Shown) => string | null;
  /** Features to draw, where these are not what was read. */
  readonly visible?: (read: readonly Feature[], shown: Shown) => readonly Feature[];
  /** Summary of what is drawn, before the note of the reading. */
  readonly inWords: (visible: readonly Feature[], read: readonly Feature[]) => string;
}

const point = (at: Position) => ({ type: 'Point', coordinates: at }) as const;

/** Those lines that hold. */
export const lines = (...given: (string | false | null | undefined)[]) => given.filter(Boolean);

/** A feature with what a click on it says, and further attributes for its marks. */
const item = (
  geometry: Geometry,
  title: string,
  said: Parameters<typeof lines>,
  more: GeoJsonProperties = {},
): Feature => ({
  type: 'Feature',
  geometry,
  properties: { title, said: lines(...said).join('\n'), ...more },
});

/** Minutes of the marks along the course; the last is the end of the cone. */
const LEADS_MIN = [15, 30, 45] as const;
/** Slower storms have no course worth drawing. */
const LEAST_KMH = 5;
const ARC_STEPS = 10;

/** Storms of the scan with a motion, as its tiles have them; tiles overlap, so a storm may be in two. */
function movingStorms(): Feature[] {
  const map = state.drawn > 0 ? theMap()?.map : null;
  const isMoving: FilterSpecification = ['>=', ['coalesce', ['get', 'speed_kmh'], 0], LEAST_KMH];
  const drawn = map?.querySourceFeatures('hail', { sourceLayer: 'storms', filter: isMoving }) ?? [];
  const byId = new Map(drawn.map((storm) => [String(storm.properties.track_id), storm]));
  return [...byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, storm]) => storm);
}

/** Cone of a storm: where it is after up to 45 minutes, as far as its course and speed are known. */
function coneFeatures({ geometry, properties }: Feature): Feature[] {
  const { speed_kmh, direction_deg, mm } = properties ?? {};
  const at = geometry.type === 'Point' ? geometry.coordinates : [];
  const after = (minutes: number, faster_kmh = 0, turned_deg = 0) =>
    placeAway(at, ((speed_kmh + faster_kmh) * minutes) / 60, direction_deg + turned_deg);
  const { speed_error_kmh, direction_error_deg } = CONE_ERROR;
  const arc = Array.from({ length: ARC_STEPS + 1 }, (_, i) =>
    after(LEADS_MIN[2], speed_error_kmh, direction_error_deg * (1 - (2 * i) / ARC_STEPS)),
  );
  const cone = item({ type: 'Polygon', coordinates: [[at, ...arc, at]] }, 'A storm may come here within 45 minutes', [
    `It moves at ${motionInWords(speed_kmh, direction_deg)}`,
    mm !== undefined && `Its largest hail in this scan: ${Math.round(mm)} mm`,
    `The cone is the usual error of course (${direction_error_deg}°) and speed (${speed_error_kmh} km/h).`,
    'The storm may also grow, or end on the way.',
  ]);
  const marks = LEADS_MIN.map((minutes) => item(point(after(minutes)), '', [], { minutes }));
  return [cone, item({ type: 'LineString', coordinates: [at, after(LEADS_MIN[2])] }, '', []), ...marks];
}

/** Largest circle that GET /v1/warnings answers for, and its longest history. */
const RADIUS_KM = 200;
const DAYS_MAX = 30;

/** Warnings by event, watches and discussions by type, the most urgent first. */
const KINDS: Readonly<Record<string, readonly [words: string, color: string]>> = {
  'Tornado Warning': ['Tornado Warning', '#d4001f'],
  'Severe Thunderstorm Warning': ['Severe Thunderstorm Warning', '#e08600'],
  tornado_watch: ['Tornado Watch', '#a8123a'],
  severe_thunderstorm_watch: ['Severe Thunderstorm Watch', '#b3539c'],
  mesoscale_discussion: ['Mesoscale Discussion', '#3d7a8c'],
};

/** The area of a warning or a watch; the end has the clock alone where it is on the day of the begin. */
function inForce(geometry: Geometry, warning: NonNullable<GeoJsonProperties>): Feature {
  const { event, type, issued_at, expires_at, tornado_detection: tornado, headline, areas_affected: areas } = warning;
  const { watch_number, md_number, watch_probability_pct: pct } = warning;
  const kind = event ?? type;
  const [words, color] = KINDS[kind];
  const isOneDay = issued_at.slice(0, 10) === expires_at.slice(0, 10);
  const said = [
    `${timeInWords(issued_at)} to ${isOneDay ? clockInWords(expires_at) : timeInWords(expires_at)}`,
    tornado && `Tornado: ${tornado.replaceAll('_', ' ').toLowerCase()}`,
    headline,
    areas && `Areas: ${areas}`,
    typeof pct === 'number' && `Probability of a watch ${pct} %`,
  ];
  const times = { from_ms: Date.parse(issued_at), until_ms: Date.parse(expires_at) };
  return item(geometry, event ?? `${words} ${watch_number ?? md_number}`, said, { kind, color, ...times });
}

/** Days of history that reach back to the begin of the first date: a reading serves all its scans. */
const daysBack = ({ first_date }: Shown) =>
  Math.max(1, Math.ceil((state.now_ms - Date.parse(first_date)) / MS_PER_DAY));

/** Features that were in force at some instant that is shown. */
const inForceAt = (read: readonly Feature[], { from_ms, until_ms }: Shown) =>
  read.filter(({ properties }) => properties?.from_ms <= until_ms && properties?.until_ms > from_ms);

const daysInWords = () => (state.day?.before ? 'in the last 24 hours' : 'on this date');

const neverCollected = (...feeds: string[]) => feeds.every((feed) => state.never_collected.has(feed));

/** Categories of a convective outlook with the colours that the Storm Prediction Center gives them, a little darker in lines. */
const CATEGORIES: Readonly<Record<string, readonly [words: string, fill: string, line: string]>> = {
  TSTM: ['General Thunderstorms', '#c1e9c1', '#55a055'],
  MRGL: ['Marginal Risk', '#66a366', '#3a7a3a'],
  SLGT: ['Slight Risk', '#ffe066', '#b89600'],
  ENH: ['Enhanced Risk', '#ffa366', '#cc6a14'],
  MDT: ['Moderate Risk', '#e06666', '#b02a2a'],
  HIGH: ['High Risk', '#ee99ee', '#a33aa3'],
};
const NO_OUTLOOKS = 'This service has never collected outlooks.';

/** The export of a date takes a second or two. */
const POLL_MS = 700;
/** Ids of exports that were paid for and have not come: asked again they cost nothing. */
const orders = new Map<string, Promise<string>>();
/** A report is shown with the scans within this time of it. */
const NEAR_MS = 15 * 60_000;

function reportFeature({ geometry, properties }: Feature): Feature {
  const { time, size_mm, place, source, storm_date } = properties ?? {};
  const label = size_mm === null ? 'hail' : `${(size_mm / MM_PER_INCH).toFixed(2)} in (${Math.round(size_mm)} mm)`;
  const said = [
    timeInWords(time),
    place,
    source === 'lsr' ? 'Local storm report' : 'List of the Storm Prediction Center',
    'A report is one observation: larger hail may have fallen near it.',
  ];
  const [from_ms, until_ms] = [Date.parse(time) - NEAR_MS, Date.parse(time) + NEAR_MS];
  return item(geometry, `Reported from the ground: ${label}`, said, { label, from_ms, until_ms, storm_date });
}

/** A layer of places of the reader's own, all of which are drawn, whatever is shown. */
const own = (color: string, words: string, none: string, one: string) => ({
  is_undated: true as const,
  key: [[words, color] as const],
  inWords: ({ length }: readonly Feature[]) => (length === 0 ? none : `${counted(length, one)}.`),
});

const LOCATIONS_PAGE = 200;
/** More locations than these are not read for a picture. */
const LOCATIONS_MAX = 1000;
/** Each area is a call of its own: more would use up the calls of a minute. */
const AREAS_MAX = 20;
const ALERTS_MAX = 100;

async function areaFeature({ id, kind, name, area_sq_mi }: MonitoredAreas['areas'][number]) {
  const said = ['An area that you watch', `${area_sq_mi} square miles`];
  if (kind === 'polygon') return item((await service.call(`/areas/${id}/geometry`)).geometry, name, said);
  const { lat, lng } = (await service.call(`/areas/${id}`)).point;
  return item(point([lng, lat]), name, said);
}

function alertFeature(alert: Subscription): Feature {
  const { lat, lon, name, radius_km, min_size_mm, status, trigger_count, last_triggered_at: last } = alert;
  const said = [
    `Hail of ${min_size_mm} mm or more within ${radius_km} km`,
    status === 'active' ? 'Active' : 'Paused: raises nothing',
    `${counted(trigger_count, 'alert')} so far${last ? `, the last on ${timeInWords(last)}` : ''}`,
  ];
  const geometry: Geometry = { type: 'Polygon', coordinates: [circle([lon, lat], radius_km)] };
  return item(geometry, name || 'Alert subscription', said, { name, status });
}

/** Layers of the card, in its order. */
export const LAYERS: readonly MapLayer[] = [
  {
    id: 'hail',
    label: 'Hail',
    inWords: () => (state.view === 'day' ? 'The whole day' : 'The scan at this time'),
  },
  {
    id: 'smooth',
    label: 'Smoothed outlines',
    inWords: () => 'Rounded for the eye: the radar sees squares of 1 km.',
  },
  {
    id: 'reflectivity',
    label: 'Reflectivity',
    key: REFLECTIVITY.map(({ dbz_min, color }) => [`${dbz_min}`, color]),
    unavailable() {
      if (state.view === 'day') return 'Of single scans: choose “Scan by scan”.';
      return chosenFrame()?.reflectivity_url ? null : 'None is kept for this scan.';
    },
    inWords: () => 'dBZ, this much or more',
  },
  {
    id: 'storms',
    label: 'Storm motion, 45 minutes',
    key: [['course, and its usual error', '#1f5fa8']],
    unavailable: () => (state.view === 'day' ? 'Storms have a motion in a single scan: choose “Scan by scan”.' : null),
    visible: () => movingStorms().flatMap(coneFeatures),
    inWords(visible) {
      const cones = visible.filter(({ geometry }) => geometry.type === 'Polygon');
      return `${counted(cones.length, 'moving storm')} in view`;
    },
  },
  {
    id: 'warnings',
    label: 'Warnings and watches',
    radius_km: RADIUS_KM,
    key: Object.values(KINDS),
    price: '8 credits',
    async read(shown) {
      const { lat, lon } = shown.middle;
      const query = `lat=${lat.toFixed(4)}&lon=${lon.toFixed(4)}&radius_km=${RADIUS_KM}&active=false&days=${daysBack(shown)}`;
      const { warnings, watches, data_as_of, note }: Warnings = await service.call(`/warnings?${query}`);
      const urgency = ({ properties }: Feature) => -Object.keys(KINDS).indexOf(properties?.kind);
      const all = [...warnings, ...watches];
      const features = all.flatMap((one) => (one.geometry ? [inForce(one.geometry, one)] : []));
      const unplaced = watches.filter(({ geometry }) => geometry === null).map(({ headline }) => headline);
      const said = lines(
        note ?? (data_as_of && `Complete until ${timeInWords(data_as_of)}.`),
        unplaced.length > 0 && `Without an outline: ${unplaced.join('; ')}.`,
      );
      const isUnknown = features.length === 0 && note !== null;
      return { features: isUnknown ? null : features.sort((a, b) => urgency(a) - urgency(b)), note: said.join(' ') };
    },
    unavailable(shown) {
      if (!state.looked) return 'The service does not say what time it has, so the time shown cannot be asked for.';
      if (neverCollected('warnings', 'watches')) return 'This service has never collected warnings and watches.';
      return daysBack(shown) > DAYS_MAX ? `The service answers for the last ${DAYS_MAX} days only.` : null;
    },
    visible: inForceAt,
    inWords({ length }) {
      const when = state.view === 'day' ? daysInWords() : 'in force at this scan';
      const count = length === 0 ? 'None' : counted(length, 'area');
      return `${count} ${when}, within ${RADIUS_KM} km of the middle of the map.`;
    },
  },
  {
    id: 'outlooks',
    label: 'Storm outlook of today (SPC)',
    is_undated: true,
    key: Object.values(CATEGORIES),
    price: '5 credits',
    async read({ middle: { lat, lon } }) {
      const { issue_time, valid_time, expire_time, fetched_at, areas }: SpcOutlookAnswer = await service.call(
        `/outlooks/spc?lat=${lat.toFixed(3)}&lon=${lon.toFixed(3)}&day=1&areas=true`,
      );
      if (fetched_at === null) return { features: null, note: NO_OUTLOOKS };
      if (issue_time === null || valid_time === null || expire_time === null)
        return { features: null, note: 'No outlook is in force: none was issued, or it has not come.' };
      const said = [
        `Storm Prediction Center, issued ${timeInWords(issue_time)}`,
        `From ${timeInWords(valid_time)} to ${timeInWords(expire_time)}`,
        'A forecast of severe storms of any kind, not of hail alone.',
      ];
      const categorical = (areas ?? []).filter(({ hazard }) => hazard === 'categorical');
      const features = Object.entries(CATEGORIES).flatMap(([label, [words, color, edge]], rank) =>
        categorical
          .filter((one) => one.label === label)
          .map(({ name, geometry }) =>
            item(geometry, `Outlook: ${name ?? words}`, said, { name: name ?? words, color, edge, rank }),
          ),
      );
      return { features, note: `Issued ${timeInWords(issue_time)}, until ${timeInWords(expire_time)}.` };
    },
    unavailable() {
      if (neverCollected('spc-outlooks')) return NO_OUTLOOKS;
      return isNewest() ? null : 'The service has the outlook of today only. Choose the newest date.';
    },
    inWords(visible) {
      const highest = visible.at(-1)?.properties?.name;
      return highest === undefined ? 'No thunderstorm area.' : `Up to ${highest}.`;
    },
  },
  {
    id: 'reports',
    label: 'Ground reports of hail',
    key: [['hail that people reported', '#0b7a4b']],
    price: '40 credits',
    async read({ first_date, date }) {
      const body = { dataset: 'reports', date_start: first_date, date_end: date, format: 'geojson' };
      const order = `${state.key} ${first_date} ${date}`;
      const id = await remembered(orders, order, async () => (await service.call('/exports', body)).job_id);
      let job = await service.call(`/exports/${id}`);
      while (job.status === 'pending') {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        job = await service.call(`/exports/${id}`);
      }
      const file = job.download_url === null ? null : await service.file(job.download_url);
      orders.delete(order);
      if (!file) throw new Error(`The list could not be made: ${job.message}.`);
      const { features, dates_without_data: gaps, data_as_of, truncated } = file;
      const said = lines(
        gaps.length > 0 && `Ground reports of ${gaps.map(dateInWords).join(' and ')} were never collected.`,
        data_as_of && `As of ${timeInWords(data_as_of)}.`,
        truncated && 'Some reports are missing: there were more than an export holds.',
      );
      const isKnown = gaps.length < daysBetween(first_date, date);
      return { features: isKnown ? features.map(reportFeature) : null, note: said.join(' ') };
    },
    unavailable: () =>
      neverCollected('spc-reports', 'lsr') ? 'This service has never collected ground reports.' : null,
    visible: (read, shown) =>
      state.view === 'day' && !state.day?.before
        ? read.filter(({ properties }) => properties?.storm_date === shown.date)
        : inForceAt(read, shown),
    inWords({ length }, read) {
      if (state.view === 'scan')
        return `${length} within 15 minutes of this scan, of ${counted(read.length, 'report')} read.`;
      return length === 0 ? `No report is known ${daysInWords()}.` : `${counted(length, 'report')}.`;
    },
  },
  {
    ...own('#22303c', 'a location of your portfolio', 'Your portfolio has no locations.', 'location'),
    id: 'locations',
    label: 'Own locations',
    price: `1 credit for ${LOCATIONS_PAGE}`,
    async read() {
      const features: Feature[] = [];
      let cursor: string | null = '';
      while (cursor !== null && features.length < LOCATIONS_MAX) {
        const from: string = cursor && `&cursor=${encodeURIComponent(cursor)}`;
        const page: PortfolioLocations = await service.call(`/portfolio/locations?limit=${LOCATIONS_PAGE}${from}`);
        for (const { name, lat, lon, address, tags } of page.locations) {
          const said = ['Location of your portfolio', address, tags.length > 0 && `Tags: ${tags.join(', ')}`];
          features.push(item(point([lon, lat]), name, said));
        }
        cursor = page.next_cursor;
      }
      return { features, note: cursor && `The first ${LOCATIONS_MAX} by name; the rest is not drawn.` };
    },
  },
  {
    ...own('#6741a8', 'an area that you watch', 'You watch no areas.', 'area'),
    id: 'areas',
    label: 'Watched areas',
    price: '1 credit, and 1 for each area',
    async read() {
      const { areas, usage }: MonitoredAreas = await service.call(`/areas?limit=${AREAS_MAX}`);
      const features = await Promise.all(areas.map((area) => areaFeature(area)));
      const all = usage.polygon_count + usage.point_count;
      return { features, note: all > areas.length ? `The last changed of ${all}.` : null };
    },
  },
  {
    ...own('#c2255c', 'where hail raises an alert', 'You have no alert subscriptions.', 'subscription'),
    id: 'alerts',
    label: 'Alerts',
    price: '1 credit',
    async read() {
      const { subscriptions, next_cursor } = await service.call(`/alerts?limit=${ALERTS_MAX}`);
      const note = next_cursor && `The oldest ${ALERTS_MAX}; the rest is not drawn.`;
      return { features: subscriptions.map(alertFeature), note };
    },
  },
];
