import { readFileSync } from 'node:fs';
import test from 'ava';
import fc from 'fast-check';
import { BadInput } from '../../../pipeline/error.ts';
import { watches } from '../../../pipeline/feeds/watches.ts';
import { readAlerts } from '../../../pipeline/read/alerts.ts';
import { checkPolygon } from '../../../pipeline/read/polygon.ts';
import { readDiscussion, readWatch } from '../../../pipeline/read/watches.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { WARNING_EVENTS, type Warning, type Watch } from '../../../schemas/tables/feeds.ts';
import { alertFeature, alertFile, type MadeAlert } from '../../support/data/alert.ts';
import { feedFigures, minuteOf } from '../../support/data/feed-figures.ts';
import { withInstants } from '../../support/data/relative-times.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

const NOW = Date.parse('2025-05-01T20:10:00Z');
const INCH_MM = 25.4;

function only(made: MadeAlert = {}): Warning {
  return readAlerts(alertFile(alertFeature(made)), 'x', NOW).rows[0] as Warning;
}

/** Reason for which the first of two alerts is set aside while the second is kept. */
function reasonOf(made: MadeAlert): string | undefined {
  const other = alertFeature({ properties: { id: 'urn:oid:2.001.1' } });
  const { rows, set_aside } = readAlerts(alertFile(alertFeature(made), other), 'x', NOW);
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
    t.deepEqual(
      rows.map(({ event, areas, positions }) => ({ event, area: areas, polygon_points: positions })),
      figures.severe_thunderstorm_or_tornado_warnings.map(({ event, area, polygon_points }) => ({
        event,
        area,
        polygon_points,
      })),
    );
    t.deepEqual(
      rows.map(({ warning_id, office, hail_size_mm, gust_kmh }) => [
        warning_id,
        office,
        hail_size_mm,
        Math.round(gust_kmh! / 1.609344),
      ]),
      figures.maxHailSize
        .filter(({ event }) => (WARNING_EVENTS as readonly string[]).includes(event))
        .map(({ id, sender, maxHailSize, maxWindGust }) => [
          id,
          sender,
          Math.round(Number(maxHailSize[0]) * INCH_MM * 1000) / 1000,
          Number(maxWindGust[0]?.split(' ')[0]),
        ]),
    );
    for (const [index, { expires }] of figures.severe_thunderstorm_or_tornado_warnings.entries())
      if (!expires.startsWith('date:')) t.is(rows[index]?.expires_at, Date.parse(expires));
  });

sharedTest('a warning of a file with relative times is in force for as long as the file says', (t) => {
  const name = 'weather.gov_air-quality-alerts_active.json';
  const text = withInstants(readFileSync(sharedData('warnings', 'alerts', name), 'utf8'), NOW);
  const [warning] = readAlerts(Buffer.from(text), name, NOW).rows;
  t.is(warning?.issued_at, NOW - 524_000);
  t.is(warning?.expires_at, NOW + 1_755_000);
});

sharedTest('a real file whose times were never replaced sets its warnings aside', (t) => {
  const name = 'weather.gov_air-quality-alerts_active.json';
  const { rows, set_aside } = readAlerts(readFileSync(sharedData('warnings', 'alerts', name)), name, NOW);
  t.is(rows.length, 0);
  t.is(set_aside.length, 2);
});

test('an alert becomes a warning in our units, moving towards where the tag does not say', (t) => {
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
  });
});

test('the end of the event counts, not that of the message', (t) => {
  const expires = '2025-05-01T15:20:00-05:00';
  t.is(only({ properties: { expires } }).expires_at, Date.parse('2025-05-01T20:45:00Z'));
  const parameters = { eventEndingTime: ['2025-05-01T20:30:00+00:00'] };
  t.is(only({ properties: { expires, ends: null }, parameters: {} }).expires_at, Date.parse(expires));
  const feature = alertFeature({ properties: { expires, ends: null } });
  (feature.properties as Record<string, unknown>).parameters = parameters;
  t.is(readAlerts(alertFile(feature), 'x', NOW).rows[0]?.expires_at, Date.parse('2025-05-01T20:30:00Z'));
});

for (const [tag, word] of [
  ['RADAR INDICATED', 'RADAR_INDICATED'],
  ['OBSERVED', 'OBSERVED'],
  ['POSSIBLE', 'POSSIBLE'],
  ['MAYBE', null],
] as const)
  test(`the tornado tag ${tag} is ${word ?? 'not known'}`, (t) => {
    t.is(only({ parameters: { tornadoDetection: [tag] } }).tornado_detection, word);
  });

for (const [text, mm] of [
  ['0.00', 0],
  ['1.00', 25.4],
  ['Up to .75', 19.05],
  ['2.50 in', 63.5],
  ['99.00', null],
  ['golf ball', null],
  ['', null],
] as const)
  test(`the hail tag '${text}' is ${mm === null ? 'not known' : `${mm} mm`}`, (t) => {
    t.is(only({ parameters: { maxHailSize: [text] } }).hail_size_mm, mm);
  });

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

