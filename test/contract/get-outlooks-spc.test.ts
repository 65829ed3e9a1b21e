import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { outlooksSpc } from '../../api/routes/outlooks-spc.ts';
import type { FeedFile } from '../../pipeline/feeds/define-feed.ts';
import { SpcOutlookAnswer, SpcOutlookFeature } from '../../schemas/resources/convective-outlook.ts';
import { layerFile, type MadeLayer, publishFeeds, ringOf } from '../support/data/feeds.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';
import { scratch } from '../support/data/world.ts';
import { declareRefusals, serveAt } from '../support/service/clocked-service.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import type { RunningService } from '../support/service/service.ts';

const OUTLOOK = '/v1/outlooks/spc';
const NOW_MS = Date.parse('2026-05-01T20:12:00Z');
const OUTER = ringOf([-99, 34, -96, 37]);
const INNER = ringOf([-98, 35, -97, 36]);
const HOLE = ringOf([-97.8, 35.2, -97.6, 35.4]).toReversed();
/** In both boxes; in the outer one alone; in neither; in the hole. */
const [IN, EDGE, OUT, IN_HOLE] = [
  { lat: 35.6, lon: -97.5 },
  { lat: 36.5, lon: -96.5 },
  { lat: 40, lon: -80 },
  { lat: 35.3, lon: -97.7 },
];
const DAY1 = { day: 1, issue: '202605011954', valid: '202605012000', expire: '202605021200', received_ms: NOW_MS };
const layer = (word: string, areas: MadeLayer['areas'], more: Partial<MadeLayer> = {}) =>
  layerFile({ ...DAY1, word, areas, ...more });
/** Day d of an outlook, issued this morning. */
const dayTimes = (day: number) => ({
  ...{ day, issue: '202605010900' },
  ...{ valid: `202605${String(day).padStart(2, '0')}1200`, expire: `202605${String(day + 1).padStart(2, '0')}1200` },
});
/** A whole product of day 1. */
const PRODUCT = [
  layer('cat', [
    ['TSTM', OUTER],
    ['ENH', INNER],
  ]),
  layer('hail', [
    ['0.05', OUTER],
    ['0.30', INNER],
  ]),
  layer('cighail', [['CIG1', INNER]]),
  layer('torn', [['0.02', INNER]]),
  layer('wind', []),
];

async function serve(t: ExecutionContext, files: readonly FeedFile[], now_ms = NOW_MS, received_ms = now_ms) {
  const data_root = await scratch(t);
  if (files.length > 0) await publishFeeds(data_root, files, received_ms);
  return serveAt(t, outlooksSpc, data_root, now_ms);
}

async function ask(service: RunningService, { lat, lon } = IN, more = ''): Promise<SpcOutlookAnswer> {
  const response = await service.call(`${OUTLOOK}?lat=${lat}&lon=${lon}${more}`);
  if (response.status !== 200) throw new Error(`the outlook answers ${response.status} ${await response.text()}`);
  return SpcOutlookAnswer.parse(await response.json());
}

const NOTHING = {
  category: null,
  category_label: null,
  hail_probability_pct: null,
  hail_significant: null,
  tornado_probability_pct: null,
  wind_probability_pct: null,
  severe_probability_pct: null,
};
const NO_PRODUCT = { outlook: NOTHING, issue_time: null, valid_time: null, expire_time: null };

test('GET /v1/outlooks/spc answers day 1 at the point with every field', async (t) => {
  const service = await serve(t, PRODUCT);
  t.deepEqual(await ask(service, { lat: 35.612345678, lon: -97.5 }), {
    location: { lat: 35.61235, lon: -97.5 },
    day: 1,
    outlook: {
      category: 'ENH',
      category_label: 'Enhanced Risk',
      hail_probability_pct: 30,
      hail_significant: true,
      tornado_probability_pct: 2,
      wind_probability_pct: 0,
      severe_probability_pct: null,
    },
    issue_time: '2026-05-01T19:54:00Z',
    valid_time: '2026-05-01T20:00:00Z',
    expire_time: '2026-05-02T12:00:00Z',
    has_extended_risk: null,
    fetched_at: '2026-05-01T20:12:00Z',
  });
});

