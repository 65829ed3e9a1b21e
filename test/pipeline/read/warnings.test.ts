import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { bbox } from '@turf/bbox';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import fc from 'fast-check';
import { BadInput } from '../../../pipeline/error.ts';
import { watches } from '../../../pipeline/feeds/watches.ts';
import { readAlerts } from '../../../pipeline/read/alerts.ts';
import { outlookLayerOf, readOutlookGeoJson } from '../../../pipeline/read/outlooks.ts';
import { checkPolygon } from '../../../pipeline/read/polygon.ts';
import { convectiveDateOf, readLsrGeoJson, readSpcReports } from '../../../pipeline/read/reports.ts';
import { readDiscussion, readWatch } from '../../../pipeline/read/watches.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import {
  endsWarning,
  type FileReport,
  GroundReport,
  SpcOutlook,
  WARNING_EVENTS,
  Warning,
  Watch,
} from '../../../schemas/tables/feeds.ts';
import { timestamp, utcDate } from '../../../schemas/time.ts';
import { alertFeature, alertFile, type MadeAlert } from '../../support/data/alert.ts';
import { feedFigures, minuteOf, tally } from '../../support/data/feed-figures.ts';
import { withInstants } from '../../support/data/relative-times.ts';
import { positionsOf } from '../../support/data/rings.ts';
import { pluck } from '../../support/data/rows.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const NOW = Date.parse('2025-05-01T20:10:00Z');
const INCH_MM = 25.4;

const alertsRead = (...features: unknown[]) => readAlerts(alertFile(...features), 'x', NOW);

function only(made: MadeAlert = {}): Warning {
  return alertsRead(alertFeature(made)).rows[0] as Warning;
}

const watchOf = (...text: Parameters<typeof readWatch>) => onlyRow(readWatch(...text));
const DISCUSSIONS_NOW = Date.parse('2026-11-22T00:00:00Z');
const discussionOf = (bytes: Buffer) => onlyRow(readDiscussion(bytes, 'x', DISCUSSIONS_NOW));

function onlyRow({ rows, set_aside }: ReturnType<typeof readWatch>) {
  return { row: rows[0] as Watch, set_aside };
}

/** Reason for which the first of two alerts is set aside while the second is kept. */
function reasonOf(made: MadeAlert): string | undefined {
  const other = alertFeature({ properties: { id: 'urn:oid:2.001.1' } });
  const { rows, set_aside } = alertsRead(alertFeature(made), other);
  return rows.length === 1 && rows[0]?.warning_id === 'urn:oid:2.001.1' ? set_aside[0]?.reason : undefined;
}

for (const name of [
  'two_real_SVR_with_hail_2023.geojson',
  'weather.gov_air-quality-alerts_active.json',
  'weather.gov_testing_active.json',
])
  sharedTest(`${name} gives its warnings and counts the other events`, (t) => {
    const figures = feedFigures().warnings.alerts[name]!;
    const text = readFileSync(sharedData('warnings', 'alerts', name), 'utf8');
    const { rows, set_aside, others } = readAlerts(Buffer.from(withInstants(text, NOW)), name, NOW);
    t.deepEqual(set_aside, []);
    const events = Object.entries(figures.by_event);
    t.deepEqual(
      Object.fromEntries(others),
      Object.fromEntries(events.filter(([event]) => !(WARNING_EVENTS as readonly string[]).includes(event))),
    );
    t.is(rows.length + [...others.values()].reduce((sum, n) => sum + n, 0), figures.features);
    const warnings = figures.severe_thunderstorm_or_tornado_warnings;
    t.deepEqual(pluck(rows, 'event') as string[], pluck(warnings, 'event'));
    t.deepEqual(pluck(rows, 'areas'), pluck(warnings, 'area'));
    t.deepEqual(pluck(rows, 'positions'), pluck(warnings, 'polygon_points'));
    const tagged = figures.maxHailSize.filter(({ event }) => (WARNING_EVENTS as readonly string[]).includes(event));
    t.is(rows.length, tagged.length);
    for (const [index, { id, sender, maxHailSize, maxWindGust }] of tagged.entries()) {
      const { warning_id, office, hail_size_mm, gust_kmh } = rows[index]!;
      t.deepEqual([warning_id, office, hail_size_mm], [id, sender, inchesToMm(Number(maxHailSize[0]))]);
      t.is(Math.round(gust_kmh! / 1.609344), Number(maxWindGust[0]?.split(' ')[0]));
    }
    for (const [index, { expires }] of warnings.entries())
      if (!expires.startsWith('date:')) t.is(rows[index]?.expires_at, Date.parse(expires));
  });

sharedTest('a warning of a file with relative times is in force for as long as the file says', (t) => {
  const name = 'weather.gov_air-quality-alerts_active.json';
  const text = withInstants(readFileSync(sharedData('warnings', 'alerts', name), 'utf8'), NOW);
  const [warning] = readAlerts(Buffer.from(text), name, NOW).rows;
  t.like(warning, { issued_at: NOW - 524_000, expires_at: NOW + 1_755_000 });
});

sharedTest('a real file whose times were never replaced sets its warnings aside', (t) => {
  const name = 'weather.gov_air-quality-alerts_active.json';
  const { rows, set_aside } = readAlerts(readFileSync(sharedData('warnings', 'alerts', name)), name, NOW);
  t.deepEqual([rows.length, set_aside.length], [0, 2]);
});

test('an alert becomes a warning in our units, moving towards where the tag does not say', (t) =>
  t.deepEqual(only({ parameters: { tornadoDetection: ['POSSIBLE'] } }), {
    warning_id: 'urn:oid:1.001.1',
    event: 'Severe Thunderstorm Warning',
    message_type: 'Alert',
    severity: 'Severe',
    office: 'NWS Norman OK',
    headline: 'Severe Thunderstorm Warning issued May 1 at 3:00PM CDT',
    areas: 'Oklahoma, OK',
    issued_at: Date.parse('2025-05-01T20:00:00Z'),
    expires_at: Date.parse('2025-05-01T20:45:00Z'),
    tornado_detection: 'POSSIBLE',
    hail_size_mm: 38.1,
    gust_kmh: 96.561,
    speed_kmh: 51.856,
    direction_deg: 112,
    vtec_action: 'NEW',
    vtec_event: 'KOUN.SV.W.0101',
    replaces: '',
    positions: 5,
    geometry: 'POLYGON ((-98 35, -97 35, -97 36, -98 36, -98 35))',
    west: -98,
    south: 35,
    east: -97,
    north: 36,
    is_refused_polygon: false,
    data_source: 'observed',
    received_at: NOW,
  }));

test('the end of the event counts, not that of the message', (t) => {
  const expires = '2025-05-01T15:20:00-05:00';
  t.is(only({ properties: { expires } }).expires_at, Date.parse('2025-05-01T20:45:00Z'));
  const parameters = { eventEndingTime: ['2025-05-01T20:30:00+00:00'] };
  t.is(only({ properties: { expires, ends: null }, parameters: {} }).expires_at, Date.parse(expires));
  const feature = alertFeature({ properties: { expires, ends: null } });
  (feature.properties as Record<string, unknown>).parameters = parameters;
  t.is(alertsRead(feature).rows[0]?.expires_at, Date.parse('2025-05-01T20:30:00Z'));
});

for (const [tag, word] of [
  ['RADAR INDICATED', 'RADAR_INDICATED'],
  ['OBSERVED', 'OBSERVED'],
  ['POSSIBLE', 'POSSIBLE'],
  ['MAYBE', null],
] as const)
  test(`the tornado tag ${tag} is ${word ?? 'not known'}`, (t) =>
    t.is(only({ parameters: { tornadoDetection: [tag] } }).tornado_detection, word));

for (const [text, mm] of [
  ['0.00', 0],
  ['1.00', 25.4],
  ['Up to .75', 19.05],
  ['2.50 in', 63.5],
  ['99.00', null],
  ['golf ball', null],
  ['', null],
] as const)
  test(`the hail tag '${text}' is ${mm === null ? 'not known' : `${mm} mm`}`, (t) =>
    t.is(only({ parameters: { maxHailSize: [text] } }).hail_size_mm, mm));

test('a parameter that is no list of text leaves its field null', (t) => {
  const { hail_size_mm, gust_kmh, speed_kmh, vtec_event } = only({
    parameters: { maxHailSize: [], maxWindGust: [60], eventMotionDescription: [null], VTEC: ['nonsense'] },
  });
  t.deepEqual([hail_size_mm, gust_kmh, speed_kmh, vtec_event], [null, null, null, null]);
});

test('a still storm has a speed of 0 and no direction', (t) => {
  const parameters = { eventMotionDescription: ['2025-05-01T20:00:00-00:00...storm...000DEG...0KT...35.4,-97.5'] };
  const { speed_kmh, direction_deg } = only({ parameters });
  t.deepEqual([speed_kmh, direction_deg], [0, null]);
});

