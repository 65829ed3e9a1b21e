import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { EarlierForecast, EarlierHistory, EarlierRadar, EarlierStorms } from '../../api/legacy/resources.ts';
import { ErrorBody } from '../../schemas/errors.ts';
import { EarlierErrorBody } from '../../schemas/resources/earlier-envelope.ts';
import type { HailForecast } from '../../schemas/resources/forecast.ts';
import type { HailHistory } from '../../schemas/resources/history-event.ts';
import type { HailRisk } from '../../schemas/resources/risk.ts';
import type { Storms, StormTrack } from '../../schemas/resources/storm.ts';
import type { ScanTiles } from '../../schemas/resources/tile-frame.ts';
import { timestamp } from '../../schemas/time.ts';
import { pluck } from '../support/data/rows.ts';
import { creditsOf, openAccount } from '../support/service/account.ts';
import { raise } from '../support/service/alerts.ts';
import { type DescribedOperation, departuresOf, exampleRequest, initOf } from '../support/service/document.ts';
import { ownFor } from '../support/service/own-resources.ts';
import { upload } from '../support/service/portfolio.ts';
import { sendRaw } from '../support/service/raw-http.ts';
import type { CallInit } from '../support/service/service.ts';
import { closeWithoutFailures } from '../support/service/test-with.ts';
import { sending } from '../support/service/webhooks.ts';
import { startWholeService, WHOLE_NOW_MS, type WholeService } from '../support/service/whole-service.ts';

const AT = 'lat=35.2&lng=-97';
const POINT = 'lat=35.2&lon=-97';
const SUBSCRIPTION = {
  location: { lat: 35.4676, lng: -97.5164 },
  threshold_mm: 30,
  webhook_url: 'https://hooks.example.com/hail',
};
const MADE_FOR_IT = { variant: 'legacy' } as const;
const SIMULATED = { variant: 'legacy', kind: 'test' } as const;

let whole: WholeService;

test.before(async () => {
  whole = await startWholeService();
});
test.after.always((t) => closeWithoutFailures(t, whole.service));

interface Enveloped<Data> {
  readonly data: Data;
  readonly meta: { readonly request_id: string; readonly timestamp: string };
}

/** The answer of the earlier variant at a path below its mount. */
async function ask<Data>(path: string, init: CallInit = {}): Promise<Data> {
  const response = await whole.service.call(`/legacy/v1${path}`, init);
  if (response.status !== 200) throw new Error(`${path} answers ${response.status} ${await response.text()}`);
  return ((await response.json()) as Enveloped<Data>).data;
}

/** Status and message of a refusal. */
async function refusal(path: string, init: CallInit = {}): Promise<string> {
  const response = await whole.service.call(`/legacy/v1${path}`, init);
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return `${response.status} ${error.code}: ${error.message}`;
}

async function current<Body>(path: string): Promise<Body> {
  return (await whole.service.json(`/v1${path}`)) as Body;
}

test('a success is data and meta, with the id of the request and the data clock', async (t) => {
  const response = await whole.service.call(`/legacy/v1/hail/current?${AT}`);
  const body = (await response.json()) as Enveloped<unknown>;
  t.deepEqual(Object.keys(body), ['data', 'meta']);
  t.deepEqual(body.meta, { request_id: response.headers.get('X-Request-Id') ?? '', timestamp: '2026-05-02T00:12:00Z' });
});

test('an error is error {code, message} and meta', async (t) => {
  const response = await whole.service.call('/legacy/v1/hail/current?lat=95&lng=-97');
  const body = (await response.json()) as Record<string, unknown>;
  t.is(response.status, 400);
  t.deepEqual(body, {
    error: { code: 'invalid_parameter', message: "lat is '95', expected a number from -90 to 90" },
    meta: { request_id: response.headers.get('X-Request-Id'), timestamp: '2026-05-02T00:12:00Z' },
  });
});

