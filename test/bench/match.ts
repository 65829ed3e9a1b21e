import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Command } from 'commander';
import { createBusiness } from '../../api/accounts/businesses.ts';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { insertArea, NO_LABELS } from '../../api/alerts/areas.ts';
import { matchScan, type ScanHail } from '../../api/alerts/match.ts';
import { rememberIndex } from '../../api/alerts/place-index.ts';
import { areaRings } from '../../api/alerts/places.ts';
import type { Subscription } from '../../api/alerts/subscriptions.ts';
import { createWatch } from '../../api/alerts/watch.ts';
import { type Records, recordsOver } from '../../api/metering/records.ts';
import { isFault, polygonShape } from '../../api/rules/area-geometry.ts';
import { openDatabase } from '../../api/store/database.ts';
import { wholeNumber } from '../../pipeline/commands/arguments.ts';
import { CONUS, type Position } from '../../schemas/geo/position.ts';
import { newId } from '../../schemas/ids.ts';
import { instant } from '../../schemas/time.ts';
import { editionOf, FORMATS, type Hail, MINUTE_MS, START_MS, watchPartsOf } from '../support/data/alert-scans.ts';
import { bandRing, starRing } from '../support/data/simple-rings.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const PER_BUSINESS = 100;
const DETECTIONS = 5_000;
const SCANS = 20;
/** Areas of 20,000 positions: what a business may have. */
const RINGS = 100;
const RING_SCAN = 99;
/** Scans that nobody counts, until the code is compiled. */
const WARM_UP = 3;
const GOAL_MS = 1_000;
const ROWS_PER_INSERT = 500;

