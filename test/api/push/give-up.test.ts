import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { spoolPath } from '../../../api/push/mail.ts';
import { markEarlierReceiver } from '../../../api/records/earlier-receivers.ts';
import { setMember } from '../../../api/records/members.ts';
import { departuresOfEvent } from '../../support/data/described-events.ts';
import { SERVICE_NOW_MS } from '../../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../../support/service/test-with.ts';
import {
  answerOf,
  happen,
  makeWebhook,
  runTasks,
  sending,
  startWebhookService,
  WEBHOOKS,
  type WebhookService,
} from '../../support/service/webhooks.ts';

const test = testWith(startWebhookService, closeWithoutFailures);

const TEAM = [
  ['admin@example.com', 'admin'],
  ['manager@example.com', 'manager'],
  ['member@example.com', 'member'],
] as const;

async function hireTeam({ records }: WebhookService): Promise<void> {
  const { id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  for (const [email, role] of TEAM)
    await records.transaction((rows) => setMember(rows, { id, name: 'default' }, email, role, SERVICE_NOW_MS));
}

async function makeEarlier({ records }: WebhookService, { webhook_id }: { webhook_id: string }): Promise<void> {
  const { id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  await records.transaction((rows) => markEarlierReceiver(rows, webhook_id, id));
}

/** Events whose first attempt fails, and nothing else is run. */
async function failing(service: WebhookService, receiver: string, events: number): Promise<void> {
  for (let k = 0; k < events; k++) {
    await happen(service, [receiver]);
    await runTasks(service);
  }
}

/** Mail in the spool: recipient, subject, text; by recipient and subject. */
function mailOf({ records }: WebhookService): readonly { to: string; subject: string; text: string }[] {
  const folder = spoolPath(dirname(dirname(records.store.name)));
  return readdirSync(folder)
    .map((name) => readFileSync(`${folder}/${name}`, 'utf8'))
    .map((text) => ({
      to: /^To: (.*)\r$/m.exec(text)?.[1] ?? '',
      subject: /^Subject: (.*(?:\r\n .*)*)\r$/m.exec(text)?.[1]?.replaceAll('\r\n', '') ?? '',
      text,
    }))
    .sort((a, b) => (a.to + a.subject < b.to + b.subject ? -1 : 1));
}

test('ten distinct events in a row that fail disable a webhook once, tell the others and mail admins and managers', async (t) => {
  await hireTeam(t.context);
  const broken = await makeWebhook(t.context, { url: 'https://broken.example.com/in?token=s3cret' });
  const other = await makeWebhook(t.context, { url: 'https://other.example.com' });
  await makeWebhook(t.context, { url: 'https://deaf.example.com', events: ['alert.created'] });
  const paused = await makeWebhook(t.context, { url: 'https://paused.example.com' });
  await answerOf(t.context, `${WEBHOOKS}/${paused.webhook_id}`, sending('PUT', { status: 'paused' }));
  // The earlier variant has no such event, whatever the row asks for.
  await makeEarlier(t.context, await makeWebhook(t.context, { url: 'https://earlier.example.com' }));
  t.context.receivers.answer = ({ url }) => (url.startsWith('https://broken.') ? 503 : 200);
  await failing(t.context, broken.webhook_id, 9);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${broken.webhook_id}`), {
    body: { status: 'active', consecutive_failures: 9 },
  });
  await failing(t.context, broken.webhook_id, 2);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${broken.webhook_id}`), {
    body: { status: 'disabled', consecutive_failures: 10 },
  });
  while ((await runTasks(t.context)) > 0);

  const told = t.context.receivers.received.filter(({ body }) => body.event === 'webhook.disabled');
  for (const { text } of told) t.deepEqual(departuresOfEvent('current', text), []);
  t.deepEqual(
    told.map(({ url }) => url),
    ['https://other.example.com'],
  );
  t.like(told[0]?.body.data, {
    webhook_id: broken.webhook_id,
    url: 'https://broken.example.com/in',
    reason: 'consecutive_failures',
    consecutive_failures: 10,
    last_status_code: 503,
    last_error: 'http_status',
  });
  const history = await answerOf(t.context, `${WEBHOOKS}/${other.webhook_id}/deliveries`);
  t.like((history.body.deliveries as unknown[])[0], { event: 'webhook.disabled', success: true });
  const mail = mailOf(t.context);
  t.deepEqual(
    mail.map(({ to, subject }) => [to, subject]),
    ['admin@example.com', 'manager@example.com']
      .flatMap((to) => [
        [to, `hail: deliveries to webhook ${broken.webhook_id} fail`],
        [to, `hail: webhook ${broken.webhook_id} was disabled`],
      ])
      .sort(),
  );
  t.false(mail.some(({ text }) => text.includes('s3cret')));
});