test('what is refused before any endpoint is reached takes the shape of the path, or of the key', async (t) => {
  const { key } = await openAccount(whole.service, { ...MADE_FOR_IT, plan: { rate_per_minute: 1 } });
  await whole.service.call('/v1/health', { key });
  const codeOf = async (path: string, init: CallInit) => {
    const { error, meta } = (await whole.service.json(path, init)) as { error: { code?: string }; meta?: object };
    return [error.code ?? error, Object.keys(meta ?? {}).join()];
  };
  const stamped = 'request_id,timestamp';
  t.deepEqual(await codeOf('/v1/health', { key }), ['rate_limited', stamped]);
  t.deepEqual(await codeOf('/v1/nothing', { key }), ['rate_limited', stamped]);
  t.deepEqual(await codeOf('/legacy/v1/nothing', { key: null }), ['unauthorized', stamped]);
  t.deepEqual(await codeOf(`/legacy/v1/health?x=${'x'.repeat(9000)}`, {}), ['uri_too_long', stamped]);
  t.deepEqual(await codeOf('/v1/health', { key: null }), ['unauthorized', '']);
  t.deepEqual(await codeOf('/legacy/v1x/health', { key: null }), ['unauthorized', '']);
});

for (const [what, path_is, head, status, code] of [
  ['a header without a colon', 'earlier', 'GET /legacy/v1/health HTTP/1.1\r\nHost x\r\n\r\n', 400, 'bad_request'],
  [
    'headers above 32 KB',
    'earlier',
    `GET /legacy/v1/x HTTP/1.1\r\nX-Long: ${'x'.repeat(34_000)}`,
    431,
    'headers_too_large',
  ],
  ['a path that only begins alike', 'current', 'GET /legacy/v1x HTTP/1.1\r\nHost x\r\n\r\n', 400, 'bad_request'],
] as const)
  test(`${what} is refused in the shape of the ${path_is} variant`, async (t) => {
    const answer = await sendRaw(whole.service.url, `${head}\r\nHost: x\r\n\r\n`);
    const body = JSON.parse(answer.body);
    t.is(answer.status, status);
    if (path_is === 'current') t.is(ErrorBody.strict().parse(body).error, code);
    else t.is(EarlierErrorBody.strict().parse(body).error.code, code);
  });

test('/v1 answers a key that was made for the earlier variant in its shape, and every other key byte for byte as before', async (t) => {
  const [before, made] = [await openAccount(whole.service), await openAccount(whole.service, MADE_FOR_IT)];
  const text = async (key: string, longitude: 'lon' | 'lng') =>
    (await whole.service.call(`/v1/hail/forecast?lat=35.22&${longitude}=-97.44&hours=3`, { key })).text();
  const first = await text(before.key, 'lon');
  const second = await text(made.key, 'lng');
  const third = await text(before.key, 'lon');
  t.is(first, third);
  t.deepEqual(Object.keys(JSON.parse(first)), ['location', 'model', 'peak', 'hourly', 'count']);
  t.deepEqual(Object.keys(JSON.parse(second)), ['data', 'meta']);
  const named = await whole.service.call('/v1/hail/current?lat=35&lng=-97', before);
  t.regex(((await named.json()) as { message: string }).message, /^lng is not a parameter.*\(use lon\)$/);
  const other = await whole.service.call('/v1/hail/current?lat=35&lon=-97', made);
  t.regex(((await other.json()) as { error: { message: string } }).error.message, /^lng is required.*\(use lng\)$/);
});

test('every route outside of the table is 404 in the earlier variant, in its shape, at both places', async (t) => {
  const { key } = await openAccount(whole.service, MADE_FOR_IT);
  for (const path of [
    '/storms',
    '/alerts',
    '/hail/nowcast',
    '/hail/risk',
    '/portfolio/locations',
    '/tiles/scan',
    '/no',
  ])
    for (const mount of ['/v1', '/legacy/v1']) {
      const response = await whole.service.call(`${mount}${path}?${POINT}`, { key });
      const { error } = (await response.json()) as { error: { code: string } };
      t.deepEqual([response.status, error.code], [404, 'not_found'], `${mount}${path}`);
    }
  t.is((await whole.service.call('/v1/radar/current?lat=35&lng=-97')).status, 404);
});

test('hail/current tells the storms of GET /v1/storms: same ids, places, sizes and charge', async (t) => {
  const [one, other] = [await openAccount(whole.service), await openAccount(whole.service)];
  const { cells } = (await whole.service.json(`/v1/storms?${POINT}&radius_km=150`, one)) as Storms;
  const storms = await ask<EarlierStorms>(`/hail/current?${AT}&radius_km=150`, other);
  t.true(cells.length > 0);
  t.deepEqual(
    storms,
    cells.map((cell) => ({
      storm_id: cell.track_id,
      coordinates: { lat: cell.lat, lng: cell.lon },
      mesh_size_mm: cell.hail.estimated_size_mm,
      probability: cell.hail.ml_probability,
      detected_at: cell.scan_time,
      direction_deg: cell.motion.direction_deg,
      speed_kph: cell.motion.speed_kmh,
    })),
  );
  t.is(await creditsOf(whole.service, one.business_id), 15);
  t.is(await creditsOf(whole.service, other.business_id), 15);
});

