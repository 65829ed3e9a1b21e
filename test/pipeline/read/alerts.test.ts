import { readFileSync } from 'node:fs';
import test from 'ava';
import fc from 'fast-check';
import { BadInput } from '../../../pipeline/error.ts';
import { readAlerts } from '../../../pipeline/read/alerts.ts';
import { WARNING_EVENTS, type Warning } from '../../../schemas/tables/warnings.ts';
import { alertFeature, alertFile, type MadeAlert } from '../../support/data/alert.ts';
import { feedFigures } from '../../support/data/feed-figures.ts';
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

test('a polygon drawn clockwise is wound the other way round', (t) => {
  const clockwise = [
    [-98, 35],
    [-98, 36],
    [-97, 36],
    [-97, 35],
    [-98, 35],
  ];
  const { geometry } = only({ geometry: { type: 'Polygon', coordinates: [clockwise] } });
  t.is(geometry, 'POLYGON ((-98 35, -97 35, -97 36, -98 36, -98 35))');
});

for (const [title, geometry, reason] of [
  [
    'crosses itself',
    {
      type: 'Polygon',
      coordinates: [
        [
          [-98, 35],
          [-97, 36],
          [-97, 35],
          [-98, 37],
          [-98, 35],
        ],
      ],
    },
    'edges cross or touch at -97.33 35.67, expected a simple polygon',
  ],
  [
    'is not closed',
    {
      type: 'Polygon',
      coordinates: [
        [
          [-98, 35],
          [-97, 35],
          [-97, 36],
          [-98, 36],
        ],
      ],
    },
    "ring is not closed, expected the first position '[-98,35]' at its end",
  ],
  [
    'has two corners',
    {
      type: 'Polygon',
      coordinates: [
        [
          [-98, 35],
          [-97, 35],
          [-98, 35],
        ],
      ],
    },
    '2 different positions, expected 3 or more',
  ],
  [
    'has no area',
    {
      type: 'Polygon',
      coordinates: [
        [
          [-98, 35],
          [-97, 35],
          [-96, 35],
          [-98, 35],
        ],
      ],
    },
    'rings 0 and 0 cross or overlap near -98 35',
  ],
  [
    'leaves the globe',
    {
      type: 'Polygon',
      coordinates: [
        [
          [-98, 35],
          [-97, 95],
          [-97, 36],
          [-98, 35],
        ],
      ],
    },
    "position '[-97,95]', expected longitude and latitude",
  ],
  [
    'has text for numbers',
    {
      type: 'Polygon',
      coordinates: [
        [
          [-98, 35],
          ['-97', '35'],
          [-97, 36],
          [-98, 35],
        ],
      ],
    },
    'position \'["-97","35"]\', expected longitude and latitude',
  ],
  [
    'is a point',
    { type: 'Point', coordinates: [-98, 35] },
    'geometry is \'{"type":"Point","coordinates":[-98,35]}\', expected a polygon',
  ],
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

test('an alert that stands twice unchanged counts once', (t) => {
  const { rows, set_aside } = readAlerts(alertFile(alertFeature(), alertFeature()), 'x', NOW);
  t.deepEqual([rows.length, set_aside], [1, []]);
});

test('of two alerts with one id the later counts, and the clash is told', (t) => {
  const later = alertFeature({ properties: { sent: '2025-05-01T20:05:00Z', headline: 'later' } });
  for (const features of [
    [alertFeature(), later],
    [later, alertFeature()],
  ]) {
    const { rows, set_aside } = readAlerts(alertFile(...features), 'x', NOW);
    t.deepEqual(
      rows.map(({ headline }) => headline),
      ['later'],
    );
    t.is(set_aside.length, 1);
  }
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