test('GET /v1/outlooks/spc takes the highest of the areas that hold the point, 0 outside of all contours', async (t) => {
  const service = await serve(t, PRODUCT);
  t.like((await ask(service, EDGE)).outlook, {
    category: 'TSTM',
    category_label: 'General Thunderstorms',
    hail_probability_pct: 5,
    hail_significant: false,
    tornado_probability_pct: 0,
  });
  t.like((await ask(service, OUT)).outlook, {
    category: null,
    category_label: 'No thunderstorm area',
    hail_probability_pct: 0,
    hail_significant: false,
    tornado_probability_pct: 0,
  });
});

test('GET /v1/outlooks/spc takes a point in a hole of an area as outside of that area', async (t) => {
  const service = await serve(t, [
    layer('cat', [
      ['MRGL', OUTER],
      ['SLGT', INNER, HOLE],
    ]),
    layer('hail', [['0.15', INNER, HOLE]]),
  ]);
  t.like((await ask(service, IN_HOLE)).outlook, { category: 'MRGL', hail_probability_pct: 0 });
  t.like((await ask(service, IN)).outlook, { category: 'SLGT', hail_probability_pct: 15 });
});

test('GET /v1/outlooks/spc has null for a hazard whose layer has not come, and for significance without its part', async (t) => {
  const service = await serve(t, [layer('cat', [['SLGT', OUTER]]), layer('hail', [['0.15', OUTER]])]);
  t.deepEqual((await ask(service)).outlook, {
    ...NOTHING,
    category: 'SLGT',
    category_label: 'Slight Risk',
    hail_probability_pct: 15,
  });
  const significant = await serve(t, [layer('cighail', [['CIG1', INNER]])]);
  t.deepEqual((await ask(significant)).outlook, { ...NOTHING, hail_significant: true });
});

const withoutSignificant = PRODUCT.filter(({ name }) => !name.includes('cighail'));

test('GET /v1/outlooks/spc says that no significant hail is forecast where an issue came whole, without such a layer', async (t) => {
  const service = await serve(t, withoutSignificant);
  for (const place of [IN, EDGE, OUT]) t.is((await ask(service, place)).outlook.hail_significant, false);
});

for (const [title, files] of [
  ['a layer of the issue has not come', withoutSignificant.filter(({ name }) => !name.includes('wind'))],
  [
    'a layer is of an earlier issue',
    [
      ...withoutSignificant.filter(({ name }) => !name.includes('wind')),
      layer('wind', [], { issue: '202605011630', valid: '202605011630' }),
    ],
  ],
  [
    'an area of a layer was refused',
    [
      ...withoutSignificant.filter(({ name }) => !name.includes('torn')),
      layer('torn', [
        ['0.02', INNER],
        ['0.10', [INNER[0], INNER[2], INNER[1], INNER[3], INNER[0]] as number[][]],
      ]),
    ],
  ],
] as const)
  test(`GET /v1/outlooks/spc does not know about significant hail without its layer when ${title}`, async (t) => {
    t.is((await ask(await serve(t, files))).outlook.hail_significant, null);
  });

const crossing = [
  [-90, 40],
  [-89, 41],
  [-89, 40],
  [-90, 41],
  [-90, 40],
];

test('GET /v1/outlooks/spc has null, not 0, outside of a layer one of whose areas was refused', async (t) => {
  const service = await serve(t, [
    layer('cat', [
      ['SLGT', OUTER],
      ['ENH', crossing],
    ]),
    layer('hail', [
      ['0.15', OUTER],
      ['0.30', crossing],
    ]),
    layer('cighail', [
      ['CIG1', INNER],
      ['CIG2', crossing],
    ]),
  ]);
  t.like((await ask(service)).outlook, { category: 'SLGT', hail_probability_pct: 15, hail_significant: true });
  t.like((await ask(service, OUT)).outlook, {
    category: null,
    category_label: null,
    hail_probability_pct: null,
    hail_significant: null,
  });
});

for (const [label, word, date, significant] of [
  ['SIGN', 'sighail', '20250501', true],
  ['CIG1', 'cighail', '20260501', true],
  ['CIG2', 'cighail', '20260501', true],
] as const)
  test(`GET /v1/outlooks/spc takes ${label} of ${date} as significant hail`, async (t) => {
    const times = { issue: `${date}1954`, valid: `${date}2000`, expire: `${Number(date) + 1}1200` };
    const now_ms = Date.parse(`${date.slice(0, 4)}-05-01T20:12:00Z`);
    const service = await serve(t, [layer(word, [[label, INNER]], { ...times, received_ms: now_ms })], now_ms);
    t.is((await ask(service)).outlook.hail_significant, significant);
    t.false((await ask(service, EDGE)).outlook.hail_significant);
  });

