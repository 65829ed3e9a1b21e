import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { outlookOfDay } from '../../api/routes/outlooks-spc.ts';
import { stateBox } from '../../api/rules/geo/us-states.ts';
import type { FeedFile } from '../../pipeline/feeds/define-feed.ts';
import { WEB_FEEDS } from '../../pipeline/feeds/web-feeds.ts';
import { spcDay } from '../../pipeline/forecast/outlook.ts';
import { destination, distanceKm } from '../../schemas/geo/distance.ts';
import { layout } from '../../schemas/layout.ts';
import { outlookDate } from '../../schemas/outlook-day.ts';
import { SpcOutlookAnswer, SpcOutlookFeature } from '../../schemas/resources/convective-outlook.ts';
import { Warnings } from '../../schemas/resources/warning.ts';
import type { SpcOutlook } from '../../schemas/tables/feeds.ts';
import { addDays, MS_PER_DAY, MS_PER_MIN } from '../../schemas/time.ts';
import {
  alertsFile,
  type Box,
  layerFile,
  type MadeLayer,
  type MadeWarning,
  publishFeeds,
  ringOf,
  watchFile,
} from '../support/data/feeds.ts';
import { withInstants } from '../support/data/relative-times.ts';
import { positionsOf } from '../support/data/rings.ts';
import { sharedData, sharedTest } from '../support/data/shared-data.ts';
import { scratch } from '../support/data/world.ts';
import { creditsUsed } from '../support/service/portfolio.ts';
import { type RunningService, serviceFor } from '../support/service/service.ts';
import { declareRefusals, parsed } from './answers.ts';

const WARNINGS = '/v1/warnings';
const NOW_MS = Date.parse('2026-05-01T20:12:00Z');
const BOX: Box = [-98, 35, -97, 36];
const INSIDE = { lat: 35.5, lon: -97.5 };
/** In force for 23 minutes more. */
const WARNING: MadeWarning = {
  id: 'urn:oid:1.001.1',
  sent: '2026-05-01T20:00:00Z',
  ends: '2026-05-01T20:35:00Z',
  box: BOX,
};
/** No watch is in it, so that the feed of watches is known and holds nothing near. */
const FAR_WATCH = watchFile({ number: 7, from: '011900', to: '020100' }, [-81, 40, -80, 41], NOW_MS);

/** A service over what the feeds brought, whose data clock can be moved. */
async function serve(t: ExecutionContext, files: readonly FeedFile[], now_ms = NOW_MS) {
  const data_root = await scratch(t);
  if (files.length > 0) await publishFeeds(data_root, files, now_ms);
  return serviceFor(t, { data_root, now_ms });
}

const serveWarnings = (t: ExecutionContext, ...made: MadeWarning[]) =>
  serve(t, [alertsFile(NOW_MS, ...made), FAR_WATCH]);

const ask = (service: RunningService, { lat, lon } = INSIDE, more = '') =>
  parsed(service.call(`${WARNINGS}?lat=${lat}&lon=${lon}${more}`), Warnings);

const idsOf = ({ warnings: found }: Warnings) => found?.map(({ id }) => id);

test('GET /v1/warnings answers every field of a warning in force, with its polygon to six decimals', async (t) => {
  const service = await serveWarnings(t, {
    ...WARNING,
    box: [-98, 35, -97, 36.0000004],
    properties: { event: 'Tornado Warning', severity: 'Extreme', headline: 'Tornado Warning issued' },
    parameters: { tornadoDetection: ['RADAR INDICATED'] },
  });
  t.deepEqual(await ask(service, { lat: 35.123456789, lon: -97.5 }), {
    location: { lat: 35.12346, lon: -97.5 },
    active_only: true,
    warnings: [
      {
        id: 'urn:oid:1.001.1',
        event: 'Tornado Warning',
        severity: 'Extreme',
        issued_at: '2026-05-01T20:00:00Z',
        expires_at: '2026-05-01T20:35:00Z',
        tornado_detection: 'RADAR_INDICATED',
        headline: 'Tornado Warning issued',
        geometry: { type: 'Polygon', coordinates: [positionsOf('-98 35, -97 35, -97 36, -98 36, -98 35')] },
      },
    ],
    watches: [],
    unplaced_warnings: 0,
    data_as_of: '2026-05-01T20:12:00Z',
    note: null,
  });
});

test('GET /v1/warnings says null for a tornado tag and a headline that the source does not give', async (t) => {
  const service = await serveWarnings(t, { ...WARNING, properties: { headline: null } });
  const [found] = (await ask(service)).warnings ?? [];
  t.like(found, { event: 'Severe Thunderstorm Warning', tornado_detection: null, headline: null });
});

/** East of the middle of the box's eastern edge, whose nearest position is then close to that middle. */
const eastOf = (km: number) => destination({ lat: 35.5, lon: -97 }, 90, km);

for (const [radius, near_km, far_km] of [
  ['', 49.9, 50.1],
  ['&radius_km=200', 199.8, 200.4],
  ['&radius_km=0.5', 0.49, 0.51],
] as const)
  test(`GET /v1/warnings ${radius || 'without radius_km'} finds a polygon whose nearest edge is ${near_km} km away, not one ${far_km} km away`, async (t) => {
    const service = await serveWarnings(t, WARNING);
    t.is((await ask(service, eastOf(near_km), radius)).warnings?.length, 1);
    t.is((await ask(service, eastOf(far_km), radius)).warnings?.length, 0);
  });

