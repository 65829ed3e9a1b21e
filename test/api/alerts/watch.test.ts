import { rename } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { ensureFirstBusiness } from '../../../api/accounts/keys.ts';
import { createSubscription } from '../../../api/alerts/subscriptions.ts';
import { startWatch, watchPartsOf } from '../../../api/alerts/watch.ts';
import { recordsOver } from '../../../api/billing/records.ts';
import { createObservers } from '../../../api/http/observers.ts';
import type { Edition } from '../../../api/published/catalog.ts';
import { openDatabase } from '../../../api/records/database.ts';
import { CommitFailed } from '../../../api/records/errors.ts';
import { openServices, type Services } from '../../../api/services.ts';
import { editionOf, MINUTE_MS, watchPartsOf as madeParts, START_MS } from '../../support/data/alert-scans.ts';
import { aroundMidnight } from '../../support/data/small-world.ts';
import { ingest, publishedRoot, scratch } from '../../support/data/world.ts';
import { until } from '../../support/until.ts';

/** The radar in the middle of the small world. */
const KTLX = { lat: 35.33, lon: -97.28 };

interface Watching {
  readonly services: Services;
  readonly stop: () => Promise<void>;
}

/** Services on a data root with one subscription around the radar, and somebody who watches for it. */
async function watching(
  t: ExecutionContext,
  data_root: string,
  records_root: string,
  now_ms: number,
): Promise<Watching> {
  const { services, close } = await openServices({
    data_root,
    records_root,
    database_url: null,
    storm_day_start_hour: 0,
    base_url: 'http://127.0.0.1:8080/v1',
    now: () => now_ms,
  });
  let closing: Promise<void> | null = null;
  const end = startWatch(watchPartsOf(services, pino({ level: 'silent' })));
  const stop = () => {
    closing ??= end().then(close);
    return closing;
  };
  t.teardown(stop);
  return { services, stop };
}

async function subscribe({ records }: Services, now_ms: number): Promise<void> {
  await ensureFirstBusiness(records, now_ms);
  const { id: business_id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  const wanted = {
    ...KTLX,
    radius_km: 100,
    min_size_mm: 10,
    webhook_url: 'https://hooks.example.com',
    secret: 'sealed',
  };
  await records.transaction((rows) =>
    createSubscription({ rows, business_id, now_ms }, { name: 'KTLX', ...wanted }, 1),
  );
}

/** Waits until so many scans are matched. */
function untilMatched({ records }: Pick<Services, 'records'>, count: number): Promise<void> {
  const matched = records.reader.selectFrom('matched_scans').select('scan_id');
  return until(async () => (await matched.execute()).length >= count);
}

test('scans that the pipeline publishes raise one alert, with what they covered, and a restart goes on where it was', async (t) => {
  const scans = await aroundMidnight();
  const now_ms = (scans.at(-1)?.time_ms ?? 0) + 60_000;
  const root = await publishedRoot(t, scans.slice(0, 4));
  const records_root = await scratch(t, 'records');
  const first = await watching(t, root, records_root, now_ms);
  // Nobody asked yet when these were matched.
  await untilMatched(first.services, 4);
  t.deepEqual(await first.services.records.reader.selectFrom('alerts').selectAll().execute(), []);
  await subscribe(first.services, now_ms);
  await first.stop();

  await ingest(root, scans.slice(4), {});
  const second = await watching(t, root, records_root, now_ms);
  await untilMatched(second.services, scans.length);
  const { records } = second.services;
  const alerts = await records.reader.selectFrom('alerts').selectAll().execute();
  t.is(alerts.length, 1);
  t.like(alerts[0], {
    status: 'open',
    location_name: 'KTLX',
    data_source: 'simulated',
    scan_id: scans[4]?.scan_id,
    last_seen_at: new Date(scans.at(-1)?.time_ms ?? 0).toISOString(),
  });
  t.true((alerts[0]?.covered_blocks ?? 0) > 10);
  t.is((await records.reader.selectFrom('messages').selectAll().execute()).length, 1);
});

test('a scan that an outage of the records kept from being matched is tried again without a new edition', async (t) => {
  const path = await scratch(t, 'hail.sqlite');
  const now = () => START_MS + MINUTE_MS;
  const records = await recordsOver(openDatabase({ path }), { now });
  t.teardown(records.close);
  let failures = 1;
  const observers = createObservers<Edition>();
  observers.publish(editionOf([{ minute: 0 }]));
  const end = startWatch({
    ...madeParts(records, { now }),
    catalog: { afterEdition: observers.add },
    records: {
      ...records,
      transaction: async (work) => {
        failures -= 1;
        if (failures >= 0) throw new CommitFailed('the disk is full');
        return await records.transaction(work);
      },
    },
  });
  await untilMatched({ records }, 1);
  await end();
  t.is(failures, -1);
});

test('a data root that vanishes raises and resolves nothing, and what it holds when it is back is matched', async (t) => {
  const scans = await aroundMidnight();
  const now_ms = (scans.at(-1)?.time_ms ?? 0) + 60_000;
  const root = await publishedRoot(t, scans.slice(0, 3));
  const { services } = await watching(t, root, await scratch(t, 'records'), now_ms);
  await untilMatched(services, 3);
  await subscribe(services, now_ms);
  await rename(root, `${root}-away`);
  await services.catalog.refresh();
  t.not(services.catalog.failure(), null);
  await ingest(`${root}-away`, scans.slice(3), {});
  t.deepEqual(await services.records.reader.selectFrom('alerts').selectAll().execute(), []);
  await rename(`${root}-away`, root);
  await untilMatched(services, scans.length);
  const alerts = await services.records.reader.selectFrom('alerts').select(['status', 'scan_id']).execute();
  t.deepEqual(alerts, [{ status: 'open', scan_id: scans[3]?.scan_id ?? '' }]);
});