test('GET /v1/outlooks/spc of day 1 lasts until it expires, then there is no product', async (t) => {
  const service = await serve(t, PRODUCT);
  service.clock.ms = Date.parse('2026-05-02T11:59:59Z');
  t.is((await ask(service)).outlook.category, 'ENH');
  service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
  t.deepEqual(await ask(service), {
    location: IN,
    day: 1,
    ...NO_PRODUCT,
    has_extended_risk: null,
    fetched_at: '2026-05-01T20:12:00Z',
  });
});

test('GET /v1/outlooks/spc has no product before it was issued', async (t) => {
  const service = await serve(t, PRODUCT);
  service.clock.ms = Date.parse('2026-05-01T19:53:59Z');
  t.like(await ask(service), NO_PRODUCT);
});

test('GET /v1/outlooks/spc of day 1 is the product issued last, though that of yesterday is still valid', async (t) => {
  const today = { issue: '202605010555', valid: '202605011200', expire: '202605021200' };
  const yesterday = { issue: '202605010100', valid: '202605010100', expire: '202605011200' };
  const service = await serve(
    t,
    [layer('cat', [['MRGL', OUTER]], yesterday), layer('cat', [['MDT', OUTER]], today)],
    Date.parse('2026-05-01T06:30:00Z'),
  );
  t.like(await ask(service), { outlook: { category: 'MDT' }, valid_time: '2026-05-01T12:00:00Z' });
});

test('GET /v1/outlooks/spc says of layers of several issues what holds for all: the oldest issue, the shortest validity', async (t) => {
  const older = { issue: '202605011620', valid: '202605011630' };
  const service = await serve(t, [layer('cat', [['ENH', OUTER]]), layer('hail', [['0.30', OUTER]], older)]);
  t.like(await ask(service), {
    outlook: { category: 'ENH', hail_probability_pct: 30 },
    issue_time: '2026-05-01T16:20:00Z',
    valid_time: '2026-05-01T20:00:00Z',
    expire_time: '2026-05-02T12:00:00Z',
  });
});

for (const [day, lead] of [
  [2, 0],
  [3, 1],
  [4, 2],
  [8, 6],
] as const)
  test(`GET /v1/outlooks/spc of day ${day} lasts while it starts more than ${lead} days ahead: an outdated one is no product`, async (t) => {
    const files = [layer(day < 4 ? 'cat' : 'prob', [[day < 4 ? 'SLGT' : '0.15', OUTER]], dayTimes(day))];
    const service = await serve(t, files);
    t.is((await ask(service, IN, `&day=${day}`)).issue_time, '2026-05-01T09:00:00Z');
    service.clock.ms = Date.parse('2026-05-02T11:59:59Z');
    t.is((await ask(service, IN, `&day=${day}`)).issue_time, '2026-05-01T09:00:00Z');
    service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
    t.like(await ask(service, IN, `&day=${day}`), NO_PRODUCT);
  });

test('GET /v1/outlooks/spc of day 3 passes on the one combined probability, and derives nothing from it', async (t) => {
  const service = await serve(t, [
    layer('cat', [['SLGT', OUTER]], dayTimes(3)),
    layer('prob', [['0.15', OUTER]], dayTimes(3)),
  ]);
  const expected = { ...NOTHING, category: 'SLGT', category_label: 'Slight Risk', severe_probability_pct: 15 };
  t.deepEqual((await ask(service, IN, '&day=3')).outlook, expected);
  t.is((await ask(service, OUT, '&day=3')).outlook.severe_probability_pct, 0);
});

for (const [label, pct] of [
  ['0.15', 15],
  ['0.30', 30],
] as const)
  test(`GET /v1/outlooks/spc of day 5 has ${pct} inside of the area and null outside, no category, and extended risk`, async (t) => {
    const files = [4, 5, 6, 7, 8].map((day) => layer('prob', day === 5 ? [[label, OUTER]] : [], dayTimes(day)));
    const service = await serve(t, [...PRODUCT, ...files]);
    t.like(await ask(service, IN, '&day=5'), {
      outlook: { ...NOTHING, severe_probability_pct: pct },
      has_extended_risk: true,
      valid_time: '2026-05-05T12:00:00Z',
    });
    t.like(await ask(service, OUT, '&day=5'), { outlook: NOTHING, has_extended_risk: false });
    t.like(await ask(service, IN, '&day=4'), { outlook: NOTHING, has_extended_risk: true });
    t.true((await ask(service, IN)).has_extended_risk);
    t.false((await ask(service, OUT)).has_extended_risk);
  });