test('GET /v1/warnings measures to the nearest corner where that is nearest', async (t) => {
  const service = await serveWarnings(t, WARNING);
  const corner = { lat: 36, lon: -97 };
  const away = destination(corner, 45, 20);
  const exact_km = distanceKm(corner, away);
  t.is((await ask(service, away, `&radius_km=${exact_km + 0.01}`)).warnings?.length, 1);
  t.is((await ask(service, away, `&radius_km=${exact_km - 0.01}`)).warnings?.length, 0);
});

test('GET /v1/warnings finds a polygon that holds the point however small the radius', async (t) => {
  const service = await serveWarnings(t, WARNING);
  t.is((await ask(service, INSIDE, '&radius_km=0.001')).warnings?.length, 1);
});

test('GET /v1/warnings never has an expired warning among the active: it ends with its last second', async (t) => {
  const service = await serveWarnings(t, WARNING);
  service.clock.ms = Date.parse('2026-05-01T20:34:59Z');
  t.is((await ask(service)).warnings?.length, 1);
  service.clock.ms = Date.parse('2026-05-01T20:35:00Z');
  t.deepEqual((await ask(service)).warnings, []);
});

test('GET /v1/warnings has an update in the place of its predecessor, active and in the history', async (t) => {
  const update = { ...WARNING, id: 'urn:oid:1.002.1', sent: '2026-05-01T20:10:00Z', action: 'CON' };
  const service = await serveWarnings(t, WARNING, update);
  t.deepEqual(idsOf(await ask(service)), ['urn:oid:1.002.1']);
  t.deepEqual(idsOf(await ask(service, INSIDE, '&active=false')), ['urn:oid:1.002.1']);
});

test('GET /v1/warnings has a cancelled warning in the history only, until its cancellation', async (t) => {
  const cancel = { ...WARNING, id: 'urn:oid:1.002.1', sent: '2026-05-01T20:10:00Z', action: 'CAN' };
  const service = await serveWarnings(t, WARNING, cancel);
  t.deepEqual((await ask(service)).warnings, []);
  const { active_only, warnings: past } = await ask(service, INSIDE, '&active=false');
  t.false(active_only);
  const shown = past?.map(({ id, expires_at }) => [id, expires_at]);
  t.deepEqual(shown, [['urn:oid:1.001.1', '2026-05-01T20:10:00Z']]);
});

test('GET /v1/warnings lists the newest issued first', async (t) => {
  const made = [5, 9, 1].map((minute, index) => ({
    ...WARNING,
    id: `urn:oid:${index}`,
    sent: `2026-05-01T20:0${minute}:00Z`,
    event_number: 100 + index,
  }));
  t.deepEqual(idsOf(await ask(await serveWarnings(t, ...made))), ['urn:oid:1', 'urn:oid:0', 'urn:oid:2']);
});

test('GET /v1/warnings with active=false looks back one day unless days says more, 30 at most', async (t) => {
  const ended = (id: string, sent: string, ends: string, event_number: number) => ({
    ...WARNING,
    ...{ id, sent, ends, event_number },
  });
  const service = await serveWarnings(
    t,
    ended('today', '2026-05-01T19:00:00Z', '2026-05-01T19:40:00Z', 1),
    ended('reaches-into-the-day', '2026-04-30T19:40:00Z', '2026-04-30T20:13:00Z', 2),
    ended('a-day-ago', '2026-04-30T19:30:00Z', '2026-04-30T20:12:00Z', 3),
    ended('thirty-days-ago', '2026-04-01T20:00:00Z', '2026-04-01T20:13:00Z', 4),
    ended('older', '2026-04-01T19:30:00Z', '2026-04-01T20:12:00Z', 5),
  );
  t.deepEqual((await ask(service)).warnings, []);
  const past = async (days: string) => idsOf(await ask(service, INSIDE, `&active=false${days}`));
  t.deepEqual(await past(''), ['today', 'reaches-into-the-day']);
  t.deepEqual(await past('&days=1'), ['today', 'reaches-into-the-day']);
  t.deepEqual(await past('&days=2'), ['today', 'reaches-into-the-day', 'a-day-ago']);
  t.deepEqual(await past('&days=30'), ['today', 'reaches-into-the-day', 'a-day-ago', 'thirty-days-ago']);
  t.deepEqual(await past('&days=30.0'), ['today', 'reaches-into-the-day', 'a-day-ago', 'thirty-days-ago']);
});

test('GET /v1/warnings does not use days while active is true', async (t) => {
  const over = { ...WARNING, sent: '2026-05-01T19:00:00Z', ends: '2026-05-01T19:40:00Z' };
  const { active_only, warnings: found } = await ask(await serveWarnings(t, over), INSIDE, '&active=true&days=30');
  t.true(active_only);
  t.deepEqual(found, []);
});