const polygonOf = (text: string) => ({ type: 'Polygon', coordinates: [positionsOf(text)] });

test('a polygon drawn clockwise is wound the other way round', (t) => {
  const { geometry } = only({ geometry: polygonOf('-98 35, -98 36, -97 36, -97 35, -98 35') });
  t.is(geometry, 'POLYGON ((-98 35, -97 35, -97 36, -98 36, -98 35))');
});

const OFF_THE_GLOBE = "position '[-97,95]', expected longitude and latitude";
const OF_TEXT = { type: 'Polygon', coordinates: [[[-98, 35], ['-97', '35'], ...positionsOf('-97 36, -98 35')]] };
const POINT = { type: 'Point', coordinates: [-98, 35] };
for (const [title, geometry, reason] of [
  [
    'crosses itself',
    polygonOf('-98 35, -97 36, -97 35, -98 37, -98 35'),
    'edges cross or touch at -97.33 35.67, expected a simple polygon',
  ],
  [
    'is not closed',
    polygonOf('-98 35, -97 35, -97 36, -98 36'),
    "ring is not closed, expected the first position '[-98,35]' at its end",
  ],
  ['has two corners', polygonOf('-98 35, -97 35, -98 35'), '2 different positions, expected 3 or more'],
  ['has no area', polygonOf('-98 35, -97 35, -96 35, -98 35'), 'rings 0 and 0 cross or overlap near -98 35'],
  ['leaves the globe', polygonOf('-98 35, -97 95, -97 36, -98 35'), OFF_THE_GLOBE],
  ['has text for numbers', OF_TEXT, 'position \'["-97","35"]\', expected longitude and latitude'],
  ['is a point', POINT, `geometry is '${JSON.stringify(POINT)}', expected a polygon`],
  ['has no rings', { type: 'Polygon', coordinates: [] }, "coordinates are '[]', expected one ring"],
] as const)
  test(`a polygon that ${title} is refused, and its warning kept without it`, (t) => {
    const { rows, set_aside } = alertsRead(alertFeature({ geometry }));
    t.deepEqual(set_aside, [{ item: 'feature 1 polygon', reason }]);
    t.is(rows.length, 1);
    t.like(rows[0], { geometry: null, west: null, positions: 0, is_refused_polygon: true });
  });

test('a polygon of more positions than any warning has is refused before its edges are compared', (t) => {
  const angles = Array.from({ length: 201 }, (_, i) => (i * Math.PI) / 100);
  const circle = angles.map((angle) => [-97 + Math.cos(angle), 35 + Math.sin(angle)]);
  const { rows, set_aside } = alertsRead(alertFeature({ geometry: { type: 'Polygon', coordinates: [circle] } }));
  t.deepEqual([rows.length, set_aside[0]?.reason], [1, '201 positions, expected at most 200']);
});

test('a warning without polygon is kept, and nothing was refused', (t) => {
  const { rows, set_aside } = alertsRead(alertFeature({ geometry: null }));
  t.deepEqual(set_aside, []);
  t.deepEqual([rows[0]?.geometry, rows[0]?.is_refused_polygon], [null, false]);
});

for (const [title, properties, reason] of [
  ['without id', { id: undefined }, 'properties.id: invalid input: expected string, received undefined'],
  ['with a severity that CAP does not have', { severity: 'Bad' }, 'properties.severity: invalid option'],
  ['sent at a relative time', { sent: 'date:now -44 seconds' }, 'properties.sent: invalid iso datetime'],
  ['sent at a local time', { sent: '2025-05-01T15:00:00' }, 'properties.sent: invalid iso datetime'],
  ['sent in the future', { sent: '2025-05-01T20:21:00Z' }, 'sent 2025-05-01T20:21:00Z lies in the future'],
  [
    'that ends next week',
    { ends: '2025-05-08T20:00:00Z' },
    'ends 2025-05-08T20:00:00Z, expected within a day of 2025-05-01T20:00:00Z',
  ],
] as const)
  test(`a warning ${title} is set aside, the one beside it is kept`, (t) =>
    t.true(reasonOf({ properties })?.startsWith(reason), reasonOf({ properties })));

for (const [title, made] of [
  ['by its status', { properties: { status: 'Test' } }],
  ['by its VTEC line', { parameters: { VTEC: ['/T.NEW.KOUN.SV.W.0101.250501T2000Z-250501T2045Z/'] } }],
] as const)
  test(`a test message ${title} is counted, not published`, (t) => {
    const { rows, set_aside, others } = alertsRead(alertFeature(made));
    t.deepEqual([rows, set_aside, [...others]], [[], [], [['Severe Thunderstorm Warning (Test)', 1]]]);
  });

for (const [title, made] of [
  ['by its type', { properties: { messageType: 'Cancel' } }],
  ['by its action', { parameters: { VTEC: ['/O.CAN.KOUN.SV.W.0101.000000T0000Z-250501T2045Z/'] } }],
] as const)
  test(`a cancellation ${title} counts from its sending on, whatever end it states for itself`, (t) => {
    for (const ends of ['2025-05-08T20:00:00Z', '1999-01-01T00:00:00Z']) {
      const row = only({ ...made, properties: { ...('properties' in made ? made.properties : {}), ends } });
      t.is(row.expires_at, row.issued_at);
      t.true(endsWarning(row));
    }
  });

test('an update names what it replaces', (t) => {
  const references = ['urn:oid:0.001.1', 'urn:oid:0.002.1'].map((identifier) => ({ '@id': 'x', identifier }));
  const { message_type, replaces } = only({ properties: { messageType: 'Update', references } });
  t.deepEqual([message_type, replaces], ['Update', 'urn:oid:0.001.1 urn:oid:0.002.1']);
});

test('a collection without features is sound: there are no warnings', (t) => t.deepEqual(alertsRead().rows, []));

test('whatever stands among the features, the sound warning beside it is kept', (t) => {
  const property = fc.property(fc.array(fc.anything({ maxDepth: 3 }), { maxLength: 5 }), (junk) => {
    const features = JSON.parse(JSON.stringify([...junk, alertFeature()]) ?? '[]') as unknown[];
    const { rows } = readAlerts(alertFile(...features), 'x', NOW);
    t.is(rows.length, 1);
  });
  fc.assert(property, { numRuns: 200 });
});

test('whatever stands in one property, the warning is read or set aside, and never thrown', (t) => {
  const names = Object.keys(alertFeature().properties as object);
  const property = fc.property(fc.constantFrom(...names, 'geometry'), fc.jsonValue(), (name, value) => {
    const made = name === 'geometry' ? { geometry: value } : { properties: { [name]: value } };
    const { rows, set_aside, others } = alertsRead(alertFeature(made));
    t.true(rows.length + set_aside.length + others.size >= 1);
  });
  fc.assert(property, { numRuns: 300 });
});

/** When the real texts were received; they have no month and year. */
const RECEIVED: Readonly<Record<string, string>> = {
  'SAW-cancelled.txt': '2022-08-02T05:33:00Z',
  'SAW3.txt': '2021-07-10T03:30:00Z',
  'SAW9_PDS.txt': '2021-07-29T00:16:00Z',
};

const real = (name: string) =>
  watchOf(readFileSync(sharedData('warnings', 'watches', name)), name, Date.parse(RECEIVED[name]!));

const dayTime = (time_ms: number | null) =>
  time_ms === null ? undefined : minuteOf(time_ms).slice(8, 16).replaceAll(/[T:]/g, '');
const inchesToMm = (inches: number | undefined) =>
  inches === undefined ? null : Math.round(inches * INCH_MM * 1000) / 1000;

for (const name of Object.keys(RECEIVED))
  sharedTest(`${name} gives the number, type, times, sizes and outline read by others`, (t) => {
    const figures = feedFigures().warnings.watches[name]!;
    const { row, set_aside } = real(name);
    t.is(row.number, figures.watch);
    t.is(row.type, /tornado/i.test(figures.type) ? 'tornado_watch' : 'severe_thunderstorm_watch');
    t.is(row.is_cancelled, figures.cancelled ?? false);
    t.is(row.areas ?? undefined, figures.areas);
    t.is(dayTime(row.issued_at), figures.wmo_ddhhmm ?? (row.is_cancelled ? '020532' : dayTime(row.issued_at)));
    t.is(dayTime(row.begins_at), figures.valid_from_ddhhmm);
    t.is(dayTime(row.expires_at), figures.valid_to_ddhhmm ?? '020532');
    t.is(row.hail_size_mm, inchesToMm(figures.hail_inch));
    t.is(row.gust_kmh === null ? undefined : Math.round(row.gust_kmh / 1.852), figures.gust_kt);
    t.deepEqual(set_aside, []);
    t.deepEqual([row.west, row.south, row.east, row.north], [...(figures.polygon?.bbox ?? [null, null, null, null])]);
    if (row.geometry === null) return;
    const [ring] = multiPolygonFromWkt(row.geometry)[0]!;
    t.deepEqual(ring!.slice(1).map(String).sort(), figures.polygon!.ring_lonlat.slice(1).map(String).sort());
  });