test('GET /v1/outlooks/spc does not say that there is no extended risk when one of days 4 to 8 is missing', async (t) => {
  const files = [4, 5, 6, 7].map((day) => layer('prob', day === 5 ? [['0.15', OUTER]] : [], dayTimes(day)));
  const service = await serve(t, files);
  t.true((await ask(service)).has_extended_risk);
  t.is((await ask(service, OUT)).has_extended_risk, null);
});

test('GET /v1/outlooks/spc answers null and is charged where no feed ever brought an outlook', async (t) => {
  const service = await serve(t, []);
  for (const day of [1, 2, 3, 4, 5, 6, 7, 8])
    t.deepEqual(await ask(service, IN, `&day=${day}`), {
      location: IN,
      day,
      ...NO_PRODUCT,
      has_extended_risk: null,
      fetched_at: null,
    });
  t.is(await creditsUsed(service), 40);
});

test('GET /v1/outlooks/spc with format=geojson answers the geohash cell of the point as a Feature', async (t) => {
  const service = await serve(t, PRODUCT);
  const response = await service.call(`${OUTLOOK}?lat=${IN.lat}&lon=${IN.lon}&format=geojson`);
  t.is(response.headers.get('Content-Type'), 'application/geo+json');
  const { geometry, properties } = SpcOutlookFeature.parse(await response.json());
  t.deepEqual(properties, await ask(service));
  t.deepEqual(properties, await ask(service, IN, '&format=json'));
  // 9y6: 1.40625 degrees on a side; its cells of four characters are 0.3515625 wide and 0.17578125 high.
  t.deepEqual(geometry.coordinates, [
    [
      [-97.734375, 35.507813],
      [-97.382812, 35.507813],
      [-97.382812, 35.683594],
      [-97.734375, 35.683594],
      [-97.734375, 35.507813],
    ],
  ]);
  const refused = await service.call(`${OUTLOOK}?lat=${IN.lat}&lon=${IN.lon}&format=geojson`, {
    headers: { Accept: 'text/csv' },
  });
  t.is(refused.status, 406);
});

test('GET /v1/outlooks/spc says of each answer who made the forecasts that it is from', async (t) => {
  const simulated = { ...dayTimes(2), simulated: true };
  const service = await serve(t, [...PRODUCT, layer('cat', [['SLGT', OUTER]], simulated)]);
  const sourceOf = async (day: number) =>
    (await service.call(`${OUTLOOK}?lat=35&lon=-97&day=${day}`)).headers.get('X-Data-Source');
  t.is(await sourceOf(1), 'observed');
  t.is(await sourceOf(2), 'simulated');
  t.is(await sourceOf(3), 'mixed');
  const never = await serve(t, []);
  t.is((await never.call(`${OUTLOOK}?lat=35&lon=-97`)).headers.get('X-Data-Source'), null);
});

test('GET /v1/outlooks/spc keeps its tag until another product is in force, and charges a 304 its 5 credits', async (t) => {
  const service = await serve(t, PRODUCT);
  const path = `${OUTLOOK}?lat=${IN.lat}&lon=${IN.lon}`;
  const first = (await service.call(path)).headers.get('ETag') ?? '';
  const statusWith = async (tag: string) => (await service.call(path, { headers: { 'If-None-Match': tag } })).status;
  service.clock.ms += 60_000;
  t.is(await statusWith(first), 304);
  t.is(await creditsUsed(service), 10);
  const later = { issue: '202605012010', received_ms: NOW_MS + 60_000 };
  await publishFeeds(service.data_root, [layer('cat', [['MDT', OUTER]], later)], service.clock.ms);
  await service.services.catalog.refresh();
  t.is(await statusWith(first), 200);
  const second = (await service.call(path)).headers.get('ETag') ?? '';
  service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
  t.is(await statusWith(second), 200);
});

