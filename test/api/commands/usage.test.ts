import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { openRecords } from '../../../api/records/open.ts';
import type { Records } from '../../../api/records/records.ts';
import { type Operator, operator } from '../../support/service/run-command.ts';

/** A business with a key and one charge of 15 credits. */
async function charged({ json, config }: Operator): Promise<void> {
  await json('business', 'create', 'acme');
  const { business_id, id } = await json('key', 'create', 'acme', '--live');
  await within(config, (records) =>
    records.charge({
      business_id: String(business_id),
      key_id: String(id),
      operation: 'hail.current',
      credits: 15,
      count: 1,
      at_ms: config.now_ms,
    }),
  );
}

async function within<T>(config: Operator['config'], work: (records: Records) => Promise<T>): Promise<T> {
  const records = await openRecords(config);
  try {
    return await work(records);
  } finally {
    await records.close();
  }
}

test.serial('usage shows a month, and an adjustment with its reason', async (t) => {
  const it = operator(t);
  await charged(it);
  t.like(await it.json('usage', 'show', 'acme'), { period: '2026-05', used: 15, total_requests: 1 });
  const { code, out } = await it.run('usage', 'adjust', 'acme', '--reason', 'outage', '--', '-5');
  t.deepEqual([code, out], [0, 'acme now has used 10 credits this month.\n']);
  t.like(await it.json('usage', 'show', 'acme', '--period', '2026-04'), { used: 0 });
  const { acts } = await it.json('business', 'audit', 'acme');
  t.like((acts as object[]).at(-1), {
    act: 'usage.adjust',
    detail: { credits: -5, reason: 'outage', period: '2026-05' },
  });
  t.is((await it.run('usage', 'adjust', 'acme', '5')).code, 2);
  t.like(await it.run('usage', 'adjust', 'acme', '--reason', 'half', '1.5'), {
    code: 2,
    err: "hail-api: Found '1.5', expected a whole number from -1000000000 to 1000000000.\n",
  });
  t.is((await it.run('usage', 'adjust', 'acme', '0', '--reason', 'none')).code, 2);
  t.is((await it.run('usage', 'show', 'acme', '--period', '2026-13')).code, 2);
});

test.serial('an adjustment without a reason that says something is refused, and nothing is written', async (t) => {
  const it = operator(t);
  await charged(it);
  for (const reason of ['', '   ', '\t\n', 'x'.repeat(501)])
    t.is((await it.run('usage', 'adjust', 'acme', '5', '--reason', reason)).code, 2);
  t.like(await it.json('usage', 'show', 'acme'), { used: 15 });
  await it.json('usage', 'adjust', 'acme', '5', '--reason', '  outage ');
  const { acts } = await it.json('business', 'audit', 'acme');
  t.like((acts as object[]).at(-1), { detail: { reason: 'outage' } });
});

test.serial('verify and doctor end with 5 when somebody changed a sum, and name it', async (t) => {
  const it = operator(t);
  await charged(it);
  t.is((await it.run('usage', 'verify')).code, 0);
  t.is((await it.run('doctor')).code, 0);
  await within(it.config, (records) =>
    records.transaction((rows) => rows.updateTable('periods').set({ used: 14 }).execute()),
  );
  const verified = await it.run('usage', 'verify');
  t.is(verified.code, 5);
  t.regex(verified.out, /2026-05: used says 14, the ledger 15/);
  const doctor = await it.run('doctor');
  t.is(doctor.code, 5);
  t.regex(doctor.out, /^fault {2}ledger: /m);
});

test.serial('doctor finds records that others may read, and observed data that are old', async (t) => {
  const it = operator(t);
  await charged(it);
  chmodSync(it.path('records/hail.sqlite'), 0o644);
  const current = {
    manifest_version: 1,
    scan_id: '20260520T113000Z',
    data_timestamp: '2026-05-20T11:30:00Z',
    data_as_of: '2026-05-20T11:31:00Z',
    source: 'observed',
    open_dates: {},
    live: { detections: 'd', cells: 'c', tracks: 't', first_scan: '20260520T113000Z' },
  };
  mkdirSync(it.config.data_root, { recursive: true });
  writeFileSync(join(it.config.data_root, 'current.json'), JSON.stringify(current));
  const { code, out } = await it.run('doctor');
  t.is(code, 5);
  t.regex(out, /fault {2}file mode: .*hail\.sqlite is 644, expected at most 600/);
  t.regex(out, /fault {2}data: newest scan 20260520T113000Z \(observed\) is 30 minutes old/);
});