test('GET /v1/warnings counts a warning whose polygon is broken: nobody knows where it holds, and it is not dropped unseen', async (t) => {
  const crossing = positionsOf('-98 35, -97 36, -97 35, -98 36, -98 35');
  const file = alertsFile(NOW_MS, WARNING);
  const collection = JSON.parse(Buffer.from(file.bytes).toString());
  collection.features[0].geometry.coordinates = [crossing];
  const service = await serve(t, [{ ...file, bytes: Buffer.from(JSON.stringify(collection)) }]);
  t.like(await ask(service), { warnings: [], unplaced_warnings: 1 });
  t.like(await ask(service, INSIDE, '&active=false'), { warnings: [], unplaced_warnings: 1 });
  service.clock.ms += 24 * 60 * MS_PER_MIN;
  t.like(await ask(service), { warnings: [], unplaced_warnings: 0 });
});

test('GET /v1/warnings answers every field of a watch, with the outline of its aviation text', async (t) => {
  const service = await serve(t, [watchFile({ number: 159, from: '011900', to: '020100' }, BOX, NOW_MS)]);
  t.deepEqual((await ask(service)).watches, [
    {
      id: 'watch-2026-0159',
      type: 'severe_thunderstorm_watch',
      watch_number: 159,
      issued_at: '2026-05-01T19:00:00Z',
      expires_at: '2026-05-02T01:00:00Z',
      headline: 'Severe Thunderstorm Watch 159 KS OK',
      geometry: { type: 'Polygon', coordinates: [positionsOf('-98 35, -97 35, -97 36, -98 36, -98 35')] },
      bbox: { min_lat: 35, max_lat: 36, min_lon: -98, max_lon: -97 },
    },
  ]);
  t.deepEqual((await ask(service, eastOf(60))).watches, []);
});

test('GET /v1/warnings gives a watch without an outline the box of the states it names, and finds it by that', async (t) => {
  const service = await serve(t, [watchFile({ number: 159, from: '011900', to: '020100' }, null, NOW_MS)]);
  const [kansas, oklahoma] = [stateBox('KS'), stateBox('OK')];
  const [watch] = (await ask(service, { lat: 38.5, lon: -98.5 })).watches ?? [];
  t.is(watch?.geometry, null);
  const { min_lat, max_lat, min_lon, max_lon } = watch!.bbox;
  t.deepEqual(
    [min_lon, min_lat, max_lon, max_lat].map((edge) => edge.toFixed(4)),
    [oklahoma[0], oklahoma[1], oklahoma[2], kansas[3]].map((edge) => edge.toFixed(4)),
  );
  t.deepEqual((await ask(service, { lat: 45, lon: -98.5 })).watches, []);
});

test('GET /v1/warnings has a watch from its issue to its end, and a cancelled one in the history only', async (t) => {
  const cancelled = ['WWUS30 KWNS 012000', 'SAW9', 'SPC AWW 012000', 'WW 159 SEVERE TSTM CANCELLED', ''].join('\n');
  const watch = watchFile({ number: 159, from: '011900', to: '020100' }, BOX, NOW_MS);
  const service = await serve(t, [watch]);
  for (const [clock, found] of [
    ['2026-05-01T18:59:59Z', 0],
    ['2026-05-01T19:00:00Z', 1],
    ['2026-05-02T00:59:59Z', 1],
    ['2026-05-02T01:00:00Z', 0],
  ] as const) {
    service.clock.ms = Date.parse(clock);
    t.is((await ask(service)).watches?.length, found, clock);
  }
  service.clock.ms = NOW_MS;
  await publishFeeds(
    service.data_root,
    [{ name: 'saw9.txt', bytes: Buffer.from(cancelled), received_ms: NOW_MS }],
    NOW_MS,
  );
  await service.services.catalog.refresh();
  t.deepEqual((await ask(service)).watches, []);
  t.deepEqual(
    (await ask(service, INSIDE, '&active=false')).watches?.map(({ id, expires_at }) => [id, expires_at]),
    [['watch-2026-0159', '2026-05-01T20:00:00Z']],
  );
});

const DISCUSSION = `ACUS11 KWNS 011930
SWOMCD
SPC MCD 011930

MESOSCALE DISCUSSION 0512
NWS STORM PREDICTION CENTER NORMAN OK
0230 PM CDT FRI MAY 01 2026

AREAS AFFECTED...CENTRAL OK

CONCERNING...SEVERE POTENTIAL...WATCH LIKELY

VALID 011930Z - 012130Z

PROBABILITY OF WATCH ISSUANCE...80 PERCENT

SUMMARY...LARGE HAIL.

LAT...LON   35009800 35009700 36009700 36009800 35009800
`;

test('GET /v1/warnings answers a mesoscale discussion among the watches, with its own fields', async (t) => {
  const service = await serve(t, [{ name: 'swomcd.txt', bytes: Buffer.from(DISCUSSION), received_ms: NOW_MS }]);
  const [discussion, ...others] = (await ask(service)).watches ?? [];
  t.deepEqual(others, []);
  const { geometry, ...rest } = discussion!;
  t.is(geometry?.coordinates[0]?.length, 5);
  t.deepEqual(rest, {
    id: 'discussion-2026-0512',
    type: 'mesoscale_discussion',
    md_number: 512,
    watch_number: null,
    issued_at: '2026-05-01T19:30:00Z',
    expires_at: '2026-05-01T21:30:00Z',
    headline: 'SEVERE POTENTIAL...WATCH LIKELY',
    watch_probability_pct: 80,
    areas_affected: 'CENTRAL OK',
    bbox: { min_lat: 35, max_lat: 36, min_lon: -98, max_lon: -97 },
  });
});