test('hail/current looks within 25 km unless radius_km says otherwise, up to 150', async (t) => {
  const { cells } = await current<Storms>(`/storms?${POINT}&radius_km=150`);
  const [northmost] = cells.toSorted((a, b) => b.lat - a.lat);
  if (northmost === undefined) throw new Error('there is no storm');
  const north = `lat=${northmost.lat + 0.4}&lng=${northmost.lon}`; // 44 km away
  t.deepEqual(await ask(`/hail/current?${north}`), []);
  const found = await ask<EarlierStorms>(`/hail/current?${north}&radius_km=50`);
  t.true(found.some(({ storm_id }) => storm_id === northmost.track_id));
  t.regex(await refusal(`/hail/current?${AT}&radius_km=150.1`), /^400 invalid_parameter: radius_km is '150.1'/);
});

test('lat and lng that look swapped are said so, in a question and in a body', async (t) => {
  const swapped = await refusal('/hail/current?lat=-97&lng=35.2');
  t.is(swapped, "400 invalid_parameter: lat is '-97', expected a number from -90 to 90 (lat and lng look swapped)");
  t.is(
    await refusal('/alerts/subscribe', sending('POST', { ...SUBSCRIPTION, location: { lat: -97, lng: 35.2 } })),
    '400 bad_request: /location/lat: must be at least -90, received -97 (lat and lng look swapped)',
  );
});

test('hail/forecast tells 12 hours unless hours says otherwise, 1 to 48, with falling confidence', async (t) => {
  const at = 'lat=35.22&lng=-97.44';
  const { hourly } = await current<HailForecast>('/hail/forecast?lat=35.22&lon=-97.44&hours=48');
  const hours = await ask<EarlierForecast>(`/hail/forecast?${at}&hours=48`);
  t.deepEqual(
    hours.map(({ confidence: _, ...hour }) => hour),
    hourly.map(({ valid_time, hail_probability, estimated_size_mm }) => ({
      time: valid_time,
      probability: hail_probability,
      max_size_mm: estimated_size_mm,
    })),
  );
  const ahead_h = (time: string) => Math.ceil((Date.parse(time) - WHOLE_NOW_MS) / 3_600_000);
  for (const { time, confidence } of hours)
    t.true(Math.abs(confidence - (0.9 - (0.5 * (ahead_h(time) - 1)) / 47)) <= 0.0005, time);
  t.is(hours[0]?.confidence, 0.9);
  t.is((await ask<EarlierForecast>(`/hail/forecast?${at}`)).length, 12);
  for (const wrong of ['0', '49', '1.5'])
    t.regex(await refusal(`/hail/forecast?${at}&hours=${wrong}`), /^400 invalid_parameter: hours is/);
});

test('hail/history tells the storm days of GET /v1/hail/history within 25 km, with damage and the storm of that hail', async (t) => {
  const { cells } = await current<Storms>(`/storms?${POINT}&radius_km=150`);
  const storm = cells.find(({ track_id }) => track_id.startsWith('20260501'));
  if (storm === undefined) throw new Error('no storm is of both days');
  const at = `lat=${storm.lat}&lng=${storm.lon}`;
  const { events } = await current<HailHistory>(`/hail/history?lat=${storm.lat}&lon=${storm.lon}&days=2`);
  const days = await ask<EarlierHistory>(`/hail/history?${at}&start_date=2026-05-01&end_date=2026-05-02`);
  t.is(events.length, 2);
  t.deepEqual(
    days.map(({ date, max_size_mm, duration_minutes }) => ({ date, max_size_mm, duration_minutes })),
    events.map(({ storm_date, hail, duration_minutes }) => ({
      date: storm_date,
      max_size_mm: hail.estimated_size_mm,
      duration_minutes,
    })),
  );
  for (const { storm_id, date, max_size_mm } of days) {
    const { points } = await current<StormTrack>(`/storms/${storm_id}?date=${date}`);
    t.true(points.some(({ hail }) => hail.estimated_size_mm === max_size_mm));
  }
  for (const { damage_estimate, max_size_mm } of days)
    t.is(
      damage_estimate,
      max_size_mm < 19 ? 'none' : max_size_mm < 25 ? 'minor' : max_size_mm < 38 ? 'moderate' : 'significant',
    );
  const first = await ask<EarlierHistory>(`/hail/history?${at}&start_date=2026-05-01&end_date=2026-05-01`);
  t.deepEqual(first, days.slice(1));
});