sharedTest('a watch of August 2026 is read', (t) => {
  const bytes = readFileSync(sharedData('field', 'SAW_570.txt'));
  const { row, set_aside } = watchOf(bytes, 'x', Date.parse('2026-08-27T03:00:00Z'));
  t.deepEqual(set_aside, []);
  t.deepEqual([row.watch_id, row.areas, row.hail_size_mm], ['watch-2026-0570', 'TX', 38.1]);
  t.is(row.geometry, 'POLYGON ((-98.94 32.83, -101.18 32.84, -99.89 31.17, -97.7 31.17, -98.94 32.83))');
});

const SAW = `071
WWUS30 KWNS 100329
SAW3
SPC AWW 100329
WW 503 SEVERE TSTM NE SD 100335Z - 100900Z
AXIS..65 STATUTE MILES NORTH AND SOUTH OF LINE..
HAIL SURFACE AND ALOFT..1.5 INCHES. WIND GUSTS..60 KNOTS.
MAX TOPS TO 500. MEAN STORM MOTION VECTOR 32035.

LAT...LON 42970252 43889841 42009841 41090252
`;
const CANCELLED = `922
WWUS30 KWNS 100532
SAW3
SPC AWW 100531
WW 503 SEVERE TSTM CANCELLED
`;
/** An hour later, with another size and without gust and outline. */
const AMENDED = SAW.replaceAll('100329', '100429')
  .replace('1.5 INCHES. WIND GUSTS..60 KNOTS.', '2 INCHES.')
  .replace(/LAT\.\.\.LON.*/, '');
const RECEIVED_MS = Date.parse('2021-07-10T06:30:00Z');
const read = (text: string, received_ms = RECEIVED_MS) => watchOf(Buffer.from(text), 'x', received_ms).row;

/** Current watches of texts that came in this order, one at a time. */
function joined(texts: readonly Watch[]): Watch[] {
  const rows = texts.reduce<readonly Watch[]>(
    (stored, text) => watches.collection.merge(stored, [{ rows: [text] }], 0) as Watch[],
    [],
  );
  return rows.filter(({ is_current }) => is_current);
}

test('the texts of one watch join, the newest that says a thing says it, in whatever order they come', (t) => {
  for (const texts of [
    [SAW, AMENDED],
    [AMENDED, SAW],
    [SAW, AMENDED, SAW],
  ])
    t.deepEqual(joined(texts.map((text) => read(text))), [
      {
        watch_id: 'watch-2021-0503',
        type: 'severe_thunderstorm_watch',
        number: 503,
        issued_at: Date.parse('2021-07-10T04:29:00Z'),
        begins_at: Date.parse('2021-07-10T03:35:00Z'),
        expires_at: Date.parse('2021-07-10T09:00:00Z'),
        headline: 'Severe Thunderstorm Watch 503 NE SD',
        areas: 'NE SD',
        watch_probability_pct: null,
        hail_size_mm: 50.8,
        gust_kmh: 111.12,
        is_cancelled: false,
        replaces: '',
        geometry: 'POLYGON ((-102.52 42.97, -102.52 41.09, -98.41 42, -98.41 43.88, -102.52 42.97))',
        west: -102.52,
        south: 41.09,
        east: -98.41,
        north: 43.88,
        data_source: 'observed',
        received_at: RECEIVED_MS,
        is_current: true,
      },
    ]);
});

test('a cancellation ends its watch at the moment it is issued and keeps the outline', (t) => {
  for (const texts of [
    [SAW, CANCELLED],
    [CANCELLED, SAW],
    [CANCELLED, AMENDED, SAW],
  ]) {
    const [watch, ...others] = joined(texts.map((text) => read(text)));
    t.deepEqual(others, []);
    t.is(watch?.expires_at, Date.parse('2021-07-10T05:32:00Z'));
    t.is(watch?.headline, 'Severe Thunderstorm Watch 503 NE SD cancelled');
    t.truthy(watch?.geometry);
  }
});

/** A later watch that takes the place of another, as its text says. */
const replacing = (number: number, words: string) =>
  SAW.replaceAll('100329', '100610')
    .replace('WW 503 SEVERE TSTM NE SD 100335Z', `${words}\nWW ${number} TORNADO NE SD 100615Z`)
    .replaceAll('SAW3', 'SAW4');

for (const words of ['REPLACES WW 503..NE SD', 'REPLACES WW 502 AND 503'])
  test(`a watch that another replaces ends at the issue of that one, in whatever order they come (${words})`, (t) => {
    const texts = [read(SAW), read(replacing(504, words))];
    for (const order of [texts, texts.toReversed()]) {
      const found = joined(order);
      const replaced = found.find(({ number }) => number === 503);
      t.is(replaced?.expires_at, texts[1]?.issued_at);
      t.is(replaced?.headline, 'Severe Thunderstorm Watch 503 NE SD replaced by watch 504');
      t.false(replaced?.is_cancelled);
      t.true((found.find(({ number }) => number === 504)?.expires_at ?? 0) > (texts[1]?.issued_at ?? 0));
    }
  });

test('a simulated watch replaces no observed one, and none of another year', (t) => {
  const text = replacing(504, 'REPLACES WW 503');
  const ends = (...texts: Watch[]) =>
    joined(texts).find(({ number, data_source }) => number === 503 && data_source === 'observed')?.expires_at;
  const alone = ends(read(SAW));
  t.is(ends(read(SAW), read(text.replace('KWNS', 'KSIM'))), alone);
  t.is(ends(read(SAW), read(text, Date.parse('2022-07-10T06:10:00Z'))), alone);
});

test('control characters, doubled carriage returns and a suffix of the heading do not matter', (t) => {
  const sent = SAW.replaceAll('\n', ' \r\r\n').replace('KWNS 100329', 'KWNS 100329 RRA');
  t.deepEqual(read(`\u0001${sent}\u0003`), read(SAW));
});

test('hail, gusts and outline of a watch are read however many dots stand before them', (t) => {
  const dotted = SAW.replaceAll('ALOFT..', 'ALOFT...')
    .replaceAll('GUSTS..', 'GUSTS....')
    .replace('LAT...LON', 'LAT..LON');
  t.not(dotted, SAW);
  t.deepEqual(read(dotted), read(SAW));
});

test('the same number a year later, or of the simulator, is another watch', (t) => {
  const ids = (...texts: Watch[]) => joined(texts).map(({ watch_id, data_source }) => `${watch_id} ${data_source}`);
  t.deepEqual(ids(read(SAW), read(SAW, Date.parse('2022-07-10T03:30:00Z'))), [
    'watch-2022-0503 observed',
    'watch-2021-0503 observed',
  ]);
  t.is(ids(read(SAW), read(SAW.replace('KWNS', 'KSIM'))).length, 2);
});

test('day and time mean the month nearest to the reception, over the end of a month and a year too', (t) => {
  const newYear = SAW.replaceAll('1003', '3123')
    .replace('312335Z - 100900Z', '312335Z - 010500Z')
    .replaceAll('100329', '312329');
  const { begins_at, expires_at } = read(newYear, Date.parse('2025-01-01T00:10:00Z'));
  t.deepEqual([minuteOf(begins_at!), minuteOf(expires_at)], ['2024-12-31T23:35Z', '2025-01-01T05:00Z']);
});

for (const [title, from, to, reason] of [
  ['with a broken position', '43889841', '4388984', "position '4388984', expected eight digits"],
  ['that crosses itself', '42009841 41090252', '41090252 42509841', 'edges cross or touch'],
  ['of two corners', ' 42009841 41090252', '', '2 different positions, expected 3 or more'],
  ['that is absent', 'LAT...LON 42970252 43889841 42009841 41090252', '', 'no line LAT...LON'],
] as const)
  test(`an outline ${title} is rejected, and the watch kept without it`, (t) => {
    const { row, set_aside } = watchOf(Buffer.from(SAW.replace(from, to)), 'x', RECEIVED_MS);
    t.deepEqual([row.geometry, row.number], [null, 503]);
    t.true(set_aside[0]?.reason.startsWith(reason), set_aside[0]?.reason);
  });

