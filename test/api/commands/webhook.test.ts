import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createSubscription } from '../../../api/alerts/subscriptions.ts';
import { createWatch } from '../../../api/alerts/watch.ts';
import { openRecords, type Records } from '../../../api/billing/records.ts';
import { openSecrets, type Secrets } from '../../../api/records/secrets.ts';
import { openQueue } from '../../../api/records/tasks.ts';
import { recordAttempt } from '../../../api/webhooks/attempts.ts';
import { openWebhookClient, postSigned } from '../../../api/webhooks/client.ts';
import { EARLIER_SAMPLES, SAMPLES } from '../../../api/webhooks/event-samples.ts';
import { enqueueEvent } from '../../../api/webhooks/events.ts';
import { FORMATS } from '../../../api/webhooks/formats.ts';
import { findReceiver, insertWebhook, setReceiverStatus } from '../../../api/webhooks/receivers.ts';
import { secretsInForce } from '../../../api/webhooks/signing-secrets.ts';
import { timestamp } from '../../../schemas/time.ts';
import { EVENT_TYPES } from '../../../schemas/webhook-events.ts';
import { EPISODE, editionOf, HAIL_AT, MINUTE_MS, START_MS, watchPartsOf } from '../../support/data/alert-scans.ts';
import { BARE_ENVIRONMENT } from '../../support/kill/bare-environment.ts';
import { type Operator, operator } from '../../support/service/run-command.ts';

/** Works on the records of an operator as the service does. */
async function asService<Result>(
  { config }: Operator,
  work: (records: Records, secrets: Secrets) => Promise<Result>,
): Promise<Result> {
  const records = await openRecords(config);
  try {
    return await work(records, await openSecrets(records.store, { records_root: config.data_root, ...config }));
  } finally {
    await records.close();
  }
}

/** A business with a webhook. */
async function withWebhook(given: Operator): Promise<{ id: string; secret: string; business_id: string }> {
  const { id: business_id } = await given.json('business', 'create', 'acme');
  return await asService(given, (records, secrets) =>
    records.transaction(async (rows) => {
      const writer = { rows, business_id: String(business_id), now_ms: given.config.now_ms };
      const wanted = { url: 'https://hooks.example.com/hail?token=s3cret', events: EVENT_TYPES };
      const made = await insertWebhook(writer, secrets, wanted, 10);
      if (made === null) throw new Error('there is no room for a webhook');
      return { id: made.webhook.id, secret: made.secret, business_id: String(business_id) };
    }),
  );
}

/** The secrets of a receiver that sign at an instant of the machine's clock, newest first. */
async function signingSecrets(given: Operator, id: string, at_ms: number): Promise<readonly string[]> {
  return await asService(given, async (records, secrets) => {
    const receiver = await findReceiver(records.reader, id);
    return receiver === null ? [] : secretsInForce(receiver, secrets, at_ms);
  });
}

const REPORTS = { failed: () => {}, troubled: () => {} };

/** One event that was tried once and failed. */
async function failedEvent(given: Operator, receiver: string, business_id: string): Promise<string> {
  return await asService(given, async (records) => {
    const queue = openQueue(records.store, REPORTS);
    const outbox = { queue, store: records.store, time_scale: 1, now_ms: given.config.now_ms };
    return await records.transaction(async (rows) => {
      const about = { business_id, receivers: [receiver], event: 'alert.created', data: {}, alert_id: null } as const;
      const [message_id = ''] = await enqueueEvent(rows, outbox, { ...about, after: null, at_ms: 0 });
      const times = { started_ms: Date.now(), duration_ms: 0 };
      const failed = {
        status_code: null,
        error_class: 'blocked' as const,
        error: 'is not public',
        answer: '',
        retry_after_ms: null,
      };
      await recordAttempt(rows, outbox, { message_id, receiver_id: receiver, attempt: 1, ...times, ...failed });
      return message_id;
    });
  });
}

test.serial('lists receivers with their state, and no password of an address', async (t) => {
  const given = operator(t);
  const { id } = await withWebhook(given);
  t.deepEqual((await given.json('webhook', 'list')).receivers, [
    {
      kind: 'webhook',
      id,
      business: 'acme',
      url: 'https://hooks.example.com/hail',
      status: 'active',
      consecutive_failures: 0,
      inactive_since: null,
    },
  ]);
  t.regex((await given.run('webhook', 'list', 'acme')).out, /^kind +id .*\nwebhook +wh_\S+ +acme +https:\S+ +active/);
  t.is((await given.run('webhook', 'list', 'nobody')).code, 3);
});

