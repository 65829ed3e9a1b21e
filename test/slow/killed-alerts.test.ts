import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createBusiness } from '../../api/accounts/businesses.ts';
import { SELF_HOSTED } from '../../api/accounts/plans.ts';
import { createSubscription } from '../../api/alerts/subscriptions.ts';
import { createWatch } from '../../api/alerts/watch.ts';
import { type Records, recordsOver } from '../../api/billing/records.ts';
import { openDatabase } from '../../api/records/database.ts';
import { EPISODE, editionOf, HAIL_AT, MINUTE_MS, START_MS, watchPartsOf } from '../support/data/alert-scans.ts';
import { scratch } from '../support/data/world.ts';

const CHILD = fileURLToPath(new URL('../support/kill/alerts-child.ts', import.meta.url));
/** More statements than an episode takes. */
const STATEMENTS_MAX = 300;
/** Between one death and the next, so that over the deaths every kind of statement is the last one. */
const STEP = 4;

async function subscribe(records: Records): Promise<void> {
  await records.transaction(async (rows) => {
    const business = await createBusiness(rows, 'acme', SELF_HOSTED, START_MS);
    const wanted = { name: '', ...HAIL_AT, radius_km: 25, min_size_mm: 25 };
    const owner = { rows, business_id: business?.id ?? '', now_ms: START_MS };
    const webhook = { webhook_url: 'https://hooks.example.com', secret: 'sealed' };
    await createSubscription(owner, { ...wanted, ...webhook }, 100);
  });
}

/** True when the child was killed before it got through. */
async function dies(path: string, statements: number): Promise<boolean> {
  const child = spawn(process.execPath, [CHILD, path, String(statements)], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code, signal] = await once(child, 'exit');
  if (signal === null && code !== 0) throw new Error(`the child ended with ${code}`);
  return signal === 'SIGKILL';
}

test('a process killed anywhere in an episode leaves one created and one resolved when another goes on', async (t) => {
  let died = 0;
  let whole = false;
  for (let statements = 1; !whole && statements < STATEMENTS_MAX; statements += STEP) {
    const path = await scratch(t, 'hail.sqlite');
    let now_ms = START_MS;
    const before = await recordsOver(openDatabase({ path }), { now: () => now_ms });
    await subscribe(before);
    await before.close();
    if (await dies(path, statements)) died += 1;
    else whole = true;
    const records = await recordsOver(openDatabase({ path }), { now: () => now_ms });
    const watch = createWatch(watchPartsOf(records, { now: () => now_ms }));
    for (const [at, { minute }] of EPISODE.entries()) {
      now_ms = START_MS + (minute + 1) * MINUTE_MS;
      await watch(editionOf(EPISODE.slice(0, at + 1)));
    }
    const alerts = await records.reader
      .selectFrom('alerts')
      .innerJoin('subscriptions', 'subscriptions.id', 'location_id')
      .select(['alerts.status', 'trigger_count'])
      .execute();
    const messages = await records.reader.selectFrom('messages').select(['event', 'state']).orderBy('id').execute();
    const tasks = await records.reader.selectFrom('tasks').select('payload').execute();
    await records.close();
    t.deepEqual(alerts, [{ status: 'resolved', trigger_count: 1 }], `after ${statements} statements`);
    const states = messages.map(({ event, state }) => `${event} ${state}`);
    t.deepEqual(states, ['alert.created pending', 'alert.resolved waiting'], `after ${statements} statements`);
    t.is(tasks.length, 1);
  }
  t.true(whole);
  t.true(died > 10, `died ${died} times`);
});