for (const [title, text] of [
  ['an error page', '<html></html>'],
  ['the public text', SAW.replace('SAW3', 'SEL3')],
  ['the text of probabilities', SAW.replace('SAW3', 'WWP3')],
  ['a watch without number', SAW.replace('WW 503', 'WW')],
  ['a watch that ends before it begins', SAW.replace('100900Z', '100300Z')],
  ['a watch of day 41', SAW.replace('100335Z', '410335Z')],
  ['a watch from the future', SAW.replace('KWNS 100329', 'KWNS 100729')],
  ['a file of two watches', `${SAW}\n${SAW.replaceAll('503', '504')}`],
  ['a text of megabytes', `${SAW}${' '.repeat(1_100_000)}`],
  ['nothing', ''],
] as const)
  test(`${title} is refused by the reader of watches`, (t) => t.throws(() => read(text), { instanceOf: BadInput }));

for (const name of ['SWOMCD.txt', 'SWOMCD_tags.txt', 'SWOMCDconcerning.txt', 'SWOMCDprob.txt'])
  sharedTest(`${name} gives the number, validity, concern, probability and outline read by others`, (t) => {
    const figures = feedFigures().warnings.discussions[name]!;
    const { row, set_aside } = discussionOf(readFileSync(sharedData('warnings', 'discussions', name)));
    t.deepEqual(set_aside, []);
    t.like(row, { type: 'mesoscale_discussion', number: figures.number });
    t.deepEqual([minuteOf(row.begins_at!), minuteOf(row.expires_at)], [...figures.valid_utc]);
    t.like(row, { headline: figures.concerning, watch_probability_pct: figures.watch_probability_percent });
    t.deepEqual([row.west, row.south, row.east, row.north], [...figures.polygon.bbox]);
    const [ring] = multiPolygonFromWkt(row.geometry!)[0]!;
    t.is(ring!.length, figures.polygon.points_in_text);
    t.deepEqual(ring!.slice(1).map(String).sort(), figures.polygon.ring_lonlat.slice(1).map(String).sort());
  });

sharedTest('the discussion with tags gives areas, peak hail and peak gust', (t) => {
  const { row } = discussionOf(readFileSync(sharedData('warnings', 'discussions', 'SWOMCD_tags.txt')));
  t.deepEqual([row.areas, row.hail_size_mm, row.gust_kmh], ['Lower Mississippi Valley', 44.45, 112.654]);
  t.is(row.watch_id, 'discussion-2024-2237');
  t.is(minuteOf(row.issued_at), '2024-11-19T05:49Z', 'the heading is a day older than the issue line');
});

const TEXT = `174
ACUS11 KWNS 190549
SWOMCD
SPC MCD 190549
MSZ000-190715-

Mesoscale Discussion 2237
NWS Storm Prediction Center Norman OK
1149 PM CST Mon Nov 18 2024

Areas affected...Lower Mississippi Valley
and beyond

Concerning...Severe potential...Watch likely

Valid 190549Z - 190715Z

Probability of Watch Issuance...95 percent

LAT...LON 30199264 32449081 32119008 30229160
`;

test('an outline that the text leaves open is closed', (t) => {
  const { row, set_aside } = discussionOf(Buffer.from(TEXT));
  t.deepEqual(set_aside, []);
  t.is(row.areas, 'Lower Mississippi Valley and beyond');
  t.deepEqual([row.watch_probability_pct, row.data_source], [95, 'observed']);
  t.is(multiPolygonFromWkt(row.geometry!)[0]![0]!.length, 5);
});

test('a discussion of the simulator is simulated, and issued in UTC', (t) => {
  const text = TEXT.replace('KWNS', 'KSIM').replace('1149 PM CST Mon Nov 18', '0549 AM UTC Tue Nov 19');
  const { issued_at, data_source } = discussionOf(Buffer.from(text)).row;
  t.deepEqual([minuteOf(issued_at), data_source], ['2024-11-19T05:49Z', 'simulated']);
});

test('a broken outline is set aside, and the discussion kept without it', (t) => {
  const { row, set_aside } = discussionOf(Buffer.from(TEXT.replace('32119008', '3211')));
  t.is(row.geometry, null);
  t.deepEqual(set_aside, [{ item: 'outline polygon', reason: "position '3211', expected eight digits" }]);
});

test('a probability above 100 is not known', (t) => {
  const { row } = discussionOf(Buffer.from(TEXT.replace('95 percent', '950 percent')));
  t.is(row.watch_probability_pct, null);
});

for (const [title, text] of [
  ['an error page', '<!DOCTYPE html>'],
  ['a text without number', TEXT.replace('Discussion 2237', 'Discussion')],
  ['a text of an unknown zone', TEXT.replace('CST', 'SUN')],
  ['a validity that ends before it begins', TEXT.replace('190715Z', '190515Z')],
  ['a text without validity', TEXT.replace('Valid 190549Z', 'From 190549Z')],
  ['a text of an impossible hour', TEXT.replace('1149 PM', '1349 PM')],
  ['a text of an impossible date', TEXT.replace('Nov 18', 'Nov 31')],
  ['a text from the future', TEXT.replace('2024', '2027')],
  ['a file of two discussions', `${TEXT}\n${TEXT.replaceAll('2237', '2238')}`],
] as const)
  test(`${title} is refused`, (t) => t.throws(() => discussionOf(Buffer.from(text)), { instanceOf: BadInput }));

for (const [title, text] of [
  ['a watch of number 9999', SAW.replace('WW 503', 'WW 9999')],
  ['a watch whose head says so', SAW.replace('SPC AWW 100329', 'SPC AWW 100329\n...THIS IS A TEST...')],
  ['a watch that states nothing but that', SAW.replace(/WW 503 .*/, 'WW 9999 TEST')],
  ['a discussion of number 9999', TEXT.replace('2237', '9999')],
  ['a discussion whose head says so', TEXT.replace('Mesoscale', 'TEST Mesoscale')],
] as const)
  test(`${title} is counted as a test`, (t) => {
    const [kind, read] = title.startsWith('a watch') ? ['watch', readWatch] : ['discussion', readDiscussion];
    const { rows, set_aside, others } = read(Buffer.from(text), 'x', kind === 'watch' ? RECEIVED_MS : DISCUSSIONS_NOW);
    t.deepEqual([rows, set_aside, [...others]], [[], [], [[`${kind} (Test)`, 1]]]);
  });

sharedTest(
  'of the polygons of four warning texts the garbled one of Louisville is refused, the others accepted',
  (t) => {
    const texts = Object.entries(feedFigures().warnings.text);
    t.is(texts.length, 4);
    for (const [name, { polygons }] of texts) {
      const checked = checkPolygon([polygons[0]!.ring_lonlat]);
      t.is(typeof checked !== 'string', polygons[0]!.valid_simple_polygon, name);
      t.is(typeof checked === 'string', name === 'SVRLMK.txt', name);
      if (typeof checked !== 'string') t.deepEqual([...checked.bbox], [...polygons[0]!.bbox], name);
    }
  },
);

test('a repeated position is no corner, and the third number of a position is no height here', (t) => {
  const ring = positionsOf('-98 35, -97 35, -97 35, -97 36, -98 35').map((position) => [...position, 0]);
  t.deepEqual(checkPolygon([ring]), {
    geometry: 'POLYGON ((-98 35, -97 35, -97 36, -98 35))',
    bbox: [-98, 35, -97, 36],
    positions: 4,
  });
});

for (const [title, ring] of [
  ['over the whole globe', '-180 -90, 180 -90, 180 90, -180 90, -180 -90'],
  ['across the date line', '179 51, -179 51, -179 52, 179 52, 179 51'],
  ['larger than the country', '-130 20, -60 20, -60 55, -130 55, -130 20'],
] as const)
  test(`a polygon ${title} is refused with its span`, (t) =>
    t.regex(String(checkPolygon([positionsOf(ring)])), /^spans \d+ degrees, expected at most 60/));

const GEOJSON_NOW = Date.parse('2025-06-05T20:00:00Z');
const CATEGORICAL = { day: 1, hazard: 'categorical', part: 'all' } as const;
const PROPERTIES: Readonly<Record<string, unknown>> = {
  DN: 5,
  VALID: '202506052000',
  EXPIRE: '202506061200',
  ISSUE: '202506051954',
  LABEL: 'ENH',
  LABEL2: 'Enhanced Risk',
  stroke: '#FF6600',
  fill: '#FFA366',
};
const GEOJSON_SQUARE = positionsOf('-98 35, -97 35, -97 36, -98 36, -98 35');
const HOLE = positionsOf('-97.8 35.2, -97.2 35.2, -97.2 35.8, -97.8 35.2');
const EMPTY = { type: 'GeometryCollection', geometries: [] };

function feature(
  properties: Record<string, unknown> = {},
  geometry: unknown = { type: 'Polygon', coordinates: [GEOJSON_SQUARE] },
) {
  return { type: 'Feature', geometry, properties: { ...PROPERTIES, ...properties } };
}

const outlooksRead = (...features: unknown[]) =>
  readOutlookGeoJson(alertFile(...features), 'x', CATEGORICAL, GEOJSON_NOW);

