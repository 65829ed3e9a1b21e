import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { openRecords } from '../../api/billing/records.ts';
import { openEngine } from '../../api/published/duckdb.ts';
import { readDetections } from '../../api/queries/scan-detections.ts';
import { signatureFault } from '../../api/webhooks/signature.ts';
import { isWithinKm } from '../../schemas/geo/distance.ts';
import { geohash } from '../../schemas/geo/geohash.ts';
import { latRow, lonCol } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { SIZE_BANDS } from '../../schemas/size.ts';
import { EarlierEventBody } from '../../schemas/webhook-events.ts';
import { publishDays } from '../support/data/published-days.ts';
import { dayMaxRow } from '../support/data/rows.ts';
import { filesOf, onRoot, preparedRoot, type RawScan, scansBetween, scratch } from '../support/data/world.ts';
import { command } from '../support/kill/killed.ts';
import { type Receiver, startReceiver } from '../support/service/receiver.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { until } from '../support/until.ts';

const CLOCK = pathToFileURL(fileURLToPath(new URL('../support/kill/clock.ts', import.meta.url))).href;
const BEGIN_MS = Date.parse('2026-05-01T23:22:00Z');
/** The last scans come more than half an hour after the first four, so that hail of the first four can be over. */
const END = '2026-05-02T00:02:00Z';
const FIRST_SCANS = 4;
/** Of the subscriptions. */
const THRESHOLD_MM = 25;
const RADIUS_KM = 25;
/** From here on hail.detected reports hail. */
const ANY_HAIL_MM = SIZE_BANDS[0].threshold_mm;
/** Far from the tiny world, where hail is neither rare nor frequent. */
const YARD = { lat: 40.005, lng: -83.005 };
const DATES = ['2026-04-10', '2026-04-11', '2026-04-12', '2026-04-13', '2026-04-14', '2026-04-15'];

/** A service on a data root, whose clock the test moves, and what starts the next one. */
async function startEvening(t: ExecutionContext) {
  const [root, clock] = [await scratch(t), `${await scratch(t)}-clock`];
  const moveTo = (time: string) => writeFile(clock, String(Date.parse(time) - BEGIN_MS));
  await moveTo('2026-05-01T23:22:00Z');
  const receiver = await startReceiver(t);
  const start = async () => {
    const server = await startServe(root, BEGIN_MS, 'error', {
      NODE_OPTIONS: `--import ${CLOCK}`,
      CLOCK_FROM_MS: String(BEGIN_MS),
      CLOCK_AHEAD_MS_IN: clock,
      HAIL_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      HAIL_WEBHOOK_CA_FILE: receiver.ca_file,
    });
    t.teardown(() => server.end('SIGKILL'));
    return server;
  };
  const first = await start();
  const records = await openRecords({ data_root: root, database_url: null, now: () => BEGIN_MS });
  t.teardown(records.close);
  /** Kills a service, and ends the leases of what it was sending, as a minute would. */
  const kill = async (server: ServeChild) => {
    await server.end('SIGKILL');
    await records.transaction((rows) => rows.updateTable('tasks').set({ lease_until_ms: 0 }).execute());
  };
  return { root, moveTo, receiver, start, first, kill, records, live_key: first.keys?.live ?? '' };
}