/** Positions of `-98 35, -97 35`. */
const ringOf = (text: string) => text.split(', ').map((position) => position.split(' ').map(Number));
const polygonOf = (text: string) => ({ type: 'Polygon', coordinates: [ringOf(text)] });

test('a polygon drawn clockwise is wound the other way round', (t) => {
  const { geometry } = only({ geometry: polygonOf('-98 35, -98 36, -97 36, -97 35, -98 35') });
  t.is(geometry, 'POLYGON ((-98 35, -97 35, -97 36, -98 36, -98 35))');
});

const OFF_THE_GLOBE = "position '[-97,95]', expected longitude and latitude";
const OF_TEXT = { type: 'Polygon', coordinates: [[[-98, 35], ['-97', '35'], ...ringOf('-97 36, -98 35')]] };
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
    const { rows, set_aside } = readAlerts(alertFile(alertFeature({ geometry })), 'x', NOW);
    t.deepEqual(set_aside, [{ item: 'feature 1 polygon', reason }]);
    t.deepEqual(
      rows.map((row) => [row.geometry, row.west, row.positions, row.is_refused_polygon]),
      [[null, null, 0, true]],
    );
  });

test('a polygon of more positions than any warning has is refused before its edges are compared', (t) => {
  const circle = Array.from({ length: 201 }, (_, i) => [
    -97 + Math.cos((i * Math.PI) / 100),
    35 + Math.sin((i * Math.PI) / 100),
  ]);
  const { rows, set_aside } = readAlerts(
    alertFile(alertFeature({ geometry: { type: 'Polygon', coordinates: [circle] } })),
    'x',
    NOW,
  );
  t.is(rows.length, 1);
  t.is(set_aside[0]?.reason, '201 positions, expected at most 200');
});

test('a warning without polygon is kept, and nothing was refused', (t) => {
  const { rows, set_aside } = readAlerts(alertFile(alertFeature({ geometry: null })), 'x', NOW);
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
  test(`a warning ${title} is set aside, the one beside it is kept`, (t) => {
    t.true(reasonOf({ properties })?.startsWith(reason), reasonOf({ properties }));
  });

test('a test message is counted, not published', (t) => {
  const { rows, others } = readAlerts(alertFile(alertFeature({ properties: { status: 'Test' } })), 'x', NOW);
  t.deepEqual([rows.length, Object.fromEntries(others)], [0, { 'Severe Thunderstorm Warning (Test)': 1 }]);
});

test('an update names what it replaces', (t) => {
  const references = [
    { '@id': 'x', identifier: 'urn:oid:0.001.1' },
    { '@id': 'y', identifier: 'urn:oid:0.002.1' },
  ];
  const { message_type, replaces } = only({ properties: { messageType: 'Update', references } });
  t.deepEqual([message_type, replaces], ['Update', 'urn:oid:0.001.1 urn:oid:0.002.1']);
});

test('a warning of the simulator is simulated, the next one is not', (t) => {
  const simulated = alertFeature({ properties: { sender: 'simulated' } });
  const observed = alertFeature({ properties: { id: 'urn:oid:2.001.1' } });
  t.deepEqual(
    readAlerts(alertFile(simulated, observed), 'x', NOW).rows.map(({ data_source }) => data_source),
    ['simulated', 'observed'],
  );
});

for (const [title, text] of [
  ['an error page', '\n<!DOCTYPE html><html></html>'],
  ['the error body of the service', '{"title": "Unexpected Problem", "status": 500}'],
  ['cut json', '{"type": "FeatureCollection", "features": ['],
  ['nothing', ''],
] as const)
  test(`${title} is refused as a whole, never read as no warnings`, (t) => {
    t.throws(() => readAlerts(Buffer.from(text), 'x', NOW), { instanceOf: BadInput });
  });

test('a collection without features is sound: there are no warnings', (t) => {
  t.deepEqual(readAlerts(alertFile(), 'x', NOW).rows, []);
});

test('whatever stands among the features, the sound warning beside it is kept', (t) => {
  fc.assert(
    fc.property(fc.array(fc.anything({ maxDepth: 3 }), { maxLength: 5 }), (junk) => {
      const features = JSON.parse(JSON.stringify([...junk, alertFeature()]) ?? '[]') as unknown[];
      const { rows } = readAlerts(alertFile(...features), 'x', NOW);
      t.is(rows.length, 1);
    }),
    { numRuns: 200 },
  );
});

test('whatever stands in one property, the warning is read or set aside, and never thrown', (t) => {
  const names = Object.keys(alertFeature().properties as object);
  fc.assert(
    fc.property(fc.constantFrom(...names, 'geometry'), fc.jsonValue(), (name, value) => {
      const made = name === 'geometry' ? { geometry: value } : { properties: { [name]: value } };
      const { rows, set_aside, others } = readAlerts(alertFile(alertFeature(made)), 'x', NOW);
      t.true(rows.length + set_aside.length + others.size >= 1);
    }),
    { numRuns: 300 },
  );
});

/** When the real texts were received; they have no month and year. */
const RECEIVED: Readonly<Record<string, string>> = {
  'SAW-cancelled.txt': '2022-08-02T05:33:00Z',
  'SAW3.txt': '2021-07-10T03:30:00Z',
  'SAW9_PDS.txt': '2021-07-29T00:16:00Z',
};

const real = (name: string) =>
  readWatch(readFileSync(sharedData('warnings', 'watches', name)), name, Date.parse(RECEIVED[name]!));

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
  const { row, set_aside } = readWatch(bytes, 'x', Date.parse('2026-08-27T03:00:00Z'));
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
const read = (text: string, received_ms = RECEIVED_MS) => readWatch(Buffer.from(text), 'x', received_ms).row;

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
      const other = found.find(({ number }) => number === 504);
      t.true((other?.expires_at ?? 0) > (texts[1]?.issued_at ?? 0));
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
    const { row, set_aside } = readWatch(Buffer.from(SAW.replace(from, to)), 'x', RECEIVED_MS);
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
  ['a text of megabytes', `${SAW}${' '.repeat(1_100_000)}`],
  ['nothing', ''],
] as const)
  test(`${title} is refused by the reader of watches`, (t) => {
    t.throws(() => read(text), { instanceOf: BadInput });
  });

