import type { Feature } from 'geojson';
import type { Map as MapLibre } from 'maplibre-gl';
import type { MonitoredAreas } from '../../../schemas/resources/area.ts';
import type { SpcOutlookAnswer } from '../../../schemas/resources/convective-outlook.ts';
import type { PortfolioLocations } from '../../../schemas/resources/portfolio-location.ts';
import type { Subscription } from '../../../schemas/resources/subscription.ts';
import type { Warning, Warnings } from '../../../schemas/resources/warning.ts';
import { ServiceError } from '../data/service.ts';
import { REFLECTIVITY } from '../page/palette.ts';
import { clockInWords, counted, MM_PER_INCH, motionInWords, timeInWords } from '../page/words.ts';
import { chosenFrame } from '../state.ts';
import {
  area,
  type Calls,
  circle,
  type FreeLayer,
  feature,
  hasDates,
  isInForce,
  isNear,
  item,
  lines,
  type MapLayer,
  placeAway,
  point,
  type ReadLayer,
  type Said,
  type Shown,
} from './layer.ts';

const NO_SCANS = 'No scans are published for this date.';
/** What a layer that can always be read says, all of whose reading belongs to whatever is shown. */
const ALWAYS: Pick<ReadLayer, 'kind' | 'unavailable' | 'serves' | 'visible'> = {
  kind: 'read',
  unavailable: () => null,
  serves: () => true,
  visible: ({ features }) => features,
};

/** Summary of a layer of the reader's own places: their number, or that there are none. */
const ownInWords =
  (none: string, one: string) =>
  ({ length }: readonly Feature[]) =>
    length === 0 ? none : `${counted(length, one)}.`;

/** Hail of the day or of the scan, as chosen in the panel; the map follows the switch. */
const hail: FreeLayer = {
  kind: 'free',
  id: 'hail',
  label: 'Hail',
  key: [],
  unavailable: ({ span }) => (span === null ? NO_SCANS : null),
  features: () => [],
  inWords: (_visible, { view }) => (view === 'day' ? 'The whole day' : 'The scan at this time'),
};

/** Outlines of the hail as curves; the map follows the switch. */
const smooth: FreeLayer = {
  ...hail,
  id: 'smooth',
  label: 'Smoothed outlines',
  inWords: () => 'Rounded for the eye: the radar sees squares of 1 km.',
};

/** Reflectivity of the scan, under the hail; the map follows the switch. */
const reflectivity: FreeLayer = {
  ...hail,
  id: 'reflectivity',
  label: 'Reflectivity',
  key: REFLECTIVITY.map(({ dbz_min, color }) => ({ color, words: `${dbz_min}` })),
  unavailable({ view, span }) {
    if (span === null) return NO_SCANS;
    if (view === 'day') return 'Of single scans: choose “Scan by scan”.';
    return chosenFrame()?.reflectivity_url ? null : 'None is kept for this scan.';
  },
  inWords: () => 'dBZ, this much or more',
};

const CONE = '#1f5fa8';
/** Minutes of the marks along the course; the last is the end of the cone. */
const LEADS_MIN = [15, 30, 45] as const;
/** Half of the opening of the cone, and what its length has over the course: the errors that the nowcast of the service assumes. */
export const CONE_ERROR = { speed_error_kmh: 12, direction_error_deg: 26 } as const;
/** Slower storms have no course worth drawing. */
const LEAST_KMH = 5;
const ARC_STEPS = 10;

/** Storms of the scan with a motion, as its tiles have them; tiles overlap, so a storm may be in two. */
function movingStorms(map: MapLibre): Feature[] {
  const drawn = map.querySourceFeatures('hail', { sourceLayer: 'storms' });
  const moving = drawn.filter(
    ({ geometry, properties: { speed_kmh, direction_deg } }) =>
      geometry.type === 'Point' && speed_kmh >= LEAST_KMH && direction_deg !== undefined,
  );
  const byId = new Map(moving.map((storm) => [String(storm.properties.track_id), storm]));
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
  const cone = item(area([at, ...arc, at]), CONE, 'A storm may come here within 45 minutes', [
    `It moves at ${motionInWords(speed_kmh, direction_deg)}`,
    mm !== undefined && `Its largest hail in this scan: ${Math.round(mm)} mm`,
    `The cone is the usual error of course (${direction_error_deg}°) and speed (${speed_error_kmh} km/h).`,
    'The storm may also grow, or end on the way.',
  ]);
  const marks = LEADS_MIN.map((minutes) => feature(point(after(minutes)), { minutes }));
  return [cone, feature({ type: 'LineString', coordinates: [at, after(LEADS_MIN[2])] }, {}), ...marks];
}

