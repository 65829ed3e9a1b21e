import { readFileSync } from 'node:fs';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { joinWatches, readWatchProduct, type WatchProduct } from '../../../pipeline/read/watches.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { feedFigures, minuteOf, type WatchFigures } from '../../support/data/feed-figures.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';

/** When the real products were received; their texts have no month and year. Those without an issue line get one here. */
const RECEIVED: Readonly<Record<string, string>> = {
  'SAW-cancelled.txt': '2022-08-02T05:33:00Z',
  'SAW3.txt': '2021-07-10T03:30:00Z',
  'SAW9_PDS.txt': '2021-07-29T00:16:00Z',
  'SEL9.txt': '2022-05-01T20:49:00Z',
  'WWP9.txt': '2022-04-29T21:59:00Z',
};

function real(name: string): { product: WatchProduct; figures: WatchFigures } {
  const bytes = readFileSync(sharedData('warnings', 'watches', name));
  return {
    product: readWatchProduct(bytes, name, Date.parse(RECEIVED[name]!)),
    figures: feedFigures().warnings.watches[name]!,
  };
}

const dayTime = (time_ms: number | null) =>
  time_ms === null ? undefined : minuteOf(time_ms).slice(8, 16).replaceAll(/[T:]/g, '');

for (const name of Object.keys(RECEIVED))
  sharedTest(`${name} gives the number, type, times, sizes and outline read by others`, (t) => {
    const { product, figures } = real(name);
    t.is(product.product, figures.kind as WatchProduct['product']);
    t.is(product.number, figures.watch);
    t.is(product.type, /tornado/i.test(figures.type) ? 'tornado_watch' : 'severe_thunderstorm_watch');
    t.is(product.is_cancelled, figures.cancelled ?? false);
    t.is(product.areas ?? undefined, figures.areas);
    t.is(
      dayTime(product.issued_ms),
      figures.wmo_ddhhmm ?? (name === 'SAW-cancelled.txt' ? '020532' : dayTime(product.issued_ms)),
    );
    t.is(dayTime(product.begins_ms), figures.valid_from_ddhhmm);
    const end = figures.valid_to_ddhhmm ?? figures.expires_ddhhmm ?? (figures.cancelled ? '020532' : undefined);
    t.is(dayTime(product.ends_ms), end);
    t.is(product.hail_inch ?? undefined, figures.hail_inch ?? figures.max_hail_inch);
    t.is(product.gust_kt ?? undefined, figures.gust_kt ?? figures.max_gust_kt);
    const probability = (key: string) => Number(figures.probabilities?.[key]?.replace('%', '') ?? Number.NaN);
    t.is(product.severe_hail_probability_pct ?? Number.NaN, probability('PROB OF 10 OR MORE SEVERE HAIL EVENTS'));
    t.is(
      product.significant_hail_probability_pct ?? Number.NaN,
      probability('PROB OF 1 OR MORE HAIL EVENTS >= 2 INCHES'),
    );
    if (figures.pds !== undefined) t.is(product.is_particularly_dangerous, figures.pds);
    t.deepEqual(product.set_aside, []);
    t.deepEqual(
      product.polygon?.bbox.map((edge) => edge),
      figures.polygon ? [...figures.polygon.bbox] : undefined,
    );
    if (product.polygon !== null) {
      const [ring] = multiPolygonFromWkt(product.polygon.geometry)[0]!;
      t.deepEqual(ring!.slice(1).map(String).sort(), figures.polygon!.ring_lonlat.slice(1).map(String).sort());
    }
  });