async function post<Data>({ url }: ServeChild, key: string, path: string, body: unknown): Promise<Data> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answers ${response.status} ${await response.text()}`);
  return (await response.json()) as Data;
}

/** What was told so far: path of the receiver and type of the event, each event id once, in their order. */
function told({ received }: Receiver): string[] {
  const events = new Map(
    received.map(({ path, headers }) => [headers['webhook-id'], `${path} ${headers['x-service-event']}`]),
  );
  return [...events.values()].toSorted();
}

/**
 * A place in the tiny world where hail of the threshold falls in the first scans, and within the radius no hail that is
 * reported falls in the others. Found in what these scans publish: the simulated weather may change.
 */
async function placeOfPassedHail(scans: readonly RawScan[]): Promise<typeof YARD> {
  const root = await preparedRoot(scans);
  const engine = await openEngine(root);
  try {
    const paths = globSync(join(root, 'tables/detections/**/*.parquet'));
    const hail = await Promise.all(scans.map(({ time_ms }) => readDetections(engine, paths, time_ms)));
    const largestMm = (part: typeof hail, place: Position) =>
      Math.max(
        0,
        ...part.flatMap(({ length, lat, lon, size_mm }) =>
          Array.from({ length }, (_, k) => k)
            .filter((k) => isWithinKm(place, { lat: lat[k] as number, lon: lon[k] as number }, RADIUS_KM))
            .map((k) => size_mm[k] as number),
        ),
      );
    const [first, others] = [hail.slice(0, FIRST_SCANS), hail.slice(FIRST_SCANS)];
    const found = placesOfTinyWorld().find(
      (place) => largestMm(first, place) >= THRESHOLD_MM && largestMm(others, place) < ANY_HAIL_MM,
    );
    if (found === undefined) throw new Error(`no place has hail in the first ${FIRST_SCANS} scans alone`);
    return { lat: found.lat, lng: found.lon };
  } finally {
    await engine.close();
  }
}

/** Every twentieth of a degree of the tiny world. */
function placesOfTinyWorld(): Position[] {
  const steps = (from: number, to: number) => Array.from({ length: (to - from) * 20 + 1 }, (_, k) => from + k / 20);
  return steps(34.5, 36).flatMap((lat) => steps(-98, -96).map((lon) => ({ lat, lon })));
}

/** A list of a whole day with hail of 60 mm every tenth of a degree around the yard. */
function outbreak(storm_date: string) {
  const max_time = Date.parse(`${storm_date}T21:00:00Z`);
  const seen = { max_time, first_detected: max_time, last_detected: max_time, detection_scans: 1, severe_scans: 1 };
  const steps = Array.from({ length: 41 }, (_, k) => (k - 20) / 10);
  const day_max = steps.flatMap((north) =>
    steps.map((east) => {
      const [lat, lon] = [YARD.lat + north, YARD.lng + east];
      const place = {
        row: latRow(lat),
        col: lonCol(lon),
        lat,
        lon,
        geohash5: geohash(lat, lon, 5),
      };
      return dayMaxRow({ storm_date, ...place, max_mm: 60, ...seen });
    }),
  );
  return { storm_date, rows: { day_max, detections: [], cells: [] } };
}

test('an evening and a new climatology are told once in the words of the earlier variant, by services that are killed one after the other', async (t) => {
  const { root, moveTo, receiver, start, first, kill, records, live_key } = await startEvening(t);
  const scans = await scansBetween('23:20', '00:02');
  const publish = (from: number, to: number, time: string) =>
    onRoot(root, { now_ms: Date.parse(time) }, ({ session }) => session.ingest(filesOf(scans.slice(from, to))));
  const address = (name: string) => receiver.url.replace('/hook', `/${name}`);
  const subscribe = async (name: string, location: typeof YARD) => {
    const body = { location, threshold_mm: THRESHOLD_MM, webhook_url: address(name) };
    return (
      await post<{ data: { id: string; webhook_secret: string } }>(first, live_key, '/legacy/v1/alerts/subscribe', body)
    ).data;
  };
  const depot = await subscribe('depot', await placeOfPassedHail(scans));
  const yard = await subscribe('yard', YARD);
  await post(first, live_key, '/legacy/v1/webhooks', { url: address('all') });
  const { lat, lng: lon } = YARD;
  await post(first, live_key, '/v1/portfolio/locations', { format: 'json', data: [{ name: 'Yard', lat, lon }] });

  await moveTo('2026-05-01T23:30:00Z');
  await publish(0, FIRST_SCANS, '2026-05-01T23:30:00Z');
  const begun = ['/all alert.created', '/all hail.detected', '/depot alert.created', '/depot hail.detected'];
  await until(() => told(receiver).length === begun.length);
  t.deepEqual(told(receiver), begun);
  await kill(first);
  const second = await start();

  await moveTo(END);
  await publish(FIRST_SCANS, scans.length, END);
  const over = [...begun, '/all alert.resolved', '/all hail.cleared', '/depot alert.resolved', '/depot hail.cleared'];
  await until(() => told(receiver).length === over.length);
  t.deepEqual(told(receiver), over.toSorted());
  const cleared = receiver.received.find(({ path, body }) => path === '/depot' && body.includes('hail.cleared'));
  const { event, data } = EarlierEventBody.parse(JSON.parse(cleared?.body ?? ''));
  t.like({ event, data }, { event: 'hail.cleared', data: { subscription_id: depot.id } });
  t.is(
    signatureFault(
      String(cleared?.headers['x-service-signature']),
      cleared?.body ?? '',
      depot.webhook_secret,
      Date.parse(END),
    ),
    null,
  );

  // The service is killed while it compares the new climatology with the one before.
  const derive = async () => {
    const { code, stderr } = await command(root, ['derive', 'climatology'], {
      now_ms: Date.parse(END),
    });
    t.is(code, 0, stderr);
  };
  const scores = async () =>
    await records.reader.selectFrom('risk_scores').select(['location_id', 'score']).orderBy('location_id').execute();
  await derive();
  await until(async () => (await scores()).length === 3);
  await publishDays(root, DATES.map(outbreak), 'simulated', Date.parse(END));
  await derive();
  await kill(second);
  const third = await start();
  const changed = [...over, '/all risk.changed', '/all risk.changed', '/yard risk.changed'];
  await until(() => told(receiver).length >= changed.length);
  await kill(third);
  const last = await start();
  await sleep(3_000);
  t.deepEqual(told(receiver), changed.toSorted());
  const own = receiver.received.find(({ path, body }) => path === '/yard' && body.includes('risk.changed'));
  t.like(EarlierEventBody.parse(JSON.parse(own?.body ?? '')), {
    event: 'risk.changed',
    data: { subscription_id: yard.id, coordinates: YARD },
  });
  await last.end('SIGTERM');
});