/** Storms of the scan with the cone in which each will be within 45 minutes; follows from the scan's archive. */
const storms: FreeLayer = {
  kind: 'free',
  id: 'storms',
  label: 'Storm motion, 45 minutes',
  key: [{ color: CONE, words: 'course, and its usual error' }],
  unavailable({ view, span }) {
    if (span === null) return NO_SCANS;
    return view === 'day' ? 'Storms have a motion in a single scan: choose “Scan by scan”.' : null;
  },
  features: (map) => movingStorms(map).flatMap(coneFeatures),
  inWords(visible) {
    const cones = visible.filter(({ geometry }) => geometry.type === 'Polygon');
    return `${counted(cones.length, 'moving storm')} in view`;
  },
};

/** Largest circle that GET /v1/warnings answers for, and its longest history. */
const RADIUS_KM = 200;
const DAYS_MAX = 30;
const MS_PER_DAY = 86_400_000;

/** Kinds of warnings and watches by colour, the most urgent first. */
const KINDS: Readonly<Record<string, readonly [words: string, color: string]>> = {
  tornado_warning: ['Tornado Warning', '#d4001f'],
  severe_warning: ['Severe Thunderstorm Warning', '#e08600'],
  tornado_watch: ['Tornado Watch', '#a8123a'],
  severe_thunderstorm_watch: ['Severe Thunderstorm Watch', '#b3539c'],
  mesoscale_discussion: ['Mesoscale Discussion', '#3d7a8c'],
};
const OTHER_KIND = '#56646f';
const KIND_NAMES = Object.keys(KINDS);

/** An area that is in force for some time; the end has the clock alone where it is on the day of the beginning. */
function areaInForce(kind: string, title: string, of: Warning | Warnings['watches'][number], said: Said): Feature[] {
  const { issued_at: from, expires_at: until, geometry } = of;
  if (geometry === null) return [];
  const end = from.slice(0, 10) === until.slice(0, 10) ? clockInWords(until) : timeInWords(until);
  const all = [`${timeInWords(from)} to ${end}`, ...said];
  return [item(geometry, KINDS[kind]?.[1] ?? OTHER_KIND, title, all, { kind, from, until })];
}

function warningFeature(warning: Warning): Feature[] {
  const { event, tornado_detection, headline } = warning;
  const tornado = tornado_detection && `Tornado: ${tornado_detection.replaceAll('_', ' ').toLowerCase()}`;
  const kind = event === 'Tornado Warning' ? 'tornado_warning' : 'severe_warning';
  return areaInForce(kind, event, warning, [tornado, headline]);
}

function watchFeature(watch: Warnings['watches'][number]): Feature[] {
  const { type, headline } = watch;
  const title = (number: number | string | null) => `${KINDS[type]?.[0] ?? type} ${number}`;
  if (type !== 'mesoscale_discussion') return areaInForce(type, title(watch.watch_number), watch, [headline]);
  const { md_number, areas_affected, watch_probability_pct } = watch;
  return areaInForce(type, title(md_number), watch, [
    headline,
    areas_affected && `Areas: ${areas_affected}`,
    watch_probability_pct !== null && `Probability of a watch ${watch_probability_pct} %`,
  ]);
}

/** Days of history that reach back to the first instant shown. */
function daysBack({ span, now_ms }: Shown): number {
  if (span === null || now_ms === null) return 1;
  return Math.max(1, Math.ceil((now_ms - span[0]) / MS_PER_DAY));
}