test.serial('rotate-secret shows the new secret once, and the old one signs beside it for its grace', async (t) => {
  const given = operator(t);
  const { id, secret: old } = await withWebhook(given);
  const { secret, old_secret_until } = await given.json('webhook', 'rotate-secret', id, '--grace', '1h');
  const secretsAt = (at_ms: number) => signingSecrets(given, id, at_ms);
  const until_ms = Date.parse(String(old_secret_until));
  t.deepEqual(await secretsAt(until_ms - 1), [secret, old]);
  t.deepEqual(await secretsAt(until_ms), [secret]);
  t.false((await given.run('business', 'audit')).out.includes(String(secret)));
  await given.json('webhook', 'rotate-secret', id, '--grace', '0');
  t.is((await secretsAt(0))?.length, 1);
});

test.serial(
  'a second rotate-secret within the grace leaves the first its own, and a fourth secret is refused',
  async (t) => {
    const given = operator(t);
    const { id, secret: first } = await withWebhook(given);
    const rotated = await given.json('webhook', 'rotate-secret', id, '--grace', '2h');
    const again = await given.json('webhook', 'rotate-secret', id, '--grace', '1h');
    const signing = (at_ms: number) => signingSecrets(given, id, at_ms);
    const [second, third] = [String(rotated.secret), String(again.secret)];
    const [second_until_ms, first_until_ms] = [again, rotated].map((each) => Date.parse(String(each.old_secret_until)));
    t.deepEqual(again.older_secrets_until, [rotated.old_secret_until]);
    t.deepEqual(await signing(Date.now()), [third, second, first]);
    t.deepEqual(await signing(second_until_ms ?? 0), [third, first]);
    t.deepEqual(await signing(first_until_ms ?? 0), [third]);

    const { code, err } = await given.run('webhook', 'rotate-secret', id);
    t.is(code, 4);
    t.regex(
      err,
      /has 3 secrets that sign, expected at most 2 before a new one: the first ends at \S+Z, and --grace 0 ends/,
    );
    t.deepEqual(await signing(Date.now()), [third, second, first]);
    t.is((await given.run('webhook', 'rotate-secret', id, '--grace', '0')).code, 0);
    t.is((await signing(Date.now()))?.length, 1);
  },
);

test.serial('enable sets a disabled webhook to active, and recover sends what it was given up', async (t) => {
  const given = operator(t);
  const { id, business_id } = await withWebhook(given);
  const event_id = await failedEvent(given, id, business_id);
  await asService(given, (records) =>
    records.transaction((rows) => setReceiverStatus(rows, { kind: 'webhook', id }, 'disabled', given.config.now_ms)),
  );
  t.regex((await given.run('webhook', 'recover', id, '--since', '2026-01-01')).err, /is disabled, expected active/);
  t.like(await given.json('webhook', 'enable', id), { changed: true });
  t.like(await given.json('webhook', 'enable', id), { changed: false });
  t.like(await given.json('webhook', 'recover', id, '--since', '2026-01-01'), { dropped: 1, overdue: 0 });
  await asService(given, async ({ reader }) => {
    t.like(await reader.selectFrom('messages').selectAll().executeTakeFirst(), {
      id: event_id,
      state: 'pending',
      attempts: 1,
      attempts_before: 1,
    });
    const tasks = await reader.selectFrom('tasks').select('payload').execute();
    t.true(tasks.some(({ payload }) => payload === JSON.stringify({ push_id: event_id, attempt: 2 })));
  });
});

const WANTED = { name: '', ...HAIL_AT, radius_km: 25, min_size_mm: 25, webhook_url: 'https://x.example', secret: '' };

test.serial(
  'recover sends the alerts that were raised while a webhook was paused, also from scans before, each created before its resolved',
  async (t) => {
    const given = operator(t);
    const { id, business_id } = await withWebhook(given);
    const since = timestamp(Date.now());
    await asService(given, async (records) => {
      await records.transaction(async (rows) => {
        await createSubscription({ rows, business_id, now_ms: START_MS }, WANTED, 1);
        await setReceiverStatus(rows, { kind: 'webhook', id }, 'paused', START_MS);
      });
      for (const [k, { minute }] of EPISODE.entries()) {
        const watch = createWatch(watchPartsOf(records, { now: () => START_MS + minute * MINUTE_MS }));
        await watch(editionOf(EPISODE.slice(0, k + 1)));
      }
    });
    await given.json('webhook', 'enable', id);
    t.like(await given.json('webhook', 'recover', id, '--since', since), { dropped: 2 });
    await asService(given, async ({ reader }) => {
      const own = reader.selectFrom('messages').selectAll().where('receiver_id', '=', id).orderBy('id');
      const messages = await own.execute();
      t.deepEqual(
        messages.map(({ event, state, after_id }) => [event, state, after_id]),
        [
          ['alert.created', 'pending', null],
          ['alert.resolved', 'waiting', messages[0]?.id],
        ],
      );
    });
    t.like(await given.json('webhook', 'recover', id, '--since', since), { dropped: 0 });
  },
);