sharedTest('the enhanced risk of 5 June 2025 holds the cities and has the box outlooksRead by others', (t) => {
  const name = 'spc_day1_cat_20250605_2000z_ENH_only.geojson';
  const figures = feedFigures().outlooks.geojson[name]!;
  const bytes = readFileSync(sharedData('outlooks', name));
  const { rows, set_aside } = readOutlookGeoJson(bytes, name, CATEGORICAL, GEOJSON_NOW);
  t.deepEqual(set_aside, []);
  t.is(rows.length, figures.features);
  const [row] = rows;
  t.like(row, {
    label: 'ENH',
    probability_pct: null,
    issue_time: Date.parse('2025-06-05T19:54:00Z'),
    valid_time: Date.parse('2025-06-05T20:00:00Z'),
    expire_time: Date.parse('2025-06-06T12:00:00Z'),
    forecast_date: '2025-06-05',
  });
  const coordinates = multiPolygonFromWkt(row!.geometry!);
  t.is(coordinates[0]![0]!.length, figures.points);
  const found = Object.keys(figures.contains).map((city) => {
    const position = city.split(' ').at(-1)!.split(',').map(Number);
    return [city, booleanPointInPolygon(position, { type: 'MultiPolygon', coordinates })];
  });
  t.deepEqual(Object.fromEntries(found), { ...figures.contains });
  t.deepEqual(bbox({ type: 'MultiPolygon', coordinates }), [...figures.bbox]);
});

test('shell and hole are wound as RFC 7946 has it, whichever way they were drawn', (t) => {
  const expected =
    'MULTIPOLYGON (((-98 35, -97 35, -97 36, -98 36, -98 35), (-97.8 35.2, -97.2 35.8, -97.2 35.2, -97.8 35.2)))';
  for (const rings of [
    [GEOJSON_SQUARE, HOLE],
    [GEOJSON_SQUARE.toReversed(), HOLE.toReversed()],
  ])
    t.is(outlooksRead(feature({}, { type: 'MultiPolygon', coordinates: [rings] })).rows[0]?.geometry, expected);
});

test('probabilities become percent, the significant area has none', (t) => {
  const { rows } = outlooksRead(feature({ LABEL: '0.15' }), feature({ LABEL: 'SIGN' }), feature({ LABEL: 'CIG1' }));
  t.deepEqual(pluck(rows, 'label'), ['0.15', 'SIGN', 'CIG1']);
  t.deepEqual(pluck(rows, 'probability_pct'), [15, null, null]);
});

for (const [title, geometry] of [
  ['an empty collection', EMPTY],
  ['an empty multipolygon', { type: 'MultiPolygon', coordinates: [] }],
  ['null', null],
] as const)
  test(`a layer that shows nothing (${title}) gives one row without area`, (t) => {
    const { rows, set_aside } = outlooksRead(feature({ DN: 0, LABEL: '', LABEL2: '' }, geometry));
    t.deepEqual(set_aside, []);
    t.deepEqual(completenessOf(rows), ['null complete']);
    t.deepEqual([rows[0]?.geometry, rows[0]?.issue_time], [null, Date.parse('2025-06-05T19:54:00Z')]);
  });

test('the row without area goes when the layer has areas', (t) => {
  const { rows } = outlooksRead(feature({ LABEL: '' }, EMPTY), feature());
  t.deepEqual(pluck(rows, 'label'), ['ENH']);
});

const completenessOf = (rows: readonly { readonly label: string | null; readonly is_complete: boolean }[]) =>
  rows.map(({ label, is_complete }) => `${label} ${is_complete ? 'complete' : 'incomplete'}`);

for (const [title, properties, geometry, reason] of [
  ['that crosses itself', {}, polygonOf('-98 35, -97 36, -97 35, -98 37, -98 35'), 'rings 0 and 0 cross'],
  ['that is not closed', {}, { type: 'Polygon', coordinates: [GEOJSON_SQUARE.slice(0, -1)] }, 'ring 0 is not closed'],
  ['of text', {}, { type: 'Polygon', coordinates: [[['-98', 35]]] }, 'position \'["-98",35]\', expected'],
  ['that is a line', {}, { type: 'LineString', coordinates: GEOJSON_SQUARE }, "geometry is 'LineString', expected"],
  ['of an unknown label', { LABEL: 'AWFUL' }, undefined, "label is 'AWFUL', expected"],
  ['without label', { LABEL: undefined }, undefined, 'properties.LABEL: invalid input'],
  ['without time', { VALID: undefined }, undefined, 'properties.VALID: invalid input'],
  ['of the 31st of June', { ISSUE: '202506311954' }, undefined, 'times are 202506311954'],
  [
    'that ends before it begins',
    { EXPIRE: '202506051200' },
    undefined,
    'valid from 2025-06-05T20:00:00Z to 2025-06-05T12:00:00Z, expected at most a day',
  ],
  ['issued in the future', { ISSUE: '202506052054' }, undefined, 'issued 202506052054, which lies in the future'],
] as const)
  test(`an area ${title} is set aside, and the rest is not complete`, (t) => {
    const { rows, set_aside } = outlooksRead(feature(properties, geometry), feature({ LABEL: 'SLGT' }));
    t.deepEqual([set_aside.length, set_aside[0]?.item], [1, 'feature 1']);
    t.true(set_aside[0]?.reason.startsWith(reason), set_aside[0]?.reason);
    t.deepEqual(completenessOf(rows), ['SLGT incomplete']);
  });

test('a polygon with a stray position costs itself, not the other polygons of its label', (t) => {
  const coordinates = [[GEOJSON_SQUARE.toSpliced(1, 1, [-97, 350])], [GEOJSON_SQUARE]];
  const { rows, set_aside } = outlooksRead(feature({}, { type: 'MultiPolygon', coordinates }));
  t.deepEqual(pluck(set_aside, 'item'), ['feature 1 polygon']);
  t.regex(set_aside[0]?.reason ?? '', /^position '\[-97,350\]', expected longitude and latitude/);
  t.deepEqual(completenessOf(rows), ['ENH incomplete']);
  t.is(multiPolygonFromWkt(rows[0]?.geometry ?? '').length, 1);
});

for (const [title, times] of [
  ['ten days ahead', { VALID: '202506151200', EXPIRE: '202506161200' }],
  ['for 48 hours', { VALID: '202506051200', EXPIRE: '202506071200' }],
] as const)
  test(`a layer of day 1 that is valid ${title} is refused by name`, (t) =>
    t.throws(() => outlooksRead(feature(times), feature({ ...times, LABEL: 'SLGT' })), {
      instanceOf: BadInput,
      message: /valid from 2025-06/,
    }));

const INNER = GEOJSON_SQUARE.map(([lon = 0, lat = 0]) => [lon / 2 - 48.75, lat / 2 + 17.75]);
const BESIDE = INNER.map(([lon = 0, lat = 0]) => [lon + 0.5, lat]);

for (const [title, lower, upper] of [
  ['within the one below', [GEOJSON_SQUARE], INNER],
  ['in the hole that the one below has for it', [GEOJSON_SQUARE, INNER.toReversed()], INNER],
  ['with an edge that both draw a little apart', [GEOJSON_SQUARE], INNER.map(([lon = 0, lat = 0]) => [lon - 0.3, lat])],
] as const)
  test(`a level ${title} is an area`, (t) => {
    const below = feature({ LABEL: 'SLGT' }, { type: 'Polygon', coordinates: lower });
    const above = feature({ LABEL: 'ENH' }, { type: 'Polygon', coordinates: [upper] });
    const { rows, set_aside } = outlooksRead(below, above);
    t.deepEqual(set_aside, []);
    t.deepEqual(completenessOf(rows), ['SLGT complete', 'ENH complete']);
  });

test('a layer with a level beyond the one below has no areas and is not complete, in whatever order they stand', (t) => {
  const beyond = feature({ LABEL: 'MRGL' }, { type: 'Polygon', coordinates: [BESIDE] });
  const levels = [feature({ LABEL: 'SLGT' }), beyond, feature({ LABEL: 'TSTM' })];
  for (const order of [levels, levels.toReversed()]) {
    const { rows, set_aside } = outlooksRead(...order);
    t.deepEqual([completenessOf(rows), rows[0]?.geometry], [['null incomplete'], null]);
    t.regex(set_aside[0]?.reason ?? '', /^MRGL has the corner -96.75 35.25 beyond TSTM, expected each level within/);
  }
});

test('an area of intensity beside probabilities is no level', (t) => {
  const significant = feature({ LABEL: 'SIGN' }, { type: 'Polygon', coordinates: [BESIDE] });
  const { rows, set_aside } = outlooksRead(feature({ LABEL: '0.15' }), significant);
  t.deepEqual([rows.length, set_aside], [2, []]);
});