/** Warnings of the National Weather Service, watches and discussions of the Storm Prediction Center, in force at the time shown. */
const warnings: ReadLayer = {
  ...ALWAYS,
  id: 'warnings',
  label: 'Warnings and watches',
  scope: 'warnings:read',
  price: '8 credits',
  key: Object.values(KINDS).map(([words, color]) => ({ color, words })),
  fresh_ms: 120_000,
  unavailable(shown) {
    if (shown.span === null) return NO_SCANS;
    if (shown.now_ms === null)
      return 'The service does not say what time it has, so the time shown cannot be asked for.';
    if (shown.never_collected.has('warnings') && shown.never_collected.has('watches'))
      return 'This service has never collected warnings and watches.';
    return daysBack(shown) > DAYS_MAX ? `The service answers for the last ${DAYS_MAX} days only.` : null;
  },
  serves: (asked, shown) => hasDates(asked, shown) && isNear(asked, shown, RADIUS_KM),
  async read({ call }, shown) {
    const { lat, lon } = shown.middle;
    const query = `lat=${lat.toFixed(4)}&lon=${lon.toFixed(4)}&radius_km=${RADIUS_KM}&active=false&days=${daysBack(shown)}`;
    const { warnings, watches, data_as_of, note }: Warnings = await call(`/warnings?${query}`);
    const urgency = ({ properties }: Feature) => -KIND_NAMES.indexOf(properties?.kind);
    const features = [...warnings.flatMap(warningFeature), ...watches.flatMap(watchFeature)];
    const unplaced = watches.filter(({ geometry }) => geometry === null).map(({ headline }) => headline);
    const said = lines(
      note ?? (data_as_of && `Complete until ${timeInWords(data_as_of)}.`),
      unplaced.length > 0 && `Without an outline: ${unplaced.join('; ')}.`,
    );
    return {
      features: features.sort((a, b) => urgency(a) - urgency(b)),
      note: said.join(' '),
      absent: features.length === 0 ? note : null,
    };
  },
  visible: ({ features }, shown) => features.filter((one) => isInForce(one, shown)),
  inWords(visible, { view, is_recent }) {
    const count = visible.length === 0 ? 'None' : counted(visible.length, 'area');
    const when = view === 'day' ? (is_recent ? 'in the last 24 hours' : 'on this date') : 'in force at this scan';
    return `${count} ${when}, within ${RADIUS_KM} km of the middle of the map.`;
  },
};

/** Categories of a convective outlook with the colours that the Storm Prediction Center gives them, a little darker in lines. */
const CATEGORIES: Readonly<Record<string, readonly [words: string, fill: string, line: string]>> = {
  TSTM: ['General Thunderstorms', '#c1e9c1', '#55a055'],
  MRGL: ['Marginal Risk', '#66a366', '#3a7a3a'],
  SLGT: ['Slight Risk', '#ffe066', '#b89600'],
  ENH: ['Enhanced Risk', '#ffa366', '#cc6a14'],
  MDT: ['Moderate Risk', '#e06666', '#b02a2a'],
  HIGH: ['High Risk', '#ee99ee', '#a33aa3'],
};
const RANKS = Object.keys(CATEGORIES);

/** Convective outlook of the Storm Prediction Center for today: areas of its categories. */
const outlooks: ReadLayer = {
  ...ALWAYS,
  id: 'outlooks',
  label: 'Storm outlook of today (SPC)',
  scope: 'outlooks:read',
  price: '5 credits',
  key: Object.values(CATEGORIES).map(([words, color]) => ({ color, words })),
  fresh_ms: 600_000,
  unavailable({ is_newest, never_collected }) {
    if (never_collected.has('spc-outlooks')) return 'This service has never collected outlooks.';
    return is_newest ? null : 'Only for now: the service has the outlook of today. Choose the newest date.';
  },
  async read({ call }, { middle: { lat, lon } }) {
    const { issue_time, valid_time, expire_time, fetched_at, areas }: SpcOutlookAnswer = await call(
      `/outlooks/spc?lat=${lat.toFixed(3)}&lon=${lon.toFixed(3)}&day=1&areas=true`,
    );
    const features = (areas ?? [])
      .filter(({ hazard, label }) => hazard === 'categorical' && label in CATEGORIES)
      .map(({ label, name, geometry }) => {
        const [words, color, edge] = CATEGORIES[label];
        const said = [
          issue_time && `Storm Prediction Center, issued ${timeInWords(issue_time)}`,
          valid_time && expire_time && `From ${timeInWords(valid_time)} to ${timeInWords(expire_time)}`,
          'A forecast of severe storms of any kind, not of hail alone.',
        ];
        const more = { name: name ?? words, edge, rank: RANKS.indexOf(label) };
        return item(geometry, color, `Outlook: ${name ?? words}`, said, more);
      });
    const absent =
      fetched_at === null
        ? 'This service has never collected outlooks.'
        : 'No outlook is in force: none was issued, or it has not come.';
    if (issue_time === null || expire_time === null) return { features, note: null, absent };
    return { features, note: `Issued ${timeInWords(issue_time)}, until ${timeInWords(expire_time)}.` };
  },
  inWords(visible) {
    const highest = visible.at(-1)?.properties?.name;
    return highest === undefined ? 'No thunderstorm area.' : `Up to ${highest}.`;
  },
};