/** Scans of 5,000 detections over subscriptions: the match alone, and a scan from the records back into them. */
export async function match(args: string[] = []): Promise<void> {
  const { places } = new Command('match')
    .option('--places <count>', 'subscriptions, a hundred of each business', wholeNumber(1_000, 2_000_000), 100_000)
    .parse(args, { from: 'user' })
    .opts<{ places: number }>();
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-match-'));
  const records = await recordsOver(openDatabase({ path: join(folder, 'hail.sqlite') }), { now: () => START_MS });
  try {
    await subscribeAll(records, places);
    console.log(`match: ${places} subscriptions of 25 km, scans of ${DETECTIONS} detections`);
    await measureMatch(records);
    await measureRings(records);
    await measureScan(records);
  } finally {
    await records.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureMatch({ reader }: Records): Promise<void> {
  collectGarbage();
  const before = process.memoryUsage();
  const places = rememberIndex(reader, FORMATS);
  const first = await timed(() => places());
  collectGarbage();
  const after = process.memoryUsage();
  const held_mb = (after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / 2 ** 20;
  const again = await timed(() => places());
  console.log(
    `  index: read and made in ${first.ms.toFixed(0)} ms, ${held_mb.toFixed(0)} MB; found unchanged in ${again.ms.toFixed(0)} ms`,
  );
  const noRings = async () => new Map();
  for (const [what, scanOf] of [
    ['all over CONUS', spread],
    ['in one storm', storm],
  ] as const) {
    const times: number[] = [];
    let hits = 0;
    for (let k = 0; k < WARM_UP + SCANS; k++) {
      const scan = columnsOf(scanOf(k));
      const { ms, value } = await timed(() => matchScan(again.value, scan, noRings));
      if (k < WARM_UP) continue;
      times.push(ms);
      hits += value.size / SCANS;
    }
    times.sort((a, b) => a - b);
    console.log(
      `  ${what}: median ${times[SCANS / 2]?.toFixed(0)} ms, slowest ${times.at(-1)?.toFixed(0)} ms at a new place each time (goal: under ${GOAL_MS} ms), ${hits.toFixed(0)} subscriptions hit`,
    );
  }
}

/** A storm over areas of 20,000 positions: their rings read, and every one of them searched. */
async function measureRings(records: Records): Promise<void> {
  const { lat, lon } = positionAt(1_000_000 + RING_SCAN);
  const zigzag = bandRing(
    Array.from({ length: 9_999 }, (_, k) => [lon - 1.5 + (3 * k) / 9_998, lat - 0.55 + 0.8 * (k % 2)]),
    0.3,
  );
  const slanting = zigzag.map(([x = 0, y = 0]) => [x + (y - lat), y]);
  const star = starRing(
    [lon, lat],
    Array.from({ length: 19_999 }, (_, k) => 1 + (k % 2)),
  );
  for (const [what, ring] of [
    ['stars around the storm', star],
    ['zigzags through it', zigzag],
    ['slanting zigzags through it', slanting],
  ] as const) {
    const made = await timed(async () => polygonShape(ring));
    const shape = made.value;
    if (isFault(shape)) throw new Error(`${what}: ${shape.reason}`);
    await records.transaction(async (rows) => {
      const business = await createBusiness(rows, what, SELF_HOSTED, START_MS);
      const writer = { rows, business_id: business?.id ?? '', now_ms: START_MS };
      const area = { kind: 'polygon', name: what, real_time: false, purpose: 'both', group_id: null } as const;
      for (let k = 0; k < RINGS; k++)
        await insertArea(writer, { ...area, ...NO_LABELS, shape }, { ...SELF_HOSTED.quotas, area_sq_mi: 1e9 });
    });
    const index = rememberIndex(records.reader, FORMATS);
    const places = await index();
    const scan = columnsOf(storm(RING_SCAN));
    collectGarbage();
    const { ms } = await timed(() => matchScan(places, scan, (ids) => areaRings(records.reader, ids)));
    console.log(
      `  ${RINGS} ${what}, of ${ring.length} positions: ${ms.toFixed(0)} ms (judged in ${made.ms.toFixed(0)} ms each), resident ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MB`,
    );
    await records.transaction(async (rows) => {
      await rows.deleteFrom('area_rings').execute();
      await rows.deleteFrom('areas').execute();
    });
  }
}

/** A scan that raises alerts, and one in which they go on, with everything that is read and written. */
async function measureScan(records: Records): Promise<void> {
  let now_ms = START_MS + MINUTE_MS;
  const watch = createWatch(watchPartsOf(records, { now: () => now_ms }));
  await watch(editionOf([{ minute: 0 }]));
  const hail = storm(99);
  for (const minute of [2, 4]) {
    now_ms = START_MS + (minute + 1) * MINUTE_MS;
    const { ms } = await timed(() => watch(editionOf([{ minute: 0 }, { minute, hail }])));
    const open = await records.reader.selectFrom('alerts').select('id').execute();
    console.log(`  a scan with the rows that it writes: ${ms.toFixed(0)} ms, ${open.length} alerts open after it`);
  }
}

async function timed<Value>(work: () => Promise<Value>): Promise<{ readonly ms: number; readonly value: Value }> {
  const started_ms = performance.now();
  const value = await work();
  return { ms: performance.now() - started_ms, value };
}

/** Positions spread evenly over CONUS: the k-th of a sequence that never repeats. */
function positionAt(k: number): Position {
  return {
    lat: CONUS.south + (CONUS.north - CONUS.south) * (((k + 1) * 0.7548776662) % 1),
    lon: CONUS.west + (CONUS.east - CONUS.west) * (((k + 1) * 0.569840291) % 1),
  };
}

function spread(scan: number): Hail[] {
  return Array.from({ length: DETECTIONS }, (_, k) => {
    const { lat, lon } = positionAt(scan * DETECTIONS + k);
    return [lat, lon, 10 + ((k * 7) % 60)];
  });
}

/** Pixels of a disk around a place, the largest in its middle. */
function storm(scan: number): Hail[] {
  const { lat, lon } = positionAt(1_000_000 + scan);
  return Array.from({ length: DETECTIONS }, (_, k) => {
    const radius = 0.01 * Math.sqrt(k / Math.PI);
    const angle = k * 2.399963;
    return [lat + radius * Math.sin(angle), lon + radius * Math.cos(angle), 80 - (70 * k) / DETECTIONS];
  });
}

function columnsOf(hail: readonly Hail[]): ScanHail {
  const column = (at: 0 | 1 | 2) => Float64Array.from(hail, (row) => row[at]);
  return { length: hail.length, lat: column(0), lon: column(1), size_mm: column(2) };
}

/** Subscriptions spread over CONUS, a hundred for each business. */
async function subscribeAll(records: Records, places: number): Promise<void> {
  const at = instant(START_MS);
  await records.transaction(async (rows) => {
    for (let from = 0; from < places; from += ROWS_PER_INSERT) {
      const made: Subscription[] = [];
      for (let k = from; k < from + ROWS_PER_INSERT; k += PER_BUSINESS) {
        const business = await createBusiness(rows, `business ${k}`, SELF_HOSTED, START_MS);
        for (let one = k; one < k + PER_BUSINESS; one++) made.push(subscription(one, business?.id ?? '', at));
      }
      await rows.insertInto('subscriptions').values(made).execute();
    }
  });
}

function subscription(k: number, business_id: string, at: string): Subscription {
  return {
    id: newId('subscription', START_MS),
    business_id,
    name: '',
    ...positionAt(k),
    radius_km: 25,
    min_size_mm: 25,
    webhook_url: 'https://hooks.example.com/hail',
    secret: 'sealed',
    status: 'active',
    format: 'current',
    version: 1,
    trigger_count: 0,
    last_triggered_at: null,
    consecutive_failures: 0,
    warned_at: null,
    give_up_mailed_at: null,
    created_at: at,
    updated_at: at,
  };
}