test('an area around the country costs itself, and the layer is not complete', (t) => {
  const around = polygonOf('-170 10, -40 10, -40 75, -170 75, -170 10');
  const { rows, set_aside } = outlooksRead(feature({ LABEL: 'TSTM' }), feature({ LABEL: 'HIGH' }, around));
  t.deepEqual(completenessOf(rows), ['TSTM incomplete']);
  t.regex(set_aside[0]?.reason ?? '', /larger than the area that outlooks are made for/);
});

for (const [name, layer] of [
  ['day1otlk_cat.lyr.geojson', { day: 1, hazard: 'categorical', part: 'all' }],
  ['day1otlk_hail.nolyr.geojson', { day: 1, hazard: 'hail', part: 'probabilities' }],
  ['day2otlk_sighail.lyr.geojson', { day: 2, hazard: 'hail', part: 'significant' }],
  ['day1otlk_20260305_1300_cighail.lyr.geojson', { day: 1, hazard: 'hail', part: 'significant' }],
  ['products/outlook/day1otlk_torn.lyr.geojson', { day: 1, hazard: 'tornado', part: 'probabilities' }],
  ['day3otlk_prob.lyr.geojson', { day: 3, hazard: 'any_severe', part: 'probabilities' }],
  ['day8prob.lyr.geojson', { day: 8, hazard: 'any_severe', part: 'probabilities' }],
  ['day4otlk_cat.lyr.geojson', null],
  ['day9prob.lyr.geojson', null],
  ['day1fw_windrh.lyr.geojson', null],
] as const)
  test(`the name ${name} ${layer ? `is day ${layer.day} ${layer.hazard}` : 'is no layer'}`, (t) =>
    t.deepEqual(outlookLayerOf(name), layer));

test('whatever the geometry is, it becomes an area or a reason', (t) => {
  const number = fc.oneof(fc.integer({ min: -200, max: 200 }), fc.constant(null));
  const ring = fc.array(fc.array(number, { maxLength: 3 }), { maxLength: 6 });
  const coordinates = fc.array(fc.array(ring, { maxLength: 3 }), { maxLength: 3 });
  const property = fc.property(coordinates, (value) => {
    const { rows } = outlooksRead(feature({}, { type: 'MultiPolygon', coordinates: value }), feature());
    t.true(rows.length >= 1);
  });
  fc.assert(property, { numRuns: 300 });
});

const HOUR_MS = 3_600_000;
const START_MS = Date.parse('2025-06-05T12:00:00Z');

/** Fault of an outlook of a day with its times in hours before and after 12 UTC of its date; null without one. */
function faultAt(day: number, issued_h: number, begins_h = 0, ends_h = 24): string | null {
  const compact = (hours: number) =>
    new Date(START_MS + hours * HOUR_MS).toISOString().slice(0, 16).replaceAll(/[-:T]/g, '');
  const times = { ISSUE: compact(-issued_h), VALID: compact(begins_h), EXPIRE: compact(ends_h) };
  try {
    readOutlookGeoJson(alertFile(feature(times)), 'x', { ...CATEGORICAL, day }, START_MS + 100 * HOUR_MS);
    return null;
  } catch (error) {
    return String(error);
  }
}

test('the issues of every day that the Storm Prediction Center makes are taken, with their updates', (t) => {
  for (const [issued_h, begins_h] of [
    [6.3, 0],
    [-0.8, 1],
    [-4.4, 4.5],
    [-7.9, 8],
    [-12.8, 13],
    [-20, 13],
  ] as const)
    t.is(faultAt(1, issued_h, begins_h), null, `${issued_h} h`);
  const later = { 2: [30, 18.5], 3: [52.5, 40.5], 4: [75], 5: [99], 6: [123], 7: [147], 8: [171] };
  for (const [day, hours] of Object.entries(later))
    for (const issued_h of hours) t.is(faultAt(Number(day), issued_h), null, `day ${day}, ${issued_h} h`);
});

test('dates that no outlook of a day has are named', (t) => {
  t.regex(faultAt(1, 240) ?? '', /issued .* which is not day 1 then$/);
  t.regex(faultAt(2, 240) ?? '', /not day 2 then/);
  t.regex(faultAt(8, 195) ?? '', /not day 8 then/);
  t.regex(faultAt(3, 6) ?? '', /not day 3 then/);
  t.regex(faultAt(1, 6, -24) ?? '', /expected at most a day/);
  t.regex(faultAt(2, 24, 0, 48) ?? '', /expected just a day/);
  t.regex(faultAt(4, 75, 0, 26) ?? '', /expected an end at 12 UTC/);
});

const HEADER = 'Time,Size,Location,County,State,Lat,Lon,Comments';
const ROW = '1336,175,7 E AMSTERDAM,BATES,MO,38.35,-94.46,(EAX)';
const REPORTS_NOW = Date.parse('2013-05-21T18:00:00Z');

const LIST = { convective_date: '2013-05-20', list: 'filtered', now_ms: REPORTS_NOW } as const;

const reportsRead = (...lines: string[]) => readSpcReports(Buffer.from(lines.join('\n')), 'x', LIST);

test('a list that is not in UTF-8 is read as Windows-1252, and names keep their letters', (t) => {
  // 0xD1 is N with tilde, 0x92 the right single quotation mark: Unicode's table CP1252.TXT.
  const row = '1955,175,2 W CA\u00d1ON CITY,FREMONT,CO,38.44,-105.24,SIZE OF A FARMER\u0092S EGGS (PUB)';
  const list = ['Time,Size,Location,County,State,Lat,Lon,Comments', row].join('\n');
  const { rows } = readSpcReports(Buffer.from(list, 'latin1'), 'x', LIST);
  t.like(rows[0], { place: '2 W CAÑON CITY', remark: 'SIZE OF A FARMER’S EGGS' });
  t.is(readSpcReports(Buffer.from(list.replace('\u0092', '’')), 'x', LIST).rows[0]?.remark, rows[0]?.remark);
});

function reportsOnly(line: string): FileReport {
  return reportsRead(HEADER, line).rows[0] as FileReport;
}

function reportsReasonOf(line: string): string | undefined {
  const { rows, set_aside } = reportsRead(HEADER, ROW, line);
  return rows.length === 1 && set_aside[0]?.item === 'line 3' ? set_aside[0].reason : undefined;
}

const SPC_LISTS = ['0530_hail', '0530_torn', '0530_wind', '20_hail', '20_torn', '20_wind', 'today'];
for (const name of SPC_LISTS.map((list) => `${list}.csv`))
  sharedTest(`${name} gives the rows, times, states, sizes and positions counted by others`, (t) => {
    const figures = feedFigures().reports.spc[name];
    t.truthy(figures);
    const bytes = readFileSync(sharedData('reports', 'spc', name));
    const later = { ...LIST, convective_date: figures!.convective_day, now_ms: REPORTS_NOW + 30 * 86_400_000 };
    const { rows, set_aside, others } = readSpcReports(bytes, name, later);
    const { hail, ...rest } = figures!.sections;
    t.deepEqual(set_aside, []);
    const counts = Object.entries(rest).map(([kind, of]) => [kind, of.rows]);
    t.deepEqual(Object.fromEntries(others), Object.fromEntries(counts));
    t.is(rows.length, hail?.rows ?? 0);
    if (hail === undefined) return;
    t.is(minuteOf(rows[0]!.time), hail.first_utc);
    t.is(minuteOf(rows.at(-1)!.time), hail.last_utc);
    t.deepEqual(tally(rows.map(({ time }) => utcDate(time))), { ...hail.per_utc_date });
    t.deepEqual(tally(rows.map(({ state }) => state)), { ...hail.states });
    t.deepEqual(tally(rows.map(({ size_mm }) => Math.round((100 * size_mm) / 25.4))), { ...hail.size_counts });
    t.is(Math.max(...rows.map(({ size_mm }) => size_mm)), hail.largest_mm);
    const largest = rows.filter(({ size_mm }) => size_mm === hail.largest_mm);
    t.deepEqual(
      largest.map(({ time, place: location, county, state, lat, lon }) => {
        return { utc: minuteOf(time), location, county, state, lat, lon };
      }),
      [...hail.largest_at],
    );
    t.deepEqual(bbox({ type: 'MultiPoint', coordinates: rows.map(({ lat, lon }) => [lon, lat]) }), [...hail.bbox]);
    t.true(rows.every(({ data_source }) => data_source === 'observed'));
  });

test('a time from 1200 on belongs to the date of the file, an earlier one to the next', (t) => {
  const at = (time: string) => minuteOf(reportsOnly(`${time},175,A,B,MO,38.35,-94.46,`).time);
  t.deepEqual(['1200', '2359', '0000', '0030', '1159'].map(at), [
    '2013-05-20T12:00Z',
    '2013-05-20T23:59Z',
    '2013-05-21T00:00Z',
    '2013-05-21T00:30Z',
    '2013-05-21T11:59Z',
  ]);
});