const noteOf = (feeds: string) => `Nothing was ever collected of ${feeds}: what is not listed here may be in force.`;

test('GET /v1/warnings answers empty lists, and names what was never collected', async (t) => {
  t.deepEqual(await ask(await serve(t, [])), {
    location: INSIDE,
    active_only: true,
    warnings: [],
    watches: [],
    unplaced_warnings: null,
    data_as_of: null,
    note: noteOf('warnings and watches'),
  });
  t.like(await ask(await serve(t, [alertsFile(NOW_MS, WARNING)])), {
    warnings: [{ id: WARNING.id }],
    watches: [],
    unplaced_warnings: 0,
    data_as_of: null,
    note: noteOf('watches'),
  });
  t.like(await ask(await serve(t, [FAR_WATCH])), {
    warnings: [],
    watches: [],
    unplaced_warnings: null,
    data_as_of: null,
    note: noteOf('warnings'),
  });
});

test('GET /v1/warnings is complete until the earlier last success of its feeds, however late it is', async (t) => {
  const service = await serveWarnings(t, WARNING);
  const feed = (name: string, collection: string, last_success_at: string) => ({
    ...{ name, collection, last_success_at, every_s: 120, last_attempt_at: '2026-05-01T20:12:00Z' },
    ...{ failure: null, source: 'observed' },
  });
  const feeds = [
    feed('alerts', 'warnings', '2026-05-01T17:00:00Z'),
    feed('watches', 'watches', '2026-05-01T20:11:00Z'),
  ];
  writeFileSync(join(service.data_root, layout.feeds), JSON.stringify({ manifest_version: 1, feeds }));
  await service.services.catalog.refresh();
  t.is((await ask(service)).data_as_of, '2026-05-01T17:00:00Z');
});

test('GET /v1/warnings says of each answer where its items come from', async (t) => {
  const simulated = { ...WARNING, id: 'urn:oid:sim', properties: { sender: 'simulated' } };
  const watch = watchFile({ number: 159, from: '011900', to: '020100' }, [-97.2, 35, -96, 36], NOW_MS);
  const service = await serve(t, [alertsFile(NOW_MS, simulated), watch]);
  const sourceAt = async (lon: number) =>
    (await service.call(`${WARNINGS}?lat=35.5&lon=${lon}&radius_km=1`)).headers.get('X-Data-Source');
  t.is(await sourceAt(-97.9), 'simulated');
  t.is(await sourceAt(-97.1), 'mixed');
  t.is(await sourceAt(-96.5), 'observed');
  t.is(await sourceAt(-80), 'mixed');
  const never = await (await serve(t, [])).call(`${WARNINGS}?lat=35.5&lon=-97`);
  t.is(never.headers.get('X-Data-Source'), null);
});

test('GET /v1/warnings keeps its tag until a warning comes or expires, and charges a 304 its 8 credits', async (t) => {
  const service = await serveWarnings(t, WARNING);
  const before = await creditsUsed(service);
  const path = `${WARNINGS}?lat=35.5&lon=-97.5`;
  const tagOf = async () => {
    const response = await service.call(path);
    await response.arrayBuffer();
    return response.headers.get('ETag') ?? '';
  };
  const statusWith = async (tag: string) => (await service.call(path, { headers: { 'If-None-Match': tag } })).status;
  const first = await tagOf();
  service.clock.ms += MS_PER_MIN;
  t.is(await statusWith(first), 304);
  t.is((await creditsUsed(service)) - before, 16);
  const added = alertsFile(NOW_MS + MS_PER_MIN, { ...WARNING, id: 'urn:oid:2', event_number: 102 });
  await publishFeeds(service.data_root, [added], service.clock.ms);
  await service.services.catalog.refresh();
  const second = await tagOf();
  t.not(second, first);
  service.clock.ms = Date.parse(WARNING.ends);
  t.is(await statusWith(second), 200);
});

declareRefusals(WARNINGS, NOW_MS, [
  '',
  'lat=35',
  'lon=-97',
  'lat=91&lon=0',
  'lat=35&lon=-181',
  'lat=&lon=',
  'lat=35&lon=-97&radius_km=0',
  'lat=35&lon=-97&radius_km=-1',
  'lat=35&lon=-97&radius_km=200.1',
  'lat=35&lon=-97&radius_km=x',
  'lat=35&lon=-97&active=yes',
  'lat=35&lon=-97&active=',
  'lat=35&lon=-97&active=false&days=0',
  'lat=35&lon=-97&active=false&days=31',
  'lat=35&lon=-97&active=false&days=1.5',
  'lat=35&lon=-97&days=31',
  'lat=35&lon=-97&lat=36',
]);