test('hail/history needs its dates, in order, not ahead, at most 365 days', async (t) => {
  const required = await refusal(`/hail/history?${AT}&end_date=2026-05-01`);
  t.is(required, '400 invalid_parameter: start_date is required, expected a date YYYY-MM-DD');
  for (const [start, end, message] of [
    ['2026-05-02', '2026-05-01', 'end_date is before start_date, expected the same date or a later one'],
    ['2025-05-01', '2026-05-01', 'end_date is too far from start_date, expected at most 365 days with both ends'],
    ['2026-05-03', '2026-05-03', 'start_date is 2026-05-03, expected at most today, 2026-05-02 UTC'],
  ] as const) {
    const refused = await refusal(`/hail/history?${AT}&start_date=${start}&end_date=${end}`);
    t.is(refused, `400 invalid_parameter: ${message}`);
  }
});

for (const [start, days, credits] of [
  ['2026-04-03', 30, 15],
  ['2026-04-02', 31, 25],
  ['2026-02-02', 90, 25],
  ['2026-02-01', 91, 40],
  ['2025-11-03', 181, 60],
  ['2025-05-03', 365, 60],
] as const)
  test(`hail/history over ${days} days costs ${credits} credits`, async (t) => {
    const { key, business_id } = await openAccount(whole.service);
    await ask(`/hail/history?${AT}&start_date=${start}&end_date=2026-05-02`, { key });
    t.is(await creditsOf(whole.service, business_id), credits);
  });