const REPORT = '#0b7a4b';
/** The export of a date takes a second or two. */
const POLL_MS = 700;
const POLLS_MAX = 60;
/** A report is shown with the scans within this time of it. */
const NEAR_MS = 15 * 60_000;

/** The features of an export of reports, once the service has made it. */
async function exported({ call, file }: Calls, job_id: string) {
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    const { status, message, download_url, truncated } = await call(`/exports/${job_id}`);
    if (status === 'failed')
      throw new ServiceError(message ?? 'The service could not make the list. Its price was refunded.');
    if (download_url !== null) return { features: (await file(download_url)).features as Feature[], truncated };
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new ServiceError('The list of reports was not ready within a minute. Reading again costs again.');
}

function reportFeature({ geometry, properties }: Feature): Feature {
  const { time, size_mm, place, source, storm_date } = properties ?? {};
  const [from, until] = [-NEAR_MS, NEAR_MS].map((ms) => new Date(Date.parse(time) + ms).toISOString());
  const label = size_mm === null ? 'hail' : `${(size_mm / MM_PER_INCH).toFixed(2)} in (${Math.round(size_mm)} mm)`;
  const said = [
    timeInWords(time),
    place,
    source === 'lsr' ? 'Local storm report' : 'List of the Storm Prediction Center',
    'A report is one observation: larger hail may have fallen near it.',
  ];
  return item(geometry, REPORT, `Reported from the ground: ${label}`, said, { label, from, until, storm_date });
}

/** Reports of hail on the ground, of the whole country: an export of the date that the service makes. */
const reports: ReadLayer = {
  ...ALWAYS,
  id: 'reports',
  label: 'Ground reports of hail',
  scope: 'exports:write',
  price: '40 credits',
  only_on_request: true,
  key: [{ color: REPORT, words: 'hail that people reported' }],
  fresh_ms: 600_000,
  unavailable({ date, never_collected }) {
    if (date === null) return 'Nothing is published for this date.';
    const isKnown = !never_collected.has('spc-reports') || !never_collected.has('lsr');
    return isKnown ? null : 'This service has never collected ground reports.';
  },
  serves: hasDates,
  async read(service, { first_date, date }) {
    const body = { dataset: 'reports', date_start: first_date, date_end: date, format: 'geojson' };
    const { job_id } = await service.call('/exports', { body });
    const { features, truncated } = await exported(service, job_id);
    const note = truncated ? 'Some reports are missing: there were more than an export holds.' : null;
    return { features: features.map(reportFeature), note };
  },
  visible: ({ features }, shown) =>
    shown.view === 'day' && !shown.is_recent
      ? features.filter(({ properties }) => properties?.storm_date === shown.date)
      : features.filter((one) => isInForce(one, shown)),
  inWords(visible, { view, is_recent, first_date, date }, { features }) {
    const isOfDates = ({ properties }: Feature) =>
      first_date !== null && date !== null && properties?.storm_date >= first_date && properties?.storm_date <= date;
    const count = view === 'day' ? visible.length : features.filter(isOfDates).length;
    const when = is_recent ? 'the last 24 hours' : 'this date';
    const all = count === 0 ? `No report is known for ${when}` : counted(count, 'report');
    const of_dates = first_date === date ? 'on the date' : 'on the two dates';
    const now = view === 'day' ? all : `${visible.length} within 15 minutes of this scan, ${all} ${of_dates}`;
    return `${now}.`;
  },
};

const LOCATION = '#22303c';
const LOCATIONS_PAGE = 200;
/** More locations than these are not read for a picture. */
const LOCATIONS_MAX = 1000;