sharedTest('the five real products are five watches, of which one has no end and one is cancelled', (t) => {
  const watches = joinWatches(Object.keys(RECEIVED).map((name) => real(name).product));
  t.deepEqual(
    watches.map(({ watch_id, type, headline, is_cancelled, hail_size_mm, gust_kmh }) => [
      watch_id,
      type,
      headline,
      is_cancelled,
      hail_size_mm,
      gust_kmh,
    ]),
    [
      ['watch-2022-0575', 'severe_thunderstorm_watch', 'Severe Thunderstorm Watch 575 cancelled', true, null, null],
      ['watch-2022-0169', 'severe_thunderstorm_watch', 'Severe Thunderstorm Watch 169', false, 76.2, 120.38],
      ['watch-2021-0399', 'severe_thunderstorm_watch', 'Severe Thunderstorm Watch 399 MN WI LM', false, 50.8, 148.16],
      ['watch-2021-0503', 'severe_thunderstorm_watch', 'Severe Thunderstorm Watch 503 NE SD', false, 38.1, 111.12],
    ],
  );
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
const SEL = `231
WWUS20 KWNS 100330
SEL3
SPC WW 100330
NEZ000-SDZ000-100900-

URGENT - IMMEDIATE BROADCAST REQUESTED
Severe Thunderstorm Watch Number 503
NWS Storm Prediction Center Norman OK
1030 PM CDT Fri Jul 9 2021

THIS IS A PARTICULARLY DANGEROUS SITUATION

AVIATION...A few severe thunderstorms with hail surface and aloft to
2 inches. Extreme turbulence and surface wind gusts to 70 knots.
`;
const WWP = `551
WWUS40 KWNS 100329
WWP3

SEVERE THUNDERSTORM WATCH PROBABILITIES FOR WS 0503
NWS STORM PREDICTION CENTER NORMAN OK
1029 PM CDT FRI JUL 09 2021

PROB OF 10 OR MORE SEVERE HAIL EVENTS              :  60%
PROB OF 1 OR MORE HAIL EVENTS >= 2 INCHES          :  <5%
PARTICULARLY DANGEROUS SITUATION             : NO
`;
const RECEIVED_MS = Date.parse('2021-07-10T06:00:00Z');
const read = (text: string) => readWatchProduct(Buffer.from(text), 'x', RECEIVED_MS);

test('the products of one watch join, the newest that says a thing says it', (t) => {
  const [watch, ...others] = joinWatches([read(SAW), read(WWP), read(SEL)]);
  t.deepEqual(others, []);
  t.deepEqual(watch, {
    watch_id: 'watch-2021-0503',
    type: 'severe_thunderstorm_watch',
    number: 503,
    issued_at: Date.parse('2021-07-10T03:30:00Z'),
    begins_at: Date.parse('2021-07-10T03:35:00Z'),
    expires_at: Date.parse('2021-07-10T09:00:00Z'),
    headline: 'Severe Thunderstorm Watch 503 NE SD',
    areas: 'NE SD',
    watch_probability_pct: null,
    hail_size_mm: 50.8,
    gust_kmh: 129.64,
    severe_hail_probability_pct: 60,
    significant_hail_probability_pct: 5,
    is_particularly_dangerous: true,
    is_cancelled: false,
    geometry: 'POLYGON ((-102.52 42.97, -102.52 41.09, -98.41 42, -98.41 43.88, -102.52 42.97))',
    west: -102.52,
    south: 41.09,
    east: -98.41,
    north: 43.88,
    data_source: 'observed',
  });
});

test('a cancellation ends its watch at the moment it is issued and keeps the outline', (t) => {
  for (const products of [
    [SAW, CANCELLED],
    [CANCELLED, SAW],
  ]) {
    const [watch] = joinWatches(products.map(read));
    t.is(watch?.expires_at, Date.parse('2021-07-10T05:32:00Z'));
    t.true(watch?.is_cancelled);
    t.truthy(watch?.geometry);
  }
});

/** A later watch that takes the place of another, as the aviation text says it. */
const replacing = (number: number, words: string) =>
  SAW.replaceAll('100329', '100610')
    .replace('WW 503 SEVERE TSTM NE SD 100335Z', `${words}\nWW ${number} TORNADO NE SD 100615Z`)
    .replaceAll('SAW3', 'SAW4');

for (const [title, text] of [
  ['REPLACES WW', replacing(504, 'REPLACES WW 503..NE SD')],
  ['several', replacing(504, 'REPLACES WW 502 AND 503')],
  [
    'the public text',
    SEL.replaceAll(/100?\d{3}(?=\n)/g, '100610')
      .replaceAll('503', '504')
      .replace(
        'AVIATION...',
        'OTHER WATCH INFORMATION...This tornado watch replaces severe\nthunderstorm watch number 503.\n\nAVIATION...',
      ),
  ],
] as const)
  test(`a watch that another replaces ends at the issue of that one, in whatever order they come (${title})`, (t) => {
    const products = [read(SAW), read(WWP), read(text)];
    for (const order of [products, products.toReversed()]) {
      const watches = joinWatches(order);
      const replaced = watches.find(({ number }) => number === 503);
      t.is(replaced?.expires_at, products[2]?.issued_ms);
      t.is(replaced?.headline, 'Severe Thunderstorm Watch 503 NE SD replaced by watch 504');
      t.false(replaced?.is_cancelled);
      const other = watches.find(({ number }) => number === 504);
      t.true((other?.expires_at ?? 0) > (products[2]?.issued_ms ?? 0));
    }
  });

test('a simulated watch replaces no observed one, and none of another year', (t) => {
  const text = replacing(504, 'REPLACES WW 503');
  const ends = (...products: Parameters<typeof joinWatches>[0]) =>
    joinWatches(products).find(({ number }) => number === 503)?.expires_at;
  const alone = ends(read(SAW));
  t.is(ends(read(SAW), read(text.replace('KWNS', 'KSIM'))), alone);
  t.is(ends(read(SAW), readWatchProduct(Buffer.from(text), 'x', Date.parse('2022-07-10T06:10:00Z'))), alone);
});

test('hail, gusts and outline of a watch are read however many dots stand before them', (t) => {
  const dotted = SAW.replaceAll('ALOFT..', 'ALOFT...')
    .replaceAll('GUSTS..', 'GUSTS....')
    .replace('LAT...LON', 'LAT..LON');
  t.not(dotted, SAW);
  t.deepEqual(read(dotted), read(SAW));
});

test('the same number a year later is another watch', (t) => {
  const next = readWatchProduct(Buffer.from(SAW), 'x', Date.parse('2022-07-10T03:30:00Z'));
  t.deepEqual(
    joinWatches([read(SAW), next]).map(({ watch_id }) => watch_id),
    ['watch-2022-0503', 'watch-2021-0503'],
  );
});

test('a product of the simulator never joins an observed watch', (t) => {
  const simulated = read(SEL.replace('KWNS', 'KSIM'));
  t.deepEqual(
    joinWatches([read(SAW), simulated]).map(({ data_source }) => data_source),
    ['simulated', 'observed'],
  );
});

test('probabilities alone make no watch: nothing says when it ends', (t) => {
  t.deepEqual(joinWatches([read(WWP)]), []);
});

test('day and time mean the month nearest to the reception, over the end of a month and a year too', (t) => {
  const newYear = SAW.replaceAll('1003', '3123')
    .replace('312335Z - 100900Z', '312335Z - 010500Z')
    .replaceAll('100329', '312329');
  const product = readWatchProduct(Buffer.from(newYear), 'x', Date.parse('2025-01-01T00:10:00Z'));
  t.is(minuteOf(product.begins_ms!), '2024-12-31T23:35Z');
  t.is(minuteOf(product.ends_ms!), '2025-01-01T05:00Z');
});

for (const [title, from, to, reason] of [
  ['with a broken position', '43889841', '4388984', "position '4388984', expected eight digits"],
  ['that crosses itself', '42009841 41090252', '41090252 42509841', 'edges cross or touch'],
  ['of two corners', ' 42009841 41090252', '', '2 different positions, expected 3 or more'],
  ['that is absent', 'LAT...LON 42970252 43889841 42009841 41090252', '', 'no line LAT...LON'],
] as const)
  test(`an outline ${title} is set aside, and the watch kept without it`, (t) => {
    const { polygon, number, set_aside } = read(SAW.replace(from, to));
    t.deepEqual([polygon, number], [null, 503]);
    t.true(set_aside[0]?.reason.startsWith(reason), set_aside[0]?.reason);
  });

for (const [title, text] of [
  ['an error page', '<html></html>'],
  ['another product', SAW.replace('SAW3', 'XXX3')],
  ['a watch without number', SAW.replace('WW 503', 'WW')],
  ['a watch that ends before it begins', SAW.replace('100900Z', '100300Z')],
  ['a watch of day 41', SAW.replace('100335Z', '410335Z')],
  ['a watch from the future', SAW.replace('KWNS 100329', 'KWNS 100629')],
  ['a public text without an end', SEL.replace('-100900-', '-')],
  ['nothing', ''],
] as const)
  test(`${title} is refused by the reader of watches`, (t) => {
    t.throws(() => read(text), { instanceOf: BadInput });
  });