declareRefusals(outlooksSpc, NOW_MS, [
  '',
  'lat=35',
  'lon=-97',
  'lat=91&lon=0',
  'lat=35&lon=181',
  'lat=35&lon=-97&day=0',
  'lat=35&lon=-97&day=9',
  'lat=35&lon=-97&day=1.5',
  'lat=35&lon=-97&day=',
  'lat=35&lon=-97&format=csv',
  'lat=35&lon=-97&day=1&day=2',
]);

const pointsFile = (name: string, received_ms: number): FeedFile => ({
  name,
  bytes: readFileSync(sharedData('outlooks', 'points', name)),
  received_ms,
});

sharedTest(
  'GET /v1/outlooks/spc reads the big enhanced risk of June 2015: significant hail in Nebraska, marginal risk in Nevada',
  async (t) => {
    const now_ms = Date.parse('2015-06-04T17:00:00Z');
    const service = await serve(t, [pointsFile('PTSDY1_bigenh.txt', now_ms)], now_ms);
    t.like(await ask(service, { lat: 40.25, lon: -99.5 }), {
      outlook: { category: 'ENH', hail_probability_pct: 30, hail_significant: true, tornado_probability_pct: 5 },
      issue_time: '2015-06-04T16:25:00Z',
      valid_time: '2015-06-04T16:30:00Z',
      expire_time: '2015-06-05T12:00:00Z',
    });
    t.like((await ask(service, { lat: 40.8, lon: -116.4 })).outlook, {
      category: 'MRGL',
      hail_probability_pct: 0,
      hail_significant: false,
      wind_probability_pct: 5,
    });
    t.like((await ask(service, { lat: 34, lon: -118.2 })).outlook, { category: null, hail_probability_pct: 0 });
  },
);

sharedTest('GET /v1/outlooks/spc reads the real day 2 and day 3 with their one combined probability', async (t) => {
  const day2 = await serve(
    t,
    [pointsFile('PTSDY2.txt', Date.parse('2014-05-06T18:00:00Z'))],
    Date.parse('2014-05-06T18:00:00Z'),
  );
  const { outlook } = await ask(day2, { lat: 33, lon: -99 }, '&day=2');
  t.is(outlook.hail_probability_pct, null);
  t.true([0, 5, 15, 30].includes(outlook.severe_probability_pct ?? -1));
  const day3 = await serve(
    t,
    [pointsFile('PTSDY3.txt', Date.parse('2013-11-19T09:00:00Z'))],
    Date.parse('2013-11-19T09:00:00Z'),
  );
  t.like((await ask(day3, { lat: 47, lon: -70 }, '&day=3')).outlook, {
    severe_probability_pct: 0,
    hail_probability_pct: null,
  });
});

sharedTest('GET /v1/outlooks/spc reads the real days 4 to 8: 15 % in Iowa on day 4 alone', async (t) => {
  const now_ms = Date.parse('2017-04-06T10:00:00Z');
  const service = await serve(t, [pointsFile('PTSD48.txt', now_ms)], now_ms);
  const iowa = { lat: 42, lon: -94 };
  const answers = await Promise.all([4, 5, 6, 7, 8].map((day) => ask(service, iowa, `&day=${day}`)));
  t.deepEqual(
    answers.map(({ outlook, has_extended_risk }) => [outlook.severe_probability_pct, has_extended_risk]),
    [15, null, null, null, null].map((pct) => [pct, true]),
  );
  t.deepEqual(
    answers.map(({ valid_time }) => valid_time),
    ['09', '10', '11', '12', '13'].map((day) => `2017-04-${day}T12:00:00Z`),
  );
  t.like(await ask(service, OUT, '&day=4'), { outlook: NOTHING, has_extended_risk: false });
});

sharedTest('GET /v1/outlooks/spc reads the real enhanced risk of 5 June 2025 over Lubbock', async (t) => {
  const now_ms = Date.parse('2025-06-05T20:12:00Z');
  const bytes = readFileSync(sharedData('outlooks', 'spc_day1_cat_20250605_2000z_ENH_only.geojson'));
  const name = 'day1otlk_20250605_2000_cat.lyr.geojson';
  const service = await serve(t, [{ name, bytes, received_ms: now_ms }], now_ms);
  t.like(await ask(service, { lat: 33.58, lon: -101.86 }), {
    outlook: { category: 'ENH', category_label: 'Enhanced Risk', hail_probability_pct: null },
    issue_time: '2025-06-05T19:54:00Z',
  });
  t.is((await ask(service, { lat: 32.78, lon: -96.8 })).outlook.category, null);
});