sharedTest(
  'GET /v1/warnings finds the two real warnings with hail of 2023 inside and around their polygons',
  async (t) => {
    const name = 'two_real_SVR_with_hail_2023.geojson';
    const bytes = readFileSync(sharedData('warnings', 'alerts', name));
    for (const [at, id, lat, lon, far] of [
      ['2023-09-13T02:20:00Z', '7b7a54584f6725c7883c2f41d52be172ea827776.001.1', 33.2, -107.3, { lat: 35, lon: -100 }],
      ['2023-07-23T05:40:00Z', 'dee430c9241c51b190b43d2bf35cc82b1c355f7f.001.1', 48.2, -104.6, { lat: 46, lon: -104 }],
    ] as const) {
      const now_ms = Date.parse(at);
      const received_ms = Date.parse('2023-09-14T00:00:00Z');
      const data_root = await scratch(t, at.slice(0, 10));
      await publishFeeds(data_root, [{ name: 'alerts.json', bytes, received_ms }], received_ms);
      const service = await serviceFor(t, { data_root, now_ms });
      const found = await ask(service, { lat, lon });
      t.deepEqual(idsOf(found), [`urn:oid:2.49.0.1.840.0.${id}`]);
      t.is(found.warnings?.[0]?.event, 'Severe Thunderstorm Warning');
      t.deepEqual((await ask(service, far)).warnings, []);
    }
  },
);

sharedTest(
  'GET /v1/warnings finds each real severe thunderstorm warning of a summer evening at its own place, and no other kind',
  async (t) => {
    const text = readFileSync(sharedData('warnings', 'alerts', 'weather.gov_air-quality-alerts_active.json'), 'utf8');
    const dated = withInstants(text, NOW_MS);
    const service = await serve(t, [{ name: 'alerts.json', bytes: Buffer.from(dated), received_ms: NOW_MS }]);
    interface Feature {
      readonly geometry: { readonly coordinates: number[][][] } | null;
      readonly properties: { readonly id: string; readonly event: string; readonly severity: string };
    }
    const features = (JSON.parse(dated) as { features: Feature[] }).features;
    const expected = features.filter(({ properties }) => properties.event === 'Severe Thunderstorm Warning');
    t.is(expected.length, 2);
    for (const { geometry, properties } of expected) {
      const [lon = 0, lat = 0] = geometry?.coordinates[0]?.[0] ?? [];
      const { warnings: found } = await ask(service, { lat, lon }, '&radius_km=1');
      const shownWarnings = found?.map(({ id, severity }) => [id, severity]);
      t.deepEqual(shownWarnings, [[properties.id, properties.severity]]);
    }
  },
);

sharedTest(
  'GET /v1/warnings finds the real watches of July 2021 over Nebraska and Wisconsin, and none beside them',
  async (t) => {
    for (const [file, received, inside, outside, number] of [
      ['SAW3.txt', '2021-07-10T03:35:00Z', { lat: 42, lon: -100 }, { lat: 45, lon: -100 }, 503],
      ['SAW9_PDS.txt', '2021-07-29T00:20:00Z', { lat: 44.5, lon: -90 }, { lat: 40, lon: -90 }, 399],
    ] as const) {
      const now_ms = Date.parse(received);
      const bytes = readFileSync(sharedData('warnings', 'watches', file));
      const service = await serve(t, [{ name: file, bytes, received_ms: now_ms }], now_ms);
      const shownWatches = (await ask(service, inside)).watches?.map((watch) => [watch.type, watch.watch_number]);
      t.deepEqual(shownWatches, [['severe_thunderstorm_watch', number]]);
      t.deepEqual((await ask(service, outside)).watches, []);
    }
  },
);

const OUTLOOK = '/v1/outlooks/spc';
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
/** A layer of areas with their rings by their labels. */
const layer = (word: string, rings: Record<string, number[][][]>, more: Partial<MadeLayer> = {}) =>
  layerFile({ ...DAY1, word, areas: Object.entries(rings).map(([label, found]) => [label, ...found]), ...more });
/** Day d of an outlook, issued this morning. */
const dayTimes = (day: number) => ({
  ...{ day, issue: '202605010900' },
  ...{ valid: `202605${String(day).padStart(2, '0')}1200`, expire: `202605${String(day + 1).padStart(2, '0')}1200` },
});
/** A whole product of day 1. */
const PRODUCT = [
  layer('cat', { TSTM: [OUTER], ENH: [INNER] }),
  layer('hail', { '0.05': [OUTER], '0.30': [INNER] }),
  layer('cighail', { CIG1: [INNER] }),
  layer('torn', { '0.02': [INNER] }),
  layer('wind', {}),
];

const askOutlooks = (service: RunningService, { lat, lon } = IN, more = '') =>
  parsed(service.call(`${OUTLOOK}?lat=${lat}&lon=${lon}${more}`), SpcOutlookAnswer);

const NOTHING = {
  category: null,
  category_label: null,
  hail_probability_pct: null,
  hail_significant: null,
  tornado_probability_pct: null,
  wind_probability_pct: null,
  severe_probability_pct: null,
};
const NO_PRODUCT = { outlook: NOTHING, note: null, issue_time: null, valid_time: null, expire_time: null };

test('GET /v1/outlooks/spc answers day 1 at the point with every field', async (t) => {
  const service = await serve(t, PRODUCT);
  t.deepEqual(await askOutlooks(service, { lat: 35.612345678, lon: -97.5 }), {
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
    note: null,
    issue_time: '2026-05-01T19:54:00Z',
    valid_time: '2026-05-01T20:00:00Z',
    expire_time: '2026-05-02T12:00:00Z',
    has_extended_risk: null,
    fetched_at: '2026-05-01T20:12:00Z',
  });
});