const DISCUSSIONS_NOW = Date.parse('2026-11-22T00:00:00Z');

for (const name of ['SWOMCD.txt', 'SWOMCD_tags.txt', 'SWOMCDconcerning.txt', 'SWOMCDprob.txt'])
  sharedTest(`${name} gives the number, validity, concern, probability and outline read by others`, (t) => {
    const figures = feedFigures().warnings.discussions[name]!;
    const { row, set_aside } = readDiscussion(
      readFileSync(sharedData('warnings', 'discussions', name)),
      name,
      DISCUSSIONS_NOW,
    );
    t.deepEqual(set_aside, []);
    t.is(row.type, 'mesoscale_discussion');
    t.is(row.number, figures.number);
    t.deepEqual([minuteOf(row.begins_at!), minuteOf(row.expires_at)], [...figures.valid_utc]);
    t.is(row.headline, figures.concerning);
    t.is(row.watch_probability_pct, figures.watch_probability_percent);
    t.deepEqual([row.west, row.south, row.east, row.north], [...figures.polygon.bbox]);
    const [ring] = multiPolygonFromWkt(row.geometry!)[0]!;
    t.is(ring!.length, figures.polygon.points_in_text);
    t.deepEqual(ring!.slice(1).map(String).sort(), figures.polygon.ring_lonlat.slice(1).map(String).sort());
  });

sharedTest('the discussion with tags gives areas, peak hail and peak gust', (t) => {
  const { row } = readDiscussion(
    readFileSync(sharedData('warnings', 'discussions', 'SWOMCD_tags.txt')),
    'x',
    DISCUSSIONS_NOW,
  );
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
  const { row, set_aside } = readDiscussion(Buffer.from(TEXT), 'x', DISCUSSIONS_NOW);
  t.deepEqual(set_aside, []);
  t.is(row.areas, 'Lower Mississippi Valley and beyond');
  t.deepEqual([row.watch_probability_pct, row.data_source], [95, 'observed']);
  t.is(multiPolygonFromWkt(row.geometry!)[0]![0]!.length, 5);
});

test('a discussion of the simulator is simulated, and issued in UTC', (t) => {
  const text = TEXT.replace('KWNS', 'KSIM').replace('1149 PM CST Mon Nov 18', '0549 AM UTC Tue Nov 19');
  const { issued_at, data_source } = readDiscussion(Buffer.from(text), 'x', DISCUSSIONS_NOW).row;
  t.deepEqual([minuteOf(issued_at), data_source], ['2024-11-19T05:49Z', 'simulated']);
});

test('a broken outline is set aside, and the discussion kept without it', (t) => {
  const { row, set_aside } = readDiscussion(Buffer.from(TEXT.replace('32119008', '3211')), 'x', DISCUSSIONS_NOW);
  t.is(row.geometry, null);
  t.deepEqual(set_aside, [{ item: 'outline', reason: "position '3211', expected eight digits" }]);
});

test('a probability above 100 is not known', (t) => {
  t.is(
    readDiscussion(Buffer.from(TEXT.replace('95 percent', '950 percent')), 'x', DISCUSSIONS_NOW).row
      .watch_probability_pct,
    null,
  );
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
] as const)
  test(`${title} is refused`, (t) => {
    t.throws(() => readDiscussion(Buffer.from(text), 'x', DISCUSSIONS_NOW), { instanceOf: BadInput });
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
  const ring = ringOf('-98 35, -97 35, -97 35, -97 36, -98 35').map((position) => [...position, 0]);
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
  test(`a polygon ${title} is refused with its span`, (t) => {
    t.regex(String(checkPolygon([ringOf(ring)])), /^spans \d+ degrees, expected at most 60/);
  });