test('a row becomes a report in our units, with the office of its remark', (t) =>
  t.deepEqual(reportsOnly('1828,175,RODNEY,MECOSTA,MI,43.67,-85.33,"LARGE", MEASURED, BY WZZM13. (GRR)'), {
    report_id: 'spc:GRR:2013-05-20T18:28:00Z:43.670,-85.330',
    source: 'spc',
    time: Date.parse('2013-05-20T18:28:00Z'),
    lat: 43.67,
    lon: -85.33,
    size_mm: 44.45,
    is_measured: null,
    place: 'RODNEY',
    county: 'MECOSTA',
    state: 'MI',
    office: 'GRR',
    remark: '"LARGE", MEASURED, BY WZZM13.',
    product_id: null,
    issued_at: null,
    data_source: 'observed',
    is_correction: false,
    corrects_place: null,
    list: 'filtered',
  }));

for (const [line, reason] of [
  ['1336,175,A,B,MO,38.35', '6 cells, expected 8'],
  ['2560,175,A,B,MO,38.35,-94.46,', "time is '2560', expected HHMM"],
  ['930,175,A,B,MO,38.35,-94.46,', "time is '930', expected HHMM"],
  ['1336,UNK,A,B,MO,38.35,-94.46,', "size is 'UNK', expected hundredths of an inch from 1 to 1000"],
  ['1336,0,A,B,MO,38.35,-94.46,', "size is '0', expected hundredths of an inch from 1 to 1000"],
  ['1336,1001,A,B,MO,38.35,-94.46,', "size is '1001', expected hundredths of an inch from 1 to 1000"],
  ['1336,-175,A,B,MO,38.35,-94.46,', "size is '-175', expected hundredths of an inch from 1 to 1000"],
  ['1336,175,A,B,MO,98.35,-94.46,', "position is '98.35,-94.46', expected degrees of latitude and longitude"],
  ['1336,175,A,B,MO,0,0,', "position is '0,0', expected degrees of latitude and longitude"],
  ['1336,175,A,B,MO,,-94.46,', "position is ',-94.46', expected degrees of latitude and longitude"],
  ['<html>,<body>', '2 cells, expected 8'],
] as const)
  test(`the row '${line}' is set aside, the one beside it is kept`, (t) => t.is(reportsReasonOf(line), reason));

test('a report later than the clock is set aside', (t) => {
  const bytes = Buffer.from(`${HEADER}\n${ROW}\n1347,175,A,B,MO,38.35,-94.46,`);
  const { rows, set_aside } = readSpcReports(bytes, 'x', { ...LIST, now_ms: Date.parse('2013-05-20T13:36:00Z') });
  t.is(rows.length, 1);
  t.deepEqual(set_aside, [{ item: 'line 3', reason: 'time 2013-05-20T13:47:00Z lies in the future' }]);
});

for (const [title, text, reason] of [
  ['an error page', '<!DOCTYPE html>\n<html><body>404</body></html>', 'an html or xml page, expected the report list'],
  ['an empty file', '', "is empty, expected 'Time,Size"],
  ['another table', 'name,lat,lon\nx,1,2', "starts with 'name,lat,lon', expected 'Time,Size"],
] as const)
  test(`${title} instead of a daily list is refused as a whole`, (t) => {
    const error = t.throws(() => reportsRead(text), { instanceOf: BadInput });
    t.true(error?.message.includes(reason), error?.message);
  });

test('a list without rows is sound: nothing was reported', (t) =>
  t.deepEqual(reportsRead(HEADER), { rows: [], set_aside: [], others: new Map(), rejected_ms: [] }));

test('the date of a list comes from its name, and turns over at 12 UTC for the running ones', (t) => {
  const now_ms = Date.parse('2013-05-20T11:59:00Z');
  t.is(convectiveDateOf('climo/reports/130520_rpts_hail.csv', now_ms), '2013-05-20');
  t.is(convectiveDateOf('130520_rpts_filtered_hail.csv', now_ms), '2013-05-20');
  t.is(convectiveDateOf('130520_rpts_raw_hail.csv', now_ms), '2013-05-20');
  t.is(convectiveDateOf('130520_rpts.csv', now_ms), '2013-05-20');
  t.is(convectiveDateOf('today_hail.csv', now_ms), '2013-05-19');
  t.is(convectiveDateOf('yesterday_hail.csv', now_ms), '2013-05-18');
  t.is(convectiveDateOf('today_filtered_hail.csv', now_ms + 60_000), '2013-05-20');
  t.is(convectiveDateOf('130230_rpts_hail.csv', now_ms), null);
  t.is(convectiveDateOf('index.html', now_ms), null);
});

const REPORTS_GEOJSON_NOW = Date.parse('2025-06-07T00:00:00Z');
const REPORTS_PROPERTIES: Readonly<Record<string, unknown>> = {
  valid: '2025-06-05T23:32:00Z',
  magnitude: 3,
  city: '2 ESE Tatum',
  county: 'Lea',
  state: 'NM',
  remark: 'Corrects previous hail report from 2 ESE Tatum. Hail measured up to 3.5 inches in diameter.',
  wfo: 'MAF',
  typetext: 'HAIL',
  product_id: '202506060013-KMAF-NWUS54-LSRMAF',
  unit: 'Inch',
  qualifier: 'E',
};

function reportsFeature(
  properties: Record<string, unknown> = {},
  geometry: unknown = { type: 'Point', coordinates: [-103.28, 33.24] },
) {
  return { type: 'Feature', properties: { ...REPORTS_PROPERTIES, ...properties }, geometry };
}

const lsrRead = (...features: unknown[]) => readLsrGeoJson(alertFile(...features), 'x', REPORTS_GEOJSON_NOW);

sharedTest('the archive file of 5 June 2025 gives its four hail rows and counts the other events', (t) => {
  const name = 'iem_lsrs_by_point_20250605_trimmed.geojson';
  const figures = feedFigures().reports.iem_lsr[name]!;
  const bytes = readFileSync(sharedData('reports', 'lsr', name));
  const { rows, set_aside, others } = readLsrGeoJson(bytes, name, REPORTS_GEOJSON_NOW);
  const { HAIL, ...rest } = figures.by_type;
  t.deepEqual(set_aside, []);
  t.is(rows.length, HAIL);
  t.is(rows.length, figures.hail_rows);
  t.deepEqual(Object.fromEntries(others), rest);
  const found = rows.map(({ time, size_mm, place, state, lon, lat, product_id }) => {
    const inch = Math.round((100 * size_mm) / 25.4) / 100;
    return { utc: timestamp(time), inch, qualifier: 'E', city: place, state, lon, lat, product_id };
  });
  const expected = figures.hail.map((row) => ({ ...row, qualifier: 'E' }));
  t.deepEqual(found, expected);
  t.deepEqual(pluck(rows, 'corrects_place'), [null, '2 ESE Tatum', null, null]);
});

test('a reportsFeature becomes a report in our units, with its product and what it corrects', (t) =>
  t.deepEqual(lsrRead(reportsFeature()).rows, [
    {
      report_id: 'lsr:MAF:2025-06-05T23:32:00Z:33.240,-103.280',
      source: 'lsr',
      time: Date.parse('2025-06-05T23:32:00Z'),
      lat: 33.24,
      lon: -103.28,
      size_mm: 76.2,
      is_measured: false,
      place: '2 ESE Tatum',
      county: 'Lea',
      state: 'NM',
      office: 'MAF',
      remark: REPORTS_PROPERTIES.remark as string,
      product_id: '202506060013-KMAF-NWUS54-LSRMAF',
      issued_at: Date.parse('2025-06-06T00:13:00Z'),
      data_source: 'observed',
      is_correction: true,
      corrects_place: '2 ESE Tatum',
      list: null,
    } satisfies FileReport,
  ]));

for (const [title, properties, reason] of [
  ['no size', { magnitude: null }, "magnitude is 'null', expected inches above 0 and up to 10"],
  ['a size of 0', { magnitude: 0 }, "magnitude is '0', expected inches above 0 and up to 10"],
  ['an impossible size', { magnitude: 12.5 }, "magnitude is '12.5', expected inches above 0 and up to 10"],
  ['another unit', { unit: 'MPH' }, "unit is 'MPH', expected inches"],
  [
    'a time that does not exist',
    { valid: '2025-06-31T23:32:00Z' },
    "valid is '2025-06-31T23:32:00Z', expected a UTC time",
  ],
  ['a local time', { valid: '2025-06-05T23:32:00' }, "valid is '2025-06-05T23:32:00', expected a UTC time"],
  ['a time in the future', { valid: '2025-06-07T00:11:00Z' }, 'valid 2025-06-07T00:11:00Z lies in the future'],
  ['no product', { product_id: 'x' }, "product_id is 'x', expected YYYYMMDDHHMM-office-…"],
  ['no office', { wfo: undefined }, 'properties.wfo: invalid input: expected string, received undefined'],
] as const)
  test(`hail with ${title} is set aside, the one beside it is kept`, (t) => {
    const { rows, set_aside } = lsrRead(reportsFeature(properties), reportsFeature());
    t.is(rows.length, 1);
    t.deepEqual(set_aside, [{ item: 'feature 1', reason }]);
  });