test('alerts/subscribe makes a subscription of 25 km that the current variant shows too, and that is told in the earlier words', async (t) => {
  const made = await ask<Record<string, unknown>>('/alerts/subscribe', sending('POST', SUBSCRIPTION));
  const { id, webhook_secret, ...rest } = made;
  t.regex(String(id), /^sub_[0-9A-HJKMNP-TV-Z]{26}$/);
  t.regex(String(webhook_secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.deepEqual(rest, { ...SUBSCRIPTION, status: 'active', created_at: '2026-05-02T00:12:00.000Z' });
  const shown = await current<Record<string, unknown>>(`/alerts/${id}`);
  t.like(shown, { lat: 35.4676, lon: -97.5164, radius_km: 25, min_size_mm: 30, created_at: rest.created_at });
  t.deepEqual(await receivers(String(id)), [String(id)]);
});

for (const [what, change, message] of [
  [
    'with lon instead of lng',
    { location: { lat: 35, lon: -97 } },
    '/location/lng: is missing, expected number (use lng)',
  ],
  ['with a threshold below 10 mm', { threshold_mm: 9.9 }, '/threshold_mm: must be at least 10, received 9.9'],
  ['with an address that is refused', { webhook_url: 'http://hooks.example.com' }, '/webhook_url: is not https'],
] as const)
  test(`alerts/subscribe ${what} is 400`, async (t) => {
    const init = sending('POST', { ...SUBSCRIPTION, ...change });
    t.is(await refusal('/alerts/subscribe', init), `400 bad_request: ${message}`);
  });

test('an Idempotency-Key replays the very answer, its meta included, at both places, and charges once', async (t) => {
  const { key, business_id } = await openAccount(whole.service, MADE_FOR_IT);
  const init = { ...sending('POST', SUBSCRIPTION, { 'Idempotency-Key': randomUUID() }), key };
  const first = await whole.service.call('/legacy/v1/alerts/subscribe', init);
  const again = await whole.service.call('/v1/alerts/subscribe', init);
  t.is(again.headers.get('Idempotent-Replay'), 'true');
  t.not(again.headers.get('X-Request-Id'), first.headers.get('X-Request-Id'));
  t.is(await again.text(), await first.text());
  t.is(await creditsOf(whole.service, business_id), 2);
});

test('alerts/{id} lists recent_alerts, and DELETE answers cancelled, after which there is nothing', async (t) => {
  const { id } = await ask<{ id: string }>('/alerts/subscribe', sending('POST', SUBSCRIPTION));
  t.deepEqual(await ask(`/alerts/${id}`), { id, status: 'active', threshold_mm: 30, recent_alerts: [] });
  const alert = await raise(whole.service, id, { track_id: 'track-7', max_size_mm: 44 });
  const { recent_alerts } = await ask<{ recent_alerts: unknown[] }>(`/alerts/${id}`);
  t.deepEqual(recent_alerts, [
    {
      alert_id: alert.id,
      triggered_at: timestamp(Date.parse(alert.triggered_at)),
      mesh_size_mm: alert.estimated_size_mm,
      storm_id: 'track-7',
    },
  ]);
  const cancelled = { id, status: 'cancelled', cancelled_at: '2026-05-02T00:12:00Z' };
  t.deepEqual(await ask(`/alerts/${id}`, { method: 'DELETE' }), cancelled);
  for (const method of ['GET', 'DELETE'])
    t.is(await refusal(`/alerts/${id}`, { method }), '404 not_found: no such subscription');
  t.deepEqual(await receivers(id), []);
});

test('locations/{id}/risk tells the score of the place, its expected hail days, trend and last event', async (t) => {
  const { accepted } = await upload(whole.service, [{ name: 'depot', lat: 35.2, lon: -97 }]);
  const id = accepted[0]?.id;
  const { annual, monthly } = await current<HailRisk>(`/hail/risk?${POINT}`);
  const events = await current<HailHistory>(`/hail/history?${POINT}&radius_km=10&days=2&min_size_mm=19`);
  const { annual_hail_days, ...risk } = await ask<Record<string, unknown>>(`/locations/${id}/risk`);
  const [last] = events.events;
  t.deepEqual(risk, {
    location_id: id,
    risk_score: annual?.score,
    trend: 'stable',
    last_event: last === undefined ? null : { date: last.storm_date, max_size_mm: last.hail.estimated_size_mm },
  });
  // A month's probability of at least one day is rounded to 3 decimals there.
  const days = monthly.reduce((sum, { probability }) => sum - Math.log(1 - probability.any), 0);
  t.true(Math.abs(Number(annual_hail_days) - days) < 0.05 * days + 0.01, `${annual_hail_days} ${days}`);
});

test('radar/current names the nearest radar and, of the products asked for, the archive of the newest scan', async (t) => {
  const { frames } = await current<ScanTiles>('/tiles/scan');
  const { station, products } = await ask<EarlierRadar>('/radar/current?lat=35.33&lng=-97.28');
  t.is(station, 'KTLX');
  t.deepEqual(pluck(products, 'type'), ['reflectivity', 'velocity', 'mesh']);
  t.deepEqual(products[2], {
    type: 'mesh',
    timestamp: frames.at(-1)?.scan_time ?? null,
    tile_url: frames.at(-1)?.url ?? null,
    note: null,
  });
  t.like(products[1], { timestamp: null, tile_url: null });
  t.regex(products[1]?.note ?? '', /publishes no velocity/);
  const some = await ask<EarlierRadar>('/radar/current?lat=27.78&lng=-97.51&products=mesh,velocity,mesh');
  t.is(some.station, 'KCRP');
  t.deepEqual(pluck(some.products, 'type'), ['mesh', 'velocity']);
});

test('radar/current takes no product that there is not', async (t) => {
  const refused = await refusal(`/radar/current?${AT}&products=mesh,echo`);
  t.regex(refused, /products is 'mesh,echo', expected some of reflectivity, velocity, mesh, between commas$/);
});

test('webhooks take the events of the earlier variant, all of them when left out, and are told in its words', async (t) => {
  const url = 'https://hooks.example.com/hail';
  const all = ['hail.detected', 'hail.cleared', 'alert.created', 'alert.resolved', 'risk.changed'];
  const { webhook_id, ...made } = await ask<Record<string, unknown>>('/webhooks', sending('POST', { url }));
  t.like(made, { url, events: all, status: 'active' });
  t.deepEqual(await receivers(String(webhook_id)), [String(webhook_id)]);
  const change = sending('PUT', { events: ['risk.changed', 'hail.detected'] });
  t.deepEqual(await ask(`/webhooks/${webhook_id}`, change), { success: true, updated: ['events'] });
  for (const events of [
    (await ask<{ events: unknown }>(`/webhooks/${webhook_id}`)).events,
    (await current<{ events: unknown }>(`/webhooks/${webhook_id}`)).events,
  ])
    t.deepEqual(events, ['hail.detected', 'risk.changed']);
  const unknownEvent = await refusal('/webhooks', sending('POST', { url, events: ['webhook.disabled'] }));
  t.regex(unknownEvent, /^400 bad_request: \/events\/0: /);
  t.deepEqual(await ask(`/webhooks/${webhook_id}`, { method: 'DELETE' }), { success: true });
  t.deepEqual(await receivers(String(webhook_id)), []);
});

test('a webhook of the current variant does not take words that it is not told by', async (t) => {
  const url = 'https://hooks.example.com/current';
  const made = await whole.service.json('/v1/webhooks', sending('POST', { url, events: ['alert.created'] }));
  const path = `/webhooks/${(made as { webhook_id: string }).webhook_id}`;
  const changed = await refusal(path, sending('PUT', { events: ['hail.detected'] }));
  t.regex(changed, /^400 bad_request: \/events: hail.detected is/);
  t.deepEqual((await current<{ events: unknown }>(path)).events, ['alert.created']);
  await ask(path, sending('PUT', { events: ['alert.resolved'] }));
  t.deepEqual((await current<{ events: unknown }>(path)).events, ['alert.resolved']);
  const tested = await refusal(`${path}/test`, sending('POST', { event: 'hail.detected' }));
  t.regex(tested, /^400 bad_request: \/event is 'hail.detected', expected alert.created, /);
});

test('a webhook of the earlier variant takes no events that it is not told, from whichever variant it is changed', async (t) => {
  const { webhook_id } = await ask<{ webhook_id: string }>('/webhooks', sending('POST', { url: 'https://a.example' }));
  const change = (events: string[]) => whole.service.call(`/v1/webhooks/${webhook_id}`, sending('PUT', { events }));
  const refused = await change(['alert.created', 'webhook.disabled']);
  t.deepEqual(
    [refused.status, ((await refused.json()) as { message: string }).message],
    [400, '/events: webhook.disabled is not told to a webhook that was made in the earlier variant'],
  );
  t.is((await change(['alert.resolved'])).status, 200);
  t.deepEqual((await ask<{ events: unknown }>(`/webhooks/${webhook_id}`)).events, ['alert.resolved']);
});

test('simulated answers follow from the place and the day, not from how the place is written', async (t) => {
  const { key } = await openAccount(whole.service, SIMULATED);
  const storms = (query: string) => ask<EarlierStorms>(`/hail/current?${query}`, { key });
  t.deepEqual(await storms('lat=35.20&lng=-97.0'), await storms('lng=-97&lat=35.200000001&radius_km=25'));
  t.notDeepEqual(await storms('lat=35.21&lng=-97'), await storms(AT));
  t.true((await storms(AT)).every(({ storm_id }) => storm_id.startsWith('simulated-20260502-')));
});

test('simulated answers refuse what the others refuse', async (t) => {
  const { key } = await openAccount(whole.service, SIMULATED);
  for (const path of [
    '/hail/current?lat=35',
    `/hail/history?${AT}&start_date=2026-05-03&end_date=2026-05-03`,
    `/radar/current?${AT}&products=echo`,
  ])
    t.is(await refusal(path, { key }), await refusal(path));
  const unmade = await refusal('/webhooks/wh_any', { ...sending('PUT', {}), key });
  t.is(unmade, '400 bad_request: body: is without url, events and status');
  for (const [path, name] of [
    ['/alerts/subscribe', 'webhook_url'],
    ['/webhooks', 'url'],
  ] as const) {
    const asked = sending('POST', { ...SUBSCRIPTION, [name]: 'http://hooks.example.com/hail' });
    for (const call of [asked, { ...asked, key }])
      t.regex(await refusal(path, call), new RegExp(`^400 bad_request: /${name}: .*https`));
  }
});

test('a test_ key is answered so at both places, and never with what the current variant has', async (t) => {
  const { key, business_id } = await openAccount(whole.service, SIMULATED);
  t.regex(key, /^test_[0-9A-Za-z]{46}$/);
  const [one, other] = [`/legacy/v1/hail/current?${AT}`, `/v1/hail/current?${AT}`];
  const [first, second] = [await whole.service.call(one, { key }), await whole.service.call(other, { key })];
  for (const { headers } of [first, second]) t.is(headers.get('X-Data-Source'), 'simulated');
  t.deepEqual(((await first.json()) as Enveloped<unknown>).data, ((await second.json()) as Enveloped<unknown>).data);
  for (const path of ['/v1/storms', '/v1/coverage', '/v1/hail/swaths'])
    t.is((await whole.service.call(`${path}?${POINT}`, { key })).status, 404);
  t.is(await creditsOf(whole.service, business_id), 0);
});

test('a test_ key may ask 600 times a minute, whatever the plan', async (t) => {
  const { key } = await openAccount(whole.service, { ...SIMULATED, plan: { rate_per_minute: 5 } });
  const { headers } = await whole.service.call(`/legacy/v1/hail/current?${AT}`, { key });
  t.deepEqual([headers.get('X-RateLimit-Limit'), headers.get('X-RateLimit-Remaining')], ['600', '599']);
});

/** The receiver, where it is one of the earlier variant. */
async function receivers(id: string): Promise<string[]> {
  const { reader } = whole.service.records;
  const webhooks = reader.selectFrom('webhooks').select('id').where('format', '=', 'legacy');
  const subscriptions = reader.selectFrom('subscriptions').select('id').where('format', '=', 'legacy');
  const found = await webhooks.unionAll(subscriptions).execute();
  return found.map((receiver) => receiver.id).filter((each) => each === id);
}

/** Endpoints of the earlier variant: credits of the example, operation that is charged, scope. */
const TABLE = [
  ['GET /legacy/v1/hail/current', 15, 'storms.list', 'storms:read'],
  ['GET /legacy/v1/hail/forecast', 5, 'hail.forecast', 'hail:read'],
  ['GET /legacy/v1/hail/history', 15, 'hail.history.30d', 'hail:read'],
  ['GET /legacy/v1/locations/{id}/risk', 5, 'hail.risk', 'hail:read'],
  ['GET /legacy/v1/radar/current', 3, 'tiles.scan', 'tiles:read'],
  ['POST /legacy/v1/alerts/subscribe', 2, 'alerts.subscribe', 'alerts:write'],
  ['GET /legacy/v1/alerts/{id}', 1, 'alerts.get', 'alerts:read'],
  ['DELETE /legacy/v1/alerts/{id}', 1, 'alerts.delete', 'alerts:write'],
  ['POST /legacy/v1/webhooks', 2, 'webhooks.create', 'webhooks:write'],
  ['GET /legacy/v1/webhooks', 1, 'webhooks.list', 'webhooks:read'],
  ['GET /legacy/v1/webhooks/{id}', 1, 'webhooks.get', 'webhooks:read'],
  ['PUT /legacy/v1/webhooks/{id}', 2, 'webhooks.update', 'webhooks:write'],
  ['DELETE /legacy/v1/webhooks/{id}', 1, 'webhooks.delete', 'webhooks:write'],
  ['POST /legacy/v1/webhooks/{id}/test', 3, 'webhooks.test', 'webhooks:write'],
  ['GET /legacy/v1/webhooks/{id}/deliveries', 1, 'webhooks.deliveries', 'webhooks:read'],
  ['POST /legacy/v1/webhooks/{id}/deliveries/{deliveryId}/redeliver', 3, 'webhooks.redeliver', 'webhooks:write'],
  ['GET /legacy/v1/usage', 0, null, 'usage:read'],
  ['GET /legacy/v1/usage/export', 0, null, 'usage:read'],
  ['GET /legacy/v1/health', 0, null, null],
  ['GET /legacy/v1/openapi.json', 0, null, null],
] as const;
/** What a test key is told like any other: figures of the business and of the service. */
const NOT_SIMULATED = ['GET /legacy/v1/usage', 'GET /legacy/v1/usage/export', 'GET /legacy/v1/health'];

function keyed(): DescribedOperation[] {
  return whole.earlier.operations.filter((operation) => operation.keyed);
}

/** Sends an operation's example; `own` is what its path names. */
async function askOperations(
  operation: DescribedOperation,
  key: string | null,
  own: Readonly<Record<string, string>> = {},
) {
  const request = exampleRequest(operation, { ...whole.known, ...own });
  const response = await whole.service.call(request.target, { ...initOf(request), key });
  return { response, text: await response.text() };
}

interface EarlierError {
  readonly error: { readonly code: string };
  readonly meta: { readonly request_id: string };
}

test('the description of the earlier variant lists exactly its endpoints, with the price, operation and scope of those that serve them', (t) => {
  const described = whole.earlier.operations.map((operation) => [
    operation.title,
    operation['x-credits'],
    operation['x-operation'],
    operation['x-scope'],
  ]);
  const byTitle = (rows: readonly (readonly unknown[])[]) => Object.fromEntries(rows.map((row) => [row[0], row]));
  t.deepEqual(byTitle(described), byTitle(TABLE));
  t.is(described.length, TABLE.length);
});

for (const [title, credits, operationName] of TABLE)
  test(`${title} answers its example as described, for ${credits} credits each time`, async (t) => {
    const operation = whole.earlier.operations.find((one) => one.title === title);
    if (operation === undefined) throw new Error(`the description has no ${title}`);
    const { key, business_id } = await openAccount(whole.service, { variant: 'legacy' });
    const own = await ownFor(operation, whole.service, business_id);
    const { response, text } = await askOperations(operation, key, own);
    t.is(response.status, 200, text);
    t.deepEqual(departuresOf(whole.earlier.description, operation, response, text), []);
    t.is(await creditsOf(whole.service, business_id), credits);
    const ledger = whole.service.records.reader.selectFrom('ledger').select('operation');
    const operations = (await ledger.where('business_id', '=', business_id).execute()).map((row) => row.operation);
    t.deepEqual(operations, operationName === null ? [] : [operationName]);
    if (!operation.keyed) return;
    t.is(response.headers.get('ETag'), null);
    t.is(response.headers.get('Cache-Control'), 'no-store');
    t.not(response.headers.get('X-RateLimit-Remaining'), null);
    if (operation.method !== 'GET') return;
    t.is((await askOperations(operation, key, own)).response.status, 200);
    t.is(await creditsOf(whole.service, business_id), 2 * credits);
  });

test('every operation of the earlier variant refuses a key without its scope, in its own shape, for nothing', async (t) => {
  const scopes = [...new Set(keyed().flatMap((operation) => operation['x-scope'] ?? []))];
  for (const operation of keyed()) {
    const scope = operation['x-scope'];
    if (scope === null) continue;
    const account = await openAccount(whole.service, { scopes: scopes.filter((other) => other !== scope) });
    const { response, text } = await askOperations(operation, account.key);
    const { error, meta } = JSON.parse(text) as EarlierError;
    t.deepEqual([response.status, error.code], [403, 'insufficient_scope'], operation.title);
    t.is(response.headers.get('X-Required-Scope'), scope);
    t.is(meta.request_id, response.headers.get('X-Request-Id') ?? '');
    t.is(await creditsOf(whole.service, account.business_id), 0);
  }
});

test('every operation of the earlier variant is 401 without a key, and but for health 403 with a test key of the current one', async (t) => {
  const { key } = await openAccount(whole.service, { kind: 'test' });
  for (const operation of keyed())
    for (const [given, status, code] of [
      [null, 401, 'unauthorized'],
      [key, 403, 'forbidden'],
    ] as const) {
      const { response, text } = await askOperations(operation, given);
      if (given !== null && operation.title.endsWith('/health')) t.is(response.status, 200);
      else t.deepEqual([response.status, (JSON.parse(text) as EarlierError).error.code], [status, code]);
    }
});

test('every operation answers a test_ key as described, for nothing, the same each time, and says that it is simulated', async (t) => {
  const accounts = [
    await openAccount(whole.service, { kind: 'test', variant: 'legacy' }),
    await openAccount(whole.service, { kind: 'test', variant: 'legacy' }),
  ];
  const own = { id: 'any_id', deliveryId: 'whd_any' };
  for (const operation of keyed()) {
    const answers = [];
    for (const { key } of accounts) answers.push(await askOperations(operation, key, own));
    for (const { response, text } of answers) {
      t.is(response.status, 200, `${operation.title} ${text}`);
      t.deepEqual(departuresOf(whole.earlier.description, operation, response, text), []);
    }
    if (NOT_SIMULATED.includes(operation.title)) continue;
    for (const { response } of answers) t.is(response.headers.get('X-Data-Source'), 'simulated', operation.title);
    const [first, second] = answers.map(({ text }) => (JSON.parse(text) as { data: unknown }).data);
    t.deepEqual(first, second, operation.title);
  }
  for (const { business_id } of accounts) {
    t.is(await creditsOf(whole.service, business_id), 0);
    for (const table of ['subscriptions', 'webhooks'] as const) {
      const rows = whole.service.records.reader.selectFrom(table).select('business_id');
      t.deepEqual(await rows.where('business_id', '=', business_id).execute(), []);
    }
  }
});