test('GET /v1/outlooks/spc with areas=true adds all areas of the product with their shapes, the lowest of a layer first', async (t) => {
  const service = await serve(t, PRODUCT);
  t.is((await askOutlooks(service, OUT)).areas, undefined);
  const { areas = [] } = await askOutlooks(service, OUT, '&areas=true');
  const shownAreas = areas.map(({ hazard, label, name, probability_pct }) => [hazard, label, name, probability_pct]);
  t.deepEqual(shownAreas, [
    ['categorical', 'TSTM', 'General Thunderstorms', null],
    ['categorical', 'ENH', 'Enhanced Risk', null],
    ['hail', 'CIG1', null, null],
    ['hail', '0.05', null, 5],
    ['hail', '0.30', null, 30],
    ['tornado', '0.02', null, 2],
  ]);
  t.deepEqual(areas[1]?.geometry, { type: 'MultiPolygon', coordinates: [[INNER]] });
});

test('GET /v1/outlooks/spc takes the highest of the areas that hold the point, 0 outside of all contours', async (t) => {
  const service = await serve(t, PRODUCT);
  t.like((await askOutlooks(service, EDGE)).outlook, {
    category: 'TSTM',
    category_label: 'General Thunderstorms',
    hail_probability_pct: 5,
    hail_significant: false,
    tornado_probability_pct: 0,
  });
  t.like((await askOutlooks(service, OUT)).outlook, {
    category: null,
    category_label: 'No thunderstorm area',
    hail_probability_pct: 0,
    hail_significant: false,
    tornado_probability_pct: 0,
  });
});

test('GET /v1/outlooks/spc takes a point in a hole of an area as outside of that area', async (t) => {
  const service = await serve(t, [
    layer('cat', { MRGL: [OUTER], SLGT: [INNER, HOLE] }),
    layer('hail', { '0.15': [INNER, HOLE] }),
  ]);
  t.like((await askOutlooks(service, IN_HOLE)).outlook, { category: 'MRGL', hail_probability_pct: 0 });
  t.like((await askOutlooks(service, IN)).outlook, { category: 'SLGT', hail_probability_pct: 15 });
});

test('GET /v1/outlooks/spc has null for a hazard whose layer has not come, and for significance without its part', async (t) => {
  const service = await serve(t, [layer('cat', { SLGT: [OUTER] }), layer('hail', { '0.15': [OUTER] })]);
  t.deepEqual((await askOutlooks(service)).outlook, {
    ...NOTHING,
    category: 'SLGT',
    category_label: 'Slight Risk',
    hail_probability_pct: 15,
  });
  const significant = await serve(t, [layer('cighail', { CIG1: [INNER] })]);
  t.deepEqual((await askOutlooks(significant)).outlook, { ...NOTHING, hail_significant: true });
});

const withoutSignificant = PRODUCT.filter(({ name }) => !name.includes('cighail'));

test('GET /v1/outlooks/spc says that no significant hail is forecast where an issue came whole, without such a layer', async (t) => {
  const service = await serve(t, withoutSignificant);
  for (const place of [IN, EDGE, OUT]) t.is((await askOutlooks(service, place)).outlook.hail_significant, false);
});

for (const [title, files] of [
  ['a layer of the issue has not come', withoutSignificant.filter(({ name }) => !name.includes('wind'))],
  [
    'a layer is of an earlier issue',
    [
      ...withoutSignificant.filter(({ name }) => !name.includes('wind')),
      layer('wind', {}, { issue: '202605011630', valid: '202605011630' }),
    ],
  ],
  [
    'an area of a layer was refused',
    [
      ...withoutSignificant.filter(({ name }) => !name.includes('torn')),
      layer('torn', { '0.02': [INNER], '0.10': [[0, 2, 1, 3, 0].map((k) => INNER[k])] }),
    ],
  ],
] as const)
  test(`GET /v1/outlooks/spc does not know about significant hail without its layer when ${title}`, async (t) => {
    t.is((await askOutlooks(await serve(t, files))).outlook.hail_significant, null);
  });

const crossing = positionsOf('-90 40, -89 41, -89 40, -90 41, -90 40');

test('GET /v1/outlooks/spc has null, not 0, outside of a layer one of whose areas was refused', async (t) => {
  const service = await serve(t, [
    layer('cat', { SLGT: [OUTER], ENH: [crossing] }),
    layer('hail', { '0.15': [OUTER], '0.30': [crossing] }),
    layer('cighail', { CIG1: [INNER], CIG2: [crossing] }),
  ]);
  t.like((await askOutlooks(service)).outlook, { category: 'SLGT', hail_probability_pct: 15, hail_significant: true });
  t.deepEqual((await askOutlooks(service, OUT)).outlook, NOTHING);
});

for (const [label, word, date, significant] of [
  ['SIGN', 'sighail', '20250501', true],
  ['CIG1', 'cighail', '20260501', true],
  ['CIG2', 'cighail', '20260501', true],
] as const)
  test(`GET /v1/outlooks/spc takes ${label} of ${date} as significant hail`, async (t) => {
    const times = { issue: `${date}1954`, valid: `${date}2000`, expire: `${Number(date) + 1}1200` };
    const now_ms = Date.parse(`${date.slice(0, 4)}-05-01T20:12:00Z`);
    const service = await serve(t, [layer(word, { [label]: [INNER] }, { ...times, received_ms: now_ms })], now_ms);
    t.is((await askOutlooks(service)).outlook.hail_significant, significant);
    t.false((await askOutlooks(service, EDGE)).outlook.hail_significant);
  });