for (const [title, geometry] of [
  ['null', null],
  ['a line', { type: 'LineString', coordinates: [[1, 2]] }],
  ['off the globe', { type: 'Point', coordinates: [-103.28, 133.24] }],
  ['at the origin', { type: 'Point', coordinates: [0, 0] }],
] as const)
  test(`hail whose geometry is ${title} is set aside`, (t) => {
    const { rows, set_aside } = lsrRead(reportsFeature({}, geometry), reportsFeature());
    t.deepEqual([rows.length, set_aside.length], [1, 1]);
  });

for (const unit of ['Inch', 'INCHES', 'in', 'in.', ' inch ', '"', '', null, undefined])
  test(`hail in the unit ${JSON.stringify(unit)} is in inches`, (t) => {
    const { rows, set_aside } = lsrRead(reportsFeature({ unit, magnitude: 1 }));
    t.deepEqual([rows[0]?.size_mm, set_aside], [25.4, []]);
  });

for (const unit of ['cm', 'mm', 'F', 'in/hr', 'min', "'"])
  test(`hail in the unit ${unit} is rejected by name, with its time`, (t) => {
    const { set_aside, rejected_ms } = lsrRead(reportsFeature({ unit }), reportsFeature());
    t.deepEqual(set_aside, [{ item: 'feature 1', reason: `unit is '${unit}', expected inches` }]);
    t.deepEqual(rejected_ms, [Date.parse('2025-06-05T23:32:00Z')]);
  });

test('a rejected report whose time cannot be reportsRead has none', (t) => {
  t.deepEqual(lsrRead(reportsFeature({ valid: 'x' })).rejected_ms, [null]);
  const { rejected_ms } = reportsRead(HEADER, '1400,UNK,A,B,MO,38.35,-94.46,', '25:60,175,A,B,MO,38.35,-94.46,', ROW);
  t.deepEqual(rejected_ms, [Date.parse('2013-05-20T14:00:00Z'), null]);
});

test('size as text and hail over water are read', (t) => {
  const { rows } = lsrRead(reportsFeature({ magnitude: '1.75', typetext: 'MARINE HAIL', qualifier: 'M' }));
  t.like(rows[0], { size_mm: 44.45, is_measured: true });
});

const simulated = { sender: 'simulated' };
const SIMULATED: readonly (readonly [what: string, rows: readonly { readonly data_source: string }[]])[] = [
  ['a warning', alertsRead(alertFeature({ properties: { id: 'urn:oid:2.001.1', ...simulated } }), alertFeature()).rows],
  ['an area of an outlook', outlooksRead(feature({ SOURCE: 'simulated' }), feature()).rows],
  ['a line of a daily list', reportsRead(HEADER, ROW.replace('EAX', 'SIM'), ROW.replace('38.35', '38.36')).rows],
  ['a local storm report', lsrRead(reportsFeature({ wfo: 'SIM' }), reportsFeature()).rows],
];
for (const [what, rows] of SIMULATED)
  test(`${what} of the simulator is simulated, the next one is not`, (t) =>
    t.deepEqual(pluck(rows, 'data_source'), ['simulated', 'observed']));

const alertsOf = (text: string) => readAlerts(Buffer.from(text), 'x', NOW);
const outlooksOf = (text: string) => readOutlookGeoJson(Buffer.from(text), 'x', CATEGORICAL, GEOJSON_NOW);
const lsrOf = (text: string) => readLsrGeoJson(Buffer.from(text), 'x', REPORTS_GEOJSON_NOW);
for (const [title, read, text] of [
  ['an error page in place of alerts', alertsOf, '\n<!DOCTYPE html><html></html>'],
  ['the error body of the service of alerts', alertsOf, '{"title": "Unexpected Problem", "status": 500}'],
  ['cut json of alerts', alertsOf, '{"type": "FeatureCollection", "features": ['],
  ['nothing in place of alerts', alertsOf, ''],
  ['an error page in place of an outlook', outlooksOf, '<html><body>504</body></html>'],
  ['cut json of an outlook', outlooksOf, '{"type": "FeatureCollection", "features": [{'],
  ['json of something else than an outlook', outlooksOf, '[]'],
  ['an outlook without features', outlooksOf, '{"type": "FeatureCollection", "features": []}'],
  ['an outlook whose only area is broken', outlooksOf, String(alertFile(feature({ VALID: 'x' })))],
  ['an error page in place of storm reports', lsrOf, '<!doctype html><html></html>'],
  ['cut json of storm reports', lsrOf, '{"type": "FeatureCollection", "features": [{"type"'],
  ['json of something else than storm reports', lsrOf, '{"error": "busy"}'],
] as const)
  test(`${title} is refused as a whole, never read as nothing there`, (t) =>
    t.throws(() => read(text), { instanceOf: BadInput }));

const FEED_FUZZ_NOW = Date.parse('2026-11-22T00:00:00Z');
const FileReportRow = GroundReport.omit({ storm_date: true, received_at: true, withdrawn_at: true, is_current: true });

const FUZZED_LIST = { convective_date: '2013-05-30', list: 'filtered', now_ms: FEED_FUZZ_NOW } as const;
const SAW_RECEIVED_MS = Date.parse('2021-07-10T04:00:00Z');

type Reader = (bytes: Buffer) => { readonly rows: readonly unknown[] };
const readLsr: Reader = (bytes) => readLsrGeoJson(bytes, 'x', FEED_FUZZ_NOW);
const readWarnings: Reader = (bytes) => readAlerts(bytes, 'x', FEED_FUZZ_NOW);
const readOutlook: Reader = (bytes) => readOutlookGeoJson(bytes, 'x', CATEGORICAL, FEED_FUZZ_NOW);

/** Readers with a real file each, and the table that their rows fit. */
const READERS: readonly (readonly [file: string, table: { parse(row: unknown): unknown }, read: Reader])[] = [
  ['reports/spc/0530_hail.csv', FileReportRow, (bytes) => readSpcReports(bytes, 'x', FUZZED_LIST)],
  ['reports/lsr/iem_lsrs_by_point_20250605_trimmed.geojson', FileReportRow, readLsr],
  ['warnings/alerts/two_real_SVR_with_hail_2023.geojson', Warning, readWarnings],
  ['warnings/watches/SAW3.txt', Watch, (bytes) => readWatch(bytes, 'x', SAW_RECEIVED_MS)],
  ['warnings/discussions/SWOMCD_tags.txt', Watch, (bytes) => readDiscussion(bytes, 'x', FEED_FUZZ_NOW)],
  ['outlooks/spc_day1_cat_20250605_2000z_ENH_only.geojson', SpcOutlook, readOutlook],
];

/** Bytes cut, changed or doubled at random places. */
function damage(bytes: Buffer, changes: readonly (readonly [share: number, kind: number, byte: number])[]): Buffer {
  return changes.reduce((damaged, [share, kind, byte]) => {
    const i = Math.floor(share * damaged.length);
    const [before, after] = [damaged.subarray(0, i), damaged.subarray(i)];
    if (kind === 0) return before;
    if (kind === 1) return Buffer.concat([before, after.subarray(1)]);
    if (kind === 2) return Buffer.concat([before, Buffer.from([byte]), after]);
    if (kind === 3) return Buffer.concat([before, Buffer.from([byte]), after.subarray(1)]);
    return Buffer.concat([before, damaged.subarray(Math.max(0, i - byte)), after]);
  }, bytes);
}

const place = fc.double({ min: 0, max: 0.9999, noNaN: true });
const change = fc.tuple(place, fc.constantFrom(0, 1, 2, 3, 3, 3, 4), fc.integer({ min: 0, max: 255 }));
const changes = fc.array(change, { minLength: 1, maxLength: 6 });

for (const [file, table, read] of READERS)
  sharedTest(`damage to ${basename(file)} is refused or gives rows that fit their table`, (t) => {
    const bytes = readFileSync(sharedData(file));
    const check = (given: Buffer) => read(given).rows.forEach((row) => void table.parse(row));
    t.notThrows(() => check(bytes));
    const property = fc.property(changes, (made) => {
      try {
        check(damage(bytes, made));
      } catch (error) {
        if (!(error instanceof BadInput)) throw error;
      }
    });
    fc.assert(property, { numRuns: 150 });
  });