test.serial('rotate-secret says of a subscription that it is none', async (t) => {
  const given = operator(t);
  const { business_id } = await withWebhook(given);
  const made = await asService(given, (records) =>
    records.transaction((rows) => createSubscription({ rows, business_id, now_ms: given.config.now_ms }, WANTED, 1)),
  );
  const id = made?.id ?? '';
  const { code, err } = await given.run('webhook', 'rotate-secret', id);
  t.deepEqual([code, err], [2, `hail-api: ${id} is a subscription, expected a webhook: a new one has a new secret\n`]);
  t.is((await given.run('webhook', 'rotate-secret', 'wh_x')).code, 3);
});

test.serial('doctor finds overdue deliveries and a key file that others may read', async (t) => {
  const given = operator(t);
  const { id, business_id } = await withWebhook(given);
  await failedEvent(given, id, business_id);
  mkdirSync(given.path('tables'));
  mkdirSync(given.path('manifests'));
  const sound = await given.run('doctor');
  t.deepEqual([sound.out.match(/^fault.*$/gm), sound.code], [null, 0]);
  await asService(given, (records) =>
    records.transaction(async (rows) => {
      await rows.updateTable('messages').set({ next_at: '2026-01-01T00:00:00.000Z' }).execute();
    }),
  );
  chmodSync(given.path('records/master.key'), 0o644);
  const { code, out } = await given.run('doctor');
  t.is(code, 5);
  t.regex(out, /fault {2}deliveries: an event for wh_\S+ is due since 2026-01-01/);
  t.regex(out, /fault {2}master key: \S+master\.key is 644, expected 600/);
});

test.serial('doctor finds that the master key is gone, or another one', async (t) => {
  const given = operator(t);
  const { id, secret } = await withWebhook(given);
  const [key, away] = [given.path('records/master.key'), given.path('away.key')];
  renameSync(key, away);
  const { code, out } = await given.run('doctor');
  t.is(code, 5);
  t.regex(out, /fault {2}master key: \S+master\.key: no such file, expected the master key that the records/);
  t.false(existsSync(key));
  writeFileSync(key, `${'0'.repeat(64)}\n`, { mode: 0o600 });
  t.regex((await given.run('doctor')).out, /fault {2}master key: records \S+: master key is \S+, expected /);
  renameSync(away, key);
  t.regex((await given.run('doctor')).out, /^ok {5}master key: stored secrets are under one that is here$/m);
  t.deepEqual(await signingSecrets(given, id, Date.now()), [secret]);
});

const ID = 'evt_01KAJ4D2M8N6P4R2T0V8X6Z4B2';
const AT_MS = Date.parse('2026-05-01T20:12:00Z');
const MAIN = fileURLToPath(new URL('../../../api/start.js', import.meta.url));

test.serial(
  'the listener takes events of both variants, counts repetitions, and refuses what its secrets did not sign',
  async (t) => {
    const given = operator(t);
    const { secret } = await withWebhook(given);
    const child = spawn(process.execPath, [MAIN, 'webhook', 'listen', '--port', '0', '--answer', '202'], {
      env: { ...BARE_ENVIRONMENT, HAIL_DATA: given.config.data_root },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const printed = text(child.stdout);
    let said = '';
    for await (const part of child.stderr.iterator({ destroyOnReturn: false })) {
      said += part;
      if (said.includes('HAIL_WEBHOOK_CA_FILE')) break;
    }
    const [, url, ca_file = ''] = /Listening at (\S+) .*CA_FILE=(\S+)/s.exec(said) ?? [];
    const client = openWebhookClient({ allow_cidrs: ['127.0.0.0/8'], ca_file, time_scale: 1 });
    t.teardown(() => client.close());
    const send = async (body: string, signed = secret) => {
      const message = { id: ID, event: 'alert.created', body };
      return (await postSigned(client, { url: `${url}depot?k=1`, secrets: [signed] }, message)).status_code;
    };
    const about = { id: ID, event: 'alert.created' as const, at_ms: AT_MS };
    const created = FORMATS.current.encode({
      ...about,
      data: { ...SAMPLES['alert.created'], location_name: '\u009b2J' },
    });
    const earlier = FORMATS.legacy.encode({ ...about, data: EARLIER_SAMPLES['alert.created'] });
    const statuses = [await send(created), await send(created), await send(earlier)];
    statuses.push(await send(created, 'whsec_b3RoZXI='), await send('{"id":1}'));
    t.deepEqual(statuses, [202, 202, 202, 401, 400]);
    child.kill('SIGTERM');
    const lines = (await printed).split('\n').filter((line) => line !== '');
    t.deepEqual(
      lines.flatMap((line) => /alert\.created {2}evt_\w+(.*)/.exec(line)?.[1] ?? []),
      [
        '  /depot?k=1  signature valid, answered 202',
        ', time 2  /depot?k=1  signature valid, answered 202',
        ', time 3  /depot?k=1  signature valid, answered 202',
        ', time 4  /depot?k=1  signature does not match secret and body, answered 401',
      ],
    );
    t.regex(lines[1] ?? '', /u\{9b\}2J/);
    t.is(lines[5], JSON.stringify(EARLIER_SAMPLES['alert.created']));
  },
);