test('GET /v1/outlooks/spc of day 1 lasts until 12 UTC, then there is no product', async (t) => {
  const service = await serve(t, PRODUCT);
  service.clock.ms = Date.parse('2026-05-02T11:59:59Z');
  t.is((await askOutlooks(service)).outlook.category, 'ENH');
  service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
  t.deepEqual(await askOutlooks(service), {
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
  t.like(await askOutlooks(service), NO_PRODUCT);
});

test('GET /v1/outlooks/spc calls the running date day 1 until 12 UTC, though the next has its issue', async (t) => {
  const today = { issue: '202605010555', valid: '202605011200', expire: '202605021200' };
  const yesterday = { issue: '202605010100', valid: '202605010100', expire: '202605011200' };
  const service = await serve(
    t,
    [layer('cat', { MRGL: [OUTER] }, yesterday), layer('cat', { MDT: [OUTER] }, today)],
    Date.parse('2026-05-01T06:30:00Z'),
  );
  t.like(await askOutlooks(service), { outlook: { category: 'MRGL' }, valid_time: '2026-05-01T01:00:00Z' });
  const [next, later] = [{ category: 'MDT' }, { valid_time: '2026-05-01T12:00:00Z' }];
  t.like(await askOutlooks(service, IN, '&day=2'), { outlook: next, ...later });
  service.clock.ms = Date.parse('2026-05-01T12:00:00Z');
  t.like(await askOutlooks(service), { outlook: next, ...later });
});

test('GET /v1/outlooks/spc says of layers of several issues what holds for all: the oldest issue, the shortest validity', async (t) => {
  const older = { issue: '202605011620', valid: '202605011630' };
  const service = await serve(t, [layer('cat', { ENH: [OUTER] }), layer('hail', { '0.30': [OUTER] }, older)]);
  t.like(await askOutlooks(service), {
    outlook: { category: 'ENH', hail_probability_pct: 30 },
    issue_time: '2026-05-01T16:20:00Z',
    valid_time: '2026-05-01T20:00:00Z',
    expire_time: '2026-05-02T12:00:00Z',
  });
});

for (const day of [2, 3, 4, 8])
  test(`GET /v1/outlooks/spc of day ${day} is that of the day after from 12 UTC on, where nothing newer covers its date`, async (t) => {
    const files = [layer(day < 4 ? 'cat' : 'prob', { [day < 4 ? 'SLGT' : '0.15']: [OUTER] }, dayTimes(day))];
    const service = await serve(t, files);
    const issueOf = async (asked: number) => (await askOutlooks(service, IN, `&day=${asked}`)).issue_time;
    t.is(await issueOf(day), '2026-05-01T09:00:00Z');
    service.clock.ms = Date.parse('2026-05-02T11:59:59Z');
    t.is(await issueOf(day), '2026-05-01T09:00:00Z');
    service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
    t.deepEqual([await issueOf(day), await issueOf(day - 1)], [null, '2026-05-01T09:00:00Z']);
  });

/** Times at which the issues of days come, minutes after 00 UTC of the date on which day 1 begins. */
const ISSUES = [
  ...[360, 780, 990, 1200, 1500].map((minute) => [1, minute] as const),
  ...[420, 1050].map((minute) => [2, minute] as const),
  ...[3, 4, 5, 6, 7, 8].map((day) => [day, 540] as const),
];

test('at every ten minutes of a day with a missing issue, outlooks of the center and the seven days read the same issue of a date', (t) => {
  const feed = WEB_FEEDS.find(({ name }) => name === 'spc-outlooks');
  const compact = (time_ms: number) => new Date(time_ms).toISOString().slice(0, 16).replaceAll(/[-:T]/g, '');
  const start_ms = Date.parse('2026-05-01T00:00:00Z');
  const missing = ([day, minute]: (typeof ISSUES)[number], date: number) => date === 0 && day > 2 && minute === 540;
  const rows = [-1, 0].flatMap((date) =>
    ISSUES.filter((issue) => !missing(issue, date)).flatMap(([day, minute]) => {
      const issued_ms = start_ms + date * MS_PER_DAY + minute * MS_PER_MIN;
      const noon_ms = start_ms + (date + day - 1) * MS_PER_DAY + MS_PER_DAY / 2;
      const valid = compact(day === 1 ? Math.max(noon_ms, issued_ms) : noon_ms);
      const times = { day, issue: compact(issued_ms), valid, expire: compact(noon_ms + MS_PER_DAY) };
      const file = layer(day > 2 ? 'prob' : 'hail', { '0.15': [OUTER] }, { ...times, received_ms: issued_ms });
      return feed?.read(file).rows as SpcOutlook[];
    }),
  );
  for (let at_ms = start_ms; at_ms < start_ms + MS_PER_DAY; at_ms += 10 * MS_PER_MIN) {
    const come = rows.filter(({ issue_time }) => issue_time <= at_ms);
    const kept = feed?.collection.merge([], [{ rows: come }], 0) as SpcOutlook[];
    for (const day of [1, 2, 3, 4, 5, 6, 7]) {
      const date = addDays(outlookDate(at_ms), day - 1);
      const [shown] = outlookOfDay(kept, day, at_ms);
      const newest = Math.max(
        ...come.filter(({ forecast_date }) => forecast_date === date).map((row) => row.issue_time),
      );
      t.is(shown?.issue_time ?? Number.NEGATIVE_INFINITY, newest, `day ${day} at ${new Date(at_ms).toISOString()}`);
      t.is(spcDay(kept, date) === null, shown === undefined);
      t.is(shown?.hazard === 'hail', spcDay(kept, date)?.share === 1);
    }
  }
});

test('GET /v1/outlooks/spc of day 3 passes on the one combined probability, and derives nothing from it', async (t) => {
  const service = await serve(t, [
    layer('cat', { SLGT: [OUTER] }, dayTimes(3)),
    layer('prob', { '0.15': [OUTER] }, dayTimes(3)),
  ]);
  const expected = { ...NOTHING, category: 'SLGT', category_label: 'Slight Risk', severe_probability_pct: 15 };
  t.deepEqual((await askOutlooks(service, IN, '&day=3')).outlook, expected);
  t.is((await askOutlooks(service, OUT, '&day=3')).outlook.severe_probability_pct, 0);
});

for (const [label, pct] of [
  ['0.15', 15],
  ['0.30', 30],
] as const)
  test(`GET /v1/outlooks/spc of day 5 has ${pct} inside of the area and null outside, no category, and extended risk`, async (t) => {
    const files = [4, 5, 6, 7, 8].map((day) => layer('prob', day === 5 ? { [label]: [OUTER] } : {}, dayTimes(day)));
    const service = await serve(t, [...PRODUCT, ...files]);
    t.like(await askOutlooks(service, IN, '&day=5'), {
      outlook: { ...NOTHING, severe_probability_pct: pct },
      has_extended_risk: true,
      valid_time: '2026-05-05T12:00:00Z',
    });
    t.like(await askOutlooks(service, OUT, '&day=5'), { outlook: NOTHING, has_extended_risk: false });
    t.like(await askOutlooks(service, IN, '&day=4'), { outlook: NOTHING, has_extended_risk: true });
    t.true((await askOutlooks(service, IN)).has_extended_risk);
    t.false((await askOutlooks(service, OUT)).has_extended_risk);
  });

test('GET /v1/outlooks/spc does not say that there is no extended risk when one of days 4 to 8 is missing', async (t) => {
  const files = [4, 5, 6, 7].map((day) => layer('prob', day === 5 ? { '0.15': [OUTER] } : {}, dayTimes(day)));
  const service = await serve(t, files);
  t.true((await askOutlooks(service)).has_extended_risk);
  t.is((await askOutlooks(service, OUT)).has_extended_risk, null);
});

test('GET /v1/outlooks/spc answers null and is charged where no feed ever brought an outlook', async (t) => {
  const service = await serve(t, []);
  for (const day of [1, 2, 3, 4, 5, 6, 7, 8])
    t.deepEqual(await askOutlooks(service, IN, `&day=${day}`), {
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
  t.deepEqual(properties, await askOutlooks(service));
  t.deepEqual(properties, await askOutlooks(service, IN, '&format=json'));
  // 9y6: 1.40625 degrees on a side; its cells of four characters are 0.3515625 wide and 0.17578125 high.
  const [west, south, east, north] = [-97.734375, 35.507813, -97.382812, 35.683594];
  t.deepEqual(geometry.coordinates, [ringOf([west, south, east, north])]);
  const refused = await service.call(`${OUTLOOK}?lat=${IN.lat}&lon=${IN.lon}&format=geojson`, {
    headers: { Accept: 'text/csv' },
  });
  t.is(refused.status, 406);
});

test('GET /v1/outlooks/spc says of each answer who made the forecasts that it is from', async (t) => {
  const simulated = { ...dayTimes(2), simulated: true };
  const service = await serve(t, [...PRODUCT, layer('cat', { SLGT: [OUTER] }, simulated)]);
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
  await publishFeeds(service.data_root, [layer('cat', { MDT: [OUTER] }, later)], service.clock.ms);
  await service.services.catalog.refresh();
  t.is(await statusWith(first), 200);
  const second = (await service.call(path)).headers.get('ETag') ?? '';
  service.clock.ms = Date.parse('2026-05-02T12:00:00Z');
  t.is(await statusWith(second), 200);
});

declareRefusals(OUTLOOK, NOW_MS, [
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

sharedTest('GET /v1/outlooks/spc reads the real enhanced risk of 5 June 2025 over Lubbock', async (t) => {
  const now_ms = Date.parse('2025-06-05T20:12:00Z');
  const bytes = readFileSync(sharedData('outlooks', 'spc_day1_cat_20250605_2000z_ENH_only.geojson'));
  const name = 'day1otlk_20250605_2000_cat.lyr.geojson';
  const service = await serve(t, [{ name, bytes, received_ms: now_ms }], now_ms);
  t.like(await askOutlooks(service, { lat: 33.58, lon: -101.86 }), {
    outlook: { category: 'ENH', category_label: 'Enhanced Risk', hail_probability_pct: null },
    issue_time: '2025-06-05T19:54:00Z',
  });
  t.is((await askOutlooks(service, { lat: 32.78, lon: -96.8 })).outlook.category, null);
});