/** Locations of the business's portfolio. */
const locations: ReadLayer = {
  ...ALWAYS,
  id: 'locations',
  label: 'Own locations',
  scope: 'portfolio:read',
  price: `1 credit for ${LOCATIONS_PAGE}`,
  key: [{ color: LOCATION, words: 'a location of your portfolio' }],
  fresh_ms: 300_000,
  async read({ call }) {
    const features: Feature[] = [];
    let cursor: string | null = '';
    while (cursor !== null && features.length < LOCATIONS_MAX) {
      const from: string = cursor && `&cursor=${encodeURIComponent(cursor)}`;
      const page: PortfolioLocations = await call(`/portfolio/locations?limit=${LOCATIONS_PAGE}${from}`);
      for (const { name, lat, lon, address, tags } of page.locations) {
        const said = ['Location of your portfolio', address, tags.length > 0 && `Tags: ${tags.join(', ')}`];
        features.push(item(point([lon, lat]), LOCATION, name, said));
      }
      cursor = page.next_cursor;
    }
    return { features, note: cursor && `The first ${LOCATIONS_MAX} by name; the rest is not drawn.` };
  },
  inWords: ownInWords('Your portfolio has no locations.', 'location'),
};

const AREA = '#6741a8';
/** Each area is a call of its own: more would use up the calls of a minute. */
const AREAS_MAX = 20;

async function areaFeature(
  { call }: Calls,
  { id, kind, name, area_sq_mi }: MonitoredAreas['areas'][number],
): Promise<Feature> {
  const said = ['An area that you watch', `${area_sq_mi} square miles`];
  if (kind === 'polygon') return item((await call(`/areas/${id}/geometry`)).geometry, AREA, name, said);
  const { lat, lng } = (await call(`/areas/${id}`)).point;
  return item(point([lng, lat]), AREA, name, said);
}

/** Polygons and points that the business watches. */
const areas: ReadLayer = {
  ...ALWAYS,
  id: 'areas',
  label: 'Watched areas',
  scope: 'areas:read',
  price: '1 credit, and 1 for each area',
  key: [{ color: AREA, words: 'an area that you watch' }],
  fresh_ms: 300_000,
  async read(service) {
    const { areas, usage }: MonitoredAreas = await service.call(`/areas?limit=${AREAS_MAX}`);
    const features = await Promise.all(areas.map((area) => areaFeature(service, area)));
    const all = usage.polygon_count + usage.point_count;
    return { features, note: all > areas.length ? `The last changed of ${all}.` : null };
  },
  inWords: ownInWords('You watch no areas.', 'area'),
};

const ALERT = '#c2255c';
const ALERTS_MAX = 100;

/** Circles of the business's alert subscriptions. */
const alerts: ReadLayer = {
  ...ALWAYS,
  id: 'alerts',
  label: 'Alerts',
  scope: 'alerts:read',
  price: '1 credit',
  key: [{ color: ALERT, words: 'where hail raises an alert' }],
  fresh_ms: 120_000,
  async read({ call }) {
    const { subscriptions, next_cursor } = await call(`/alerts?limit=${ALERTS_MAX}`);
    const features = subscriptions.map((one: Subscription) => {
      const { lat, lon, name, radius_km, min_size_mm, status, trigger_count, last_triggered_at: last } = one;
      const so_far = `${counted(trigger_count, 'alert')} so far`;
      const said = [
        `Hail of ${min_size_mm} mm or more within ${radius_km} km`,
        status === 'active' ? 'Active' : 'Paused: raises nothing',
        last ? `${so_far}, the last on ${timeInWords(last)}` : so_far,
      ];
      return item(area(circle([lon, lat], radius_km)), ALERT, name || 'Alert subscription', said, { name, status });
    });
    return { features, note: next_cursor && `The oldest ${ALERTS_MAX}; the rest is not drawn.` };
  },
  inWords: ownInWords('You have no alert subscriptions.', 'subscription'),
};

/** Layers of the card, in its order. */
export const LAYERS: readonly MapLayer[] = [
  hail,
  smooth,
  reflectivity,
  storms,
  warnings,
  outlooks,
  reports,
  locations,
  areas,
  alerts,
];