test('the retries of one event count as one failure', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 500;
  await happen(t.context, [webhook_id]);
  while ((await runTasks(t.context)) > 0);
  t.is(t.context.receivers.received.length, 6);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), {
    body: { status: 'active', consecutive_failures: 1, failure_count: 6 },
  });
});

test('an event that succeeds begins the count anew', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 500;
  await failing(t.context, webhook_id, 9);
  t.context.receivers.answer = () => 200;
  await happen(t.context, [webhook_id]);
  await runTasks(t.context);
  t.context.receivers.answer = () => 500;
  await failing(t.context, webhook_id, 1);
  t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), {
    body: { status: 'active', consecutive_failures: 1 },
  });
});

test('what was dropped when a webhook was disabled cannot disable it again', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 500;
  await failing(t.context, webhook_id, 10);
  const path = `${WEBHOOKS}/${webhook_id}`;
  t.like(await answerOf(t.context, path), { body: { status: 'disabled' } });
  await answerOf(t.context, path, sending('PUT', { status: 'active' }));
  const before = t.context.receivers.received.length;
  while ((await runTasks(t.context)) > 0);
  t.is(t.context.receivers.received.length, before);
  t.like(await answerOf(t.context, path), { body: { status: 'active', consecutive_failures: 0 } });
});

test('ten distinct events that fail pause a subscription, close its open alert and mail the team', async (t) => {
  await hireTeam(t.context);
  const { records, services } = t.context;
  const { id: business_id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  const at = new Date(SERVICE_NOW_MS).toISOString();
  const location = { name: 'North\r\nBcc: x@example.com', lat: 35, lon: -97 };
  await records.transaction(async (rows) => {
    const counters = {
      trigger_count: 1,
      last_triggered_at: at,
      consecutive_failures: 0,
      warned_at: null,
      give_up_mailed_at: null,
    };
    const subscription = { id: 'sub_1', business_id, ...location, radius_km: 25, min_size_mm: 25, ...counters };
    await rows
      .insertInto('subscriptions')
      .values({
        ...subscription,
        webhook_url: 'https://broken.example.com',
        secret: services.secrets.encrypt('whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y='),
        status: 'active',
        version: 1,
        created_at: at,
        updated_at: at,
      })
      .execute();
    const sizes = { estimated_size_mm: 30, max_size_mm: 30, confidence: 0.5, distance_km: 1 };
    const of = {
      business_id,
      location_id: 'sub_1',
      location_kind: 'subscription',
      location_name: location.name,
      location_version: 1,
      covered_blocks: null,
    } as const;
    const times = { triggered_at: at, last_seen_at: at, resolved_at: null, scan_id: '20260501T201200Z' };
    const alert = { id: 'alt_1', status: 'open', open_location: 'sub_1', lat: 35, lon: -97, track_id: null } as const;
    await rows
      .insertInto('alerts')
      .values({ ...alert, ...of, ...sizes, ...times, data_source: 'simulated' })
      .execute();
  });
  t.context.receivers.answer = () => 'timeout';
  await failing(t.context, 'sub_1', 10);
  while ((await runTasks(t.context)) > 0);
  t.like(await records.reader.selectFrom('subscriptions').selectAll().executeTakeFirst(), {
    status: 'paused',
    consecutive_failures: 10,
  });
  t.like(await records.reader.selectFrom('alerts').selectAll().executeTakeFirst(), {
    status: 'closed',
    open_location: null,
  });
  t.is(mailOf(t.context).filter(({ subject }) => subject === 'hail: subscription sub_1 was paused').length, 2);
});

test('a webhook that is enabled and fails again within an hour is disabled again, and the team is not mailed again', async (t) => {
  await hireTeam(t.context);
  const { webhook_id } = await makeWebhook(t.context, { url: 'https://broken.example.com' });
  t.context.receivers.answer = () => 503;
  for (const _ of [1, 2]) {
    await failing(t.context, webhook_id, 10);
    t.like(await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`), { body: { status: 'disabled' } });
    await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, sending('PUT', { status: 'active' }));
  }
  while ((await runTasks(t.context)) > 0);
  t.deepEqual(
    mailOf(t.context).map(({ to, subject }) => [to, subject.includes('disabled') ? 'disabled' : 'warning']),
    [
      ['admin@example.com', 'warning'],
      ['admin@example.com', 'disabled'],
      ['manager@example.com', 'warning'],
      ['manager@example.com', 'disabled'],
    ],
  );
});
