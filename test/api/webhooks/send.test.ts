import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { setMember } from '../../../api/accounts/businesses.ts';
import { type Mail, openMailer, sendMail } from '../../../api/accounts/mail.ts';
import { matchScan, POINT_AREA_RADIUS_KM, type WatchedPlace } from '../../../api/alerts/places.ts';
import { createSubscription } from '../../../api/alerts/subscriptions.ts';
import { CommitFailed } from '../../../api/records/errors.ts';
import type { Queue } from '../../../api/records/tasks.ts';
import { openWebhookClient } from '../../../api/webhooks/client.ts';
import { deliverMessage, startDeliveryWorker } from '../../../api/webhooks/delivery-worker.ts';
import { SAMPLES } from '../../../api/webhooks/event-samples.ts';
import { enqueueEvent } from '../../../api/webhooks/events.ts';
import { FORMATS } from '../../../api/webhooks/formats.ts';
import { findMessage, sweepMessages } from '../../../api/webhooks/messages.ts';
import { findReceiver, setReceiverFormat } from '../../../api/webhooks/receivers.ts';
import { recover } from '../../../api/webhooks/recover.ts';
import { signatureFault } from '../../../api/webhooks/signature.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { boxRing, type Position } from '../../../schemas/geo/position.ts';
import type { Ring } from '../../../schemas/geo/rings.ts';
import { EarlierEventBody } from '../../../schemas/webhook-events.ts';
import { departuresOfEvent } from '../../support/data/described-events.ts';
import { positionsOf } from '../../support/data/rings.ts';
import { pluck } from '../../support/data/rows.ts';
import { raise } from '../../support/service/alerts.ts';
import { startReceiver } from '../../support/service/receiver.ts';
import { SERVICE_NOW_MS, serviceFor } from '../../support/service/service.ts';
import { closeWithoutFailures, testWith } from '../../support/service/test-with.ts';
import {
  answerOf,
  happen,
  makeWebhook,
  runTasks,
  sending as sendingJson,
  startWebhookService,
  WEBHOOKS,
  type WebhookService,
} from '../../support/service/webhooks.ts';
import { until } from '../../support/until.ts';

type ScanHail = Parameters<typeof matchScan>[1];

const testHooks = testWith(startWebhookService, closeWithoutFailures);

async function webhookOf(service: Parameters<typeof answerOf>[0], id: string) {
  return (await answerOf(service, `${WEBHOOKS}/${id}`)).body;
}

/** A service that sends to a receiver on this machine, its waits a thousandth of the usual ones. */
async function sending(t: ExecutionContext) {
  const receiver = await startReceiver(t);
  const webhookClient = openWebhookClient({ allow_cidrs: ['127.0.0.0/8'], ca_file: receiver.ca_file, time_scale: 1 });
  const service = await serviceFor(t, { webhookClient });
  const stop = startDeliveryWorker({ ...service.services, webhook_time_scale: 0.001 });
  t.teardown(async () => {
    await stop();
    webhookClient.close();
  });
  return { receiver, service };
}

test('a delivery over TLS carries both signatures, which receivers and Standard Webhooks verify', async (t) => {
  const { receiver, service } = await sending(t);
  const { webhook_id, secret } = await makeWebhook(service, { url: receiver.url });
  const [event_id = ''] = await happen(service, [webhook_id]);
  await until(() => receiver.received.length === 1);
  const [received] = receiver.received;
  if (received === undefined) throw new Error('nothing was received');
  const { headers, body } = received;
  t.is(received.method, 'POST');
  t.is(signatureFault(String(headers['x-service-signature']), body, secret, Date.now()), null);
  t.like(new StandardWebhook(secret).verify(body, headers as Record<string, string>), {
    id: event_id,
    schema_version: 1,
    event: 'alert.created',
  });
  t.like(headers, { 'x-service-event': 'alert.created', 'x-service-delivery-id': event_id, 'webhook-id': event_id });
  t.regex(String(headers['user-agent']), /^hail-webhooks\/\d/);
  t.is(headers['content-type'], 'application/json');
});

test('a failed delivery is sent again with the same bytes until it is taken', async (t) => {
  const { receiver, service } = await sending(t);
  const { webhook_id } = await makeWebhook(service, { url: receiver.url });
  receiver.answer = (_, response) => {
    response.writeHead(receiver.received.length < 3 ? 503 : 200).end();
  };
  await happen(service, [webhook_id]);
  await until(() => receiver.received.length === 3);
  t.is(new Set(receiver.received.map(({ body }) => body)).size, 1);
  await until(async () => (await service.records.reader.selectFrom('tasks').select('id').execute()).length === 0);
  t.like(await webhookOf(service, webhook_id), { success_count: 1, failure_count: 2 });
});

test('what nobody takes is dropped after the sixth attempt, and only then what waits for it is sent', async (t) => {
  const { receiver, service } = await sending(t);
  const { webhook_id } = await makeWebhook(service, { url: receiver.url });
  receiver.answer = ({ headers }, response) => {
    response.writeHead(headers['x-service-event'] === 'alert.created' ? 500 : 200).end();
  };
  await happen(service, [webhook_id], { alert_id: 'alt_1' });
  await happen(service, [webhook_id], { event: 'alert.resolved', alert_id: 'alt_1', after: 'alert.created' });
  await until(() => receiver.received.length === 7);
  const events = receiver.received.map(({ headers }) => headers['x-service-event']);
  t.deepEqual(events, [...Array(6).fill('alert.created'), 'alert.resolved']);
});

test('receivers that do not answer hold up no other, and get four events at a time', async (t) => {
  const { receiver, service } = await sending(t);
  const silent: ServerResponse[] = [];
  receiver.answer = ({ path }, response) => {
    if (path === '/silent') silent.push(response);
    else response.end();
  };
  const slow = await makeWebhook(service, { url: receiver.url.replace('/hook', '/silent') });
  const { webhook_id } = await makeWebhook(service, { url: receiver.url });
  for (let k = 0; k < 8; k++) await happen(service, [slow.webhook_id]);
  await until(() => silent.length === 4);
  await happen(service, [webhook_id]);
  await until(() => receiver.received.some(({ path }) => path === '/hook'));
  t.is(silent.length, 4);
  receiver.answer = (_, response) => response.end();
  for (const response of silent) response.end();
});

testHooks('a task that comes again finds its attempt made, and sends and records nothing', async (t) => {
  const service = t.context;
  const { webhook_id } = await makeWebhook(service);
  await happen(service, [webhook_id]);
  const tasks = await service.records.reader.selectFrom('tasks').selectAll().execute();
  t.is(await runTasks(service), 1);
  await service.records.transaction((rows) => rows.insertInto('tasks').values(tasks).execute());
  t.is(await runTasks(service), 1);
  t.is(service.receivers.received.length, 1);
  t.like(await webhookOf(service, webhook_id), { success_count: 1 });
});

testHooks(
  'what is written for a receiver that was just paused or deleted is given up, and leaves nothing that waits',
  async (t) => {
    const service = t.context;
    const { webhook_id } = await makeWebhook(service);
    for (const receiver of [webhook_id, 'wh_deleted']) {
      await happen(service, [receiver], { alert_id: 'alt_1' });
      await happen(service, [receiver], { event: 'alert.resolved', alert_id: 'alt_1', after: 'alert.created' });
    }
    await service.records.transaction((rows) => rows.updateTable('webhooks').set({ status: 'paused' }).execute());
    while ((await runTasks(service)) > 0);
    const messages = await service.records.reader.selectFrom('messages').selectAll().execute();
    const givenUp = messages.map(({ receiver_id, state }) => [receiver_id, state]);
    t.deepEqual(givenUp, Array(2).fill([webhook_id, 'dropped']));
    t.is(service.receivers.received.length, 0);
  },
);

testHooks('events of which no delivery is kept are swept once they are old', async (t) => {
  const { reader, transaction } = t.context.records;
  const { webhook_id } = await makeWebhook(t.context);
  const before_ms = Date.now();
  const [kept = '', swept = ''] = [await happen(t.context, [webhook_id]), await happen(t.context, [webhook_id])].flat();
  await runTasks(t.context);
  const [pending = ''] = await happen(t.context, [webhook_id]);
  await transaction((rows) => rows.deleteFrom('attempts').where('event_id', '=', swept).execute());
  const left = async () =>
    (await reader.selectFrom('messages').select('id').orderBy('id').execute()).map(({ id }) => id);
  t.is(await transaction((rows) => sweepMessages(rows, before_ms, 10)), 0);
  t.deepEqual(await left(), [kept, swept, pending]);
  t.is(await transaction((rows) => sweepMessages(rows, Date.now() + 1, 0)), 0);
  t.is(await transaction((rows) => sweepMessages(rows, Date.now() + 1, 10)), 1);
  t.deepEqual(await left(), [kept, pending]);
});

testHooks('the next attempt is kept in the records with its time, which a restart does not change', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  await happen(t.context, [webhook_id]);
  t.context.receivers.answer = () => ({ status_code: 503, error_class: 'http_status', retry_after_ms: 90_000 });
  await runTasks(t.context);
  const { reader } = t.context.records;
  const [task] = await reader.selectFrom('tasks').selectAll().execute();
  const [push] = await reader.selectFrom('messages').selectAll().execute();
  const [delivery] = await reader.selectFrom('attempts').selectAll().execute();
  const ended_ms = Date.parse(delivery?.created_at ?? '') + (delivery?.duration_ms ?? 0);
  t.true(Math.abs((task?.due_ms ?? 0) - ended_ms - 90_000) < 100);
  t.is(push?.next_at, new Date(ended_ms + 90_000).toISOString());
  t.is(delivery?.next_retry_at, push?.next_at);
  t.like(JSON.parse(task?.payload ?? ''), { push_id: push?.id, attempt: 2 });
  t.is(task?.retry, 1);
});

testHooks('an attempt is recorded once the records can be written again', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  await happen(t.context, [webhook_id]);
  let refusals = 2;
  const { records } = t.context;
  const failing = {
    ...t.context.services,
    records: {
      ...records,
      transaction: (async (work) => {
        if (refusals-- > 0) throw new CommitFailed('the disk is full');
        return await records.transaction(work);
      }) as typeof records.transaction,
    },
  };
  const [task] = await records.reader.selectFrom('tasks').select('payload').execute();
  await deliverMessage(failing, { payload: JSON.parse(task?.payload ?? '') });
  t.is(t.context.receivers.received.length, 1);
  t.like(await webhookOf(t.context, webhook_id), { success_count: 1 });
});

test('a receiver of the earlier variant gets its payload, signed alike, and retries after 1 s, 30 s and 5 min and no others', async (t) => {
  const { receiver, service } = await sending(t);
  const { webhook_id, secret } = await makeWebhook(service, { url: receiver.url });
  const { id: business_id } = await service.records.reader
    .selectFrom('businesses')
    .select('id')
    .executeTakeFirstOrThrow();
  receiver.answer = (_, response) => {
    response.writeHead(503, { 'Retry-After': '7' }).end();
  };
  const [event_id = ''] = await service.records.transaction(async (rows) => {
    await setReceiverFormat(rows, webhook_id, 'legacy');
    const about = { business_id, receivers: [webhook_id], alert_id: null, after: null, at_ms: 0 };
    const data = SAMPLES.legacy['hail.detected'];
    return await enqueueEvent(
      rows,
      { queue: service.services.queue, store: service.records.store },
      { ...about, event: 'hail.detected', data },
      FORMATS.legacy,
    );
  });
  const dropped = async () => (await findMessage(service.records.reader, event_id))?.state === 'dropped';
  await until(dropped);
  t.is(receiver.received.length, 4);
  for (const { headers, body } of receiver.received) {
    t.like(headers, { 'x-service-event': 'hail.detected', 'x-service-delivery-id': event_id });
    t.is(signatureFault(String(headers['x-service-signature']), body, secret, Date.now()), null);
    t.deepEqual(EarlierEventBody.parse(JSON.parse(body)), {
      event: 'hail.detected',
      timestamp: '1970-01-01T00:00:00Z',
      data: SAMPLES.legacy['hail.detected'],
    });
  }
  const attempts = await service.records.reader
    .selectFrom('attempts')
    .select(['next_retry_at', 'created_at', 'duration_ms'])
    .where('receiver_id', '=', webhook_id)
    .orderBy('attempt')
    .execute();
  const waits_ms = attempts.map(({ next_retry_at, created_at, duration_ms }) =>
    next_retry_at === null ? null : Date.parse(next_retry_at) - Date.parse(created_at) - duration_ms,
  );
  t.deepEqual(waits_ms, [1, 30, 300, null]);

  receiver.answer = (_, response) => {
    response.writeHead(200).end();
  };
  t.like(await answerOf(service, `${WEBHOOKS}/${webhook_id}/test`, sendingJson('POST', {})), {
    body: { success: true },
  });
  t.like(JSON.parse(receiver.received.at(-1)?.body ?? ''), {
    event: 'alert.created',
    data: { test: true, storm_id: null },
  });
  t.like(
    await answerOf(service, `${WEBHOOKS}/${webhook_id}/test`, sendingJson('POST', { event: 'webhook.disabled' })),
    { status: 400 },
  );
});

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
  await records.transaction((rows) => setReceiverFormat(rows, webhook_id, 'legacy'));
}

/** Events whose first attempt fails, and nothing else is run. */
async function failing(service: WebhookService, receiver: string, events: number): Promise<void> {
  for (let k = 0; k < events; k++) {
    await happen(service, [receiver]);
    await runTasks(service);
  }
}

/** Folder of mail that has no server. */
const spoolPath = (records_root: string) => join(records_root, 'records', 'mail');

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

testHooks(
  'ten distinct events in a row that fail disable a webhook once, tell the others and mail admins and managers',
  async (t) => {
    await hireTeam(t.context);
    const broken = await makeWebhook(t.context, { url: 'https://broken.example.com/in?token=s3cret' });
    const other = await makeWebhook(t.context, { url: 'https://other.example.com' });
    await makeWebhook(t.context, { url: 'https://deaf.example.com', events: ['alert.created'] });
    const paused = await makeWebhook(t.context, { url: 'https://paused.example.com' });
    await answerOf(t.context, `${WEBHOOKS}/${paused.webhook_id}`, sendingJson('PUT', { status: 'paused' }));
    // The earlier variant has no such event, whatever the row asks for.
    await makeEarlier(t.context, await makeWebhook(t.context, { url: 'https://earlier.example.com' }));
    t.context.receivers.answer = ({ url }) => (url.startsWith('https://broken.') ? 503 : 200);
    await failing(t.context, broken.webhook_id, 9);
    t.like(await webhookOf(t.context, broken.webhook_id), { status: 'active', consecutive_failures: 9 });
    await failing(t.context, broken.webhook_id, 2);
    t.like(await webhookOf(t.context, broken.webhook_id), { status: 'disabled', consecutive_failures: 10 });
    while ((await runTasks(t.context)) > 0);

    const told = t.context.receivers.received.filter(({ body }) => body.event === 'webhook.disabled');
    for (const { text } of told) t.deepEqual(departuresOfEvent('current', text), []);
    t.deepEqual(pluck(told, 'url'), ['https://other.example.com']);
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
  },
);

testHooks('the retries of one event count as one failure', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 500;
  await happen(t.context, [webhook_id]);
  while ((await runTasks(t.context)) > 0);
  t.is(t.context.receivers.received.length, 6);
  t.like(await webhookOf(t.context, webhook_id), { status: 'active', consecutive_failures: 1, failure_count: 6 });
});

testHooks('an event that is recovered counts no second failure', async (t) => {
  const { records, services } = t.context;
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 500;
  await happen(t.context, [webhook_id]);
  while ((await runTasks(t.context)) > 0);
  await records.transaction(async (rows) => {
    const receiver = await findReceiver(rows, webhook_id);
    if (receiver === null) throw new Error(`${webhook_id} is gone`);
    const { queue } = services;
    await recover(rows, { queue, store: records.store }, receiver, { since_ms: 0, now_ms: SERVICE_NOW_MS });
  });
  while ((await runTasks(t.context)) > 0);
  t.is(t.context.receivers.received.length, 12);
  t.like(await webhookOf(t.context, webhook_id), { status: 'active', consecutive_failures: 1, failure_count: 12 });
});

testHooks('an event that succeeds begins the count anew', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 500;
  await failing(t.context, webhook_id, 9);
  t.context.receivers.answer = () => 200;
  await happen(t.context, [webhook_id]);
  await runTasks(t.context);
  t.context.receivers.answer = () => 500;
  await failing(t.context, webhook_id, 1);
  t.like(await webhookOf(t.context, webhook_id), { status: 'active', consecutive_failures: 1 });
});

testHooks('what was dropped when a webhook was disabled cannot disable it again', async (t) => {
  const { webhook_id } = await makeWebhook(t.context);
  t.context.receivers.answer = () => 500;
  await failing(t.context, webhook_id, 10);
  const path = `${WEBHOOKS}/${webhook_id}`;
  t.like(await answerOf(t.context, path), { body: { status: 'disabled' } });
  await answerOf(t.context, path, sendingJson('PUT', { status: 'active' }));
  const before = t.context.receivers.received.length;
  while ((await runTasks(t.context)) > 0);
  t.is(t.context.receivers.received.length, before);
  t.like(await answerOf(t.context, path), { body: { status: 'active', consecutive_failures: 0 } });
});

testHooks('ten distinct events that fail pause a subscription, close its open alert and mail the team', async (t) => {
  await hireTeam(t.context);
  const { records, services } = t.context;
  const { id: business_id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  const secret = services.cipher.encrypt('whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDuSKQkQ5mb3Y=');
  const circle = {
    lat: 35,
    lon: -97,
    radius_km: 25,
    min_size_mm: 25,
    webhook_url: 'https://broken.example.com',
    secret,
  };
  const made = await records.transaction((rows) =>
    createSubscription(
      { rows, business_id, now_ms: SERVICE_NOW_MS },
      { name: 'North\r\nBcc: x@example.com', ...circle },
      1,
    ),
  );
  const id = made?.id ?? '';
  await raise(t.context, id);
  t.context.receivers.answer = () => 'timeout';
  await failing(t.context, id, 10);
  while ((await runTasks(t.context)) > 0);
  t.like(await records.reader.selectFrom('subscriptions').selectAll().executeTakeFirst(), {
    status: 'paused',
    consecutive_failures: 10,
  });
  t.like(await records.reader.selectFrom('alerts').selectAll().executeTakeFirst(), {
    status: 'closed',
    open_location: null,
  });
  t.is(mailOf(t.context).filter(({ subject }) => subject === `hail: subscription ${id} was paused`).length, 2);
});

testHooks(
  'a webhook that is enabled and fails again within an hour is disabled again, and the team is not mailed again',
  async (t) => {
    await hireTeam(t.context);
    const { webhook_id } = await makeWebhook(t.context, { url: 'https://broken.example.com' });
    t.context.receivers.answer = () => 503;
    for (const _ of [1, 2]) {
      await failing(t.context, webhook_id, 10);
      t.like(await webhookOf(t.context, webhook_id), { status: 'disabled' });
      await answerOf(t.context, `${WEBHOOKS}/${webhook_id}`, sendingJson('PUT', { status: 'active' }));
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
  },
);

const MAIL: Mail = {
  id: '6f1c1f8e-0b5e-4a54-9d3c-3f0f5f5a2b11',
  to: 'ops@example.com',
  subject: 'hail: webhook wh_1 was disabled',
  text: 'Dächer\n.\nend',
  failed: 0,
};

function root(t: ExecutionContext): string {
  const path = mkdtempSync(join(tmpdir(), 'hail-mail-'));
  t.teardown(() => rmSync(path, { recursive: true }));
  return path;
}

/** A mail server that takes everything, or says no to every sender; what it was given as text. */
async function mailServer(t: ExecutionContext, takes: boolean) {
  const taken: string[] = [];
  const server = createServer((socket) => {
    let text = '';
    let inData = false;
    socket.write('220 test\r\n');
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (inData) {
        if (!text.endsWith('\r\n.\r\n')) return;
        taken.push(text);
        inData = false;
        text = '';
        socket.write('250 taken\r\n');
        return;
      }
      if (!text.endsWith('\r\n')) return;
      const command = text.slice(0, 4).toUpperCase();
      text = '';
      inData = command === 'DATA';
      const refused = command === 'MAIL' && !takes;
      socket.write(
        inData ? '354 go on\r\n' : refused ? '451 not now\r\n' : command === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n',
      );
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { taken, url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?from=hail@example.org` };
}

/** Records that keep what is queued. */
function outbox() {
  const added: Parameters<Queue['add']>[1][] = [];
  const queue = { add: async (_: unknown, task: Parameters<Queue['add']>[1]) => void added.push(task) };
  const records = {
    transaction: async <Result>(work: (rows: never) => Promise<Result>) => await work(undefined as never),
  };
  return { added, services: { queue, records } };
}

test('without a server mail lies in a folder, once however often it is sent, for its owner alone', async (t) => {
  const records_root = root(t);
  const mailer = openMailer({ smtp_url: null, records_root });
  await mailer.send(MAIL);
  await mailer.send(MAIL);
  const folder = spoolPath(records_root);
  t.deepEqual(readdirSync(folder), [`${MAIL.id}.eml`]);
  t.is(statSync(join(folder, `${MAIL.id}.eml`)).mode & 0o777, 0o600);
  const text = readFileSync(join(folder, `${MAIL.id}.eml`), 'utf8');
  for (const line of ['To: ops@example.com', `Subject: ${MAIL.subject}`, `Message-ID: <${MAIL.id}@hail>`])
    t.true(text.includes(`${line}\r\n`), line);
});

test('nothing in a mail can add a header or a recipient', async (t) => {
  const records_root = root(t);
  const to = 'ops@example.com\r\nBcc: x@example.com';
  await openMailer({ smtp_url: null, records_root }).send({ ...MAIL, to, subject: 'a\r\nX-Evil: 1\r\n\r\nbody' });
  const [name = ''] = readdirSync(spoolPath(records_root));
  const [head = ''] = readFileSync(join(spoolPath(records_root), name), 'utf8').split('\r\n\r\n');
  const names = [...head.matchAll(/^([A-Za-z-]+):/gm)].map(([, each]) => each);
  const added = names.filter((each) => each === 'Bcc' || each === 'X-Evil');
  t.deepEqual(added, []);
});

test('a mail server is given the mail, from the sender of its address', async (t) => {
  const { taken, url } = await mailServer(t, true);
  await openMailer({ smtp_url: url, records_root: root(t) }).send(MAIL);
  t.is(taken.length, 1);
  t.true(taken[0]?.includes('From: hail@example.org\r\n'));
  t.true(taken[0]?.includes('To: ops@example.com\r\n'));
});

test('what the server does not take is queued again as the same mail, later each time, up to an hour', async (t) => {
  const { url } = await mailServer(t, false);
  const { added, services } = outbox();
  const mailer = openMailer({ smtp_url: url, records_root: root(t) });
  const before_ms = Date.now();
  for (const failed of [0, 1, 20]) await sendMail({ payload: { ...MAIL, failed } }, mailer, services);
  t.deepEqual(
    pluck(added, 'payload'),
    [1, 2, 21].map((failed) => ({ ...MAIL, failed })),
  );
  const waits_min = added.map(({ due_ms = 0 }) => Math.floor((due_ms - before_ms) / 60_000));
  t.deepEqual(waits_min, [1, 2, 60]);
});

test('what the server has refused for a day lies in the folder, and is reported', async (t) => {
  const { url } = await mailServer(t, false);
  const { added, services } = outbox();
  const records_root = root(t);
  const told: string[] = [];
  const refused = (_: unknown, error: unknown) => told.push(String(error));
  const mailer = openMailer({ smtp_url: url, records_root }, refused);
  await sendMail({ payload: { ...MAIL, failed: 29 } }, mailer, services);
  t.regex(told.join(), /not now/);
  t.deepEqual(added, []);
  t.deepEqual(readdirSync(spoolPath(records_root)), [`${MAIL.id}.eml`]);
});

const CENTRE = { lat: 35.005, lon: -97.005 };

function circle(id: string, at: Position, radius_km: number, min_size_mm = 25): WatchedPlace {
  return {
    id,
    ...{ kind: 'subscription', business_id: 'biz_1', name: id, format: 'current' },
    version: 1,
    shape: { kind: 'circle', ...at, radius_km },
    min_size_mm,
    real_time: false,
  };
}

/** Latitude, longitude and size in mm. */
type Detection = readonly [number, number, number];

/** Hail of a scan. */
function hail(...rows: readonly Detection[]): ScanHail {
  const [lat, lon, size_mm] = [0, 1, 2].map((at) => Float64Array.from(rows, (row) => row[at] as number));
  return { length: rows.length, lat, lon, size_mm } as ScanHail;
}

function area(ring: number[][]): WatchedPlace {
  const [lons, lats] = [0, 1].map((axis) => ring.map((position) => position[axis] as number)) as [number[], number[]];
  const bbox = [Math.min(...lons), Math.min(...lats), Math.max(...lons), Math.max(...lats)] as const;
  const shape = { kind: 'polygon' as const, bbox };
  const about = { id: 'area', kind: 'area' as const, business_id: 'biz_1', name: 'Area', format: null, version: 1 };
  return { ...about, shape, min_size_mm: 25, real_time: false };
}

/** Size of the largest detection of each place that was hit, by its id. */
async function hits(
  places: readonly WatchedPlace[],
  scan: ScanHail,
  outlines: Readonly<Record<string, Ring>> = {},
): Promise<Record<string, number>> {
  const read = async (ids: readonly string[]) =>
    new Map(ids.flatMap((id) => (outlines[id] === undefined ? [] : [[id, outlines[id]] as const])));
  const found = await matchScan(places, scan, read);
  return Object.fromEntries([...found].map(([id, at]) => [id, scan.size_mm[at] as number]));
}

/** Size of the one detection of a scan where it hits an area. */
async function hitBy(ring: Ring, detection: Detection): Promise<number | undefined> {
  return (await hits([area(ring)], hail(detection), { area: ring })).area;
}

test('a circle is hit by a detection of its size within its radius, both included', async (t) => {
  const edge = destination(CENTRE, 45, 20);
  const radius_km = distanceKm(CENTRE, edge);
  const at = (mm: number) => hail([edge.lat, edge.lon, mm]);
  t.deepEqual(await hits([circle('a', CENTRE, radius_km)], at(25)), { a: 25 });
  t.deepEqual(await hits([circle('a', CENTRE, radius_km)], at(24.9)), {});
  t.deepEqual(await hits([circle('a', CENTRE, radius_km - 0.001)], at(25)), {});
});

test('a place is given its largest detection, not the nearest and not one outside', async (t) => {
  const far = destination(CENTRE, 90, 30);
  const scan = hail([CENTRE.lat, CENTRE.lon, 26], [far.lat, far.lon, 80], [CENTRE.lat + 0.01, CENTRE.lon, 40]);
  t.deepEqual(await hits([circle('near', CENTRE, 25), circle('wide', CENTRE, 50)], scan), { near: 40, wide: 80 });
});

test('a polygon is hit by a pixel over it or its edge, and not by one in its box alone', async (t) => {
  const ring = positionsOf('-97.1 35, -96.9 35, -97 35.2, -97.1 35');
  t.is(await hitBy(ring, [35.05, -97, 30]), 30);
  t.is(await hitBy(ring, [35, -97, 30]), 30);
  t.is(await hitBy(ring, [35.185, -97.085, 90]), undefined);
  t.is(await hitBy(ring, [35.05, -97, 24]), undefined);
});

test('a polygon smaller than a pixel is hit by the pixel that it lies in, and by no other', async (t) => {
  const ring = boxRing([-97.0081, 35.0011, -97.008, 35.0012]);
  t.is(await hitBy(ring, [CENTRE.lat, CENTRE.lon, 30]), 30);
  t.is(await hitBy(ring, [CENTRE.lat + 0.01, CENTRE.lon, 30]), undefined);
});

test('a corridor narrower than a pixel is hit by every pixel that it runs through, and by none beside it', async (t) => {
  const ring = boxRing([-98, 35.001, -96, 35.002]);
  for (const lon of [-97.995, -97.005, -96.005]) t.is(await hitBy(ring, [35.005, lon, 30]), 30, `${lon}`);
  for (const lat of [34.995, 35.015]) t.is(await hitBy(ring, [lat, -97.005, 30]), undefined, `${lat}`);
});

test('a polygon along lines of the lattice is not hit by the pixels around it, however many vertices it has', async (t) => {
  const corners = boxRing([-97, 35, -96.9, 35.1]);
  const dense = corners.slice(1).flatMap(([lon = 0, lat = 0], k) => {
    const [lon0 = 0, lat0 = 0] = corners[k] as number[];
    return Array.from({ length: 20 }, (_, i) => [lon0 + (i * (lon - lon0)) / 20, lat0 + (i * (lat - lat0)) / 20]);
  });
  for (const ring of [corners, [...dense, [-97, 35]]]) {
    for (const at of [
      [34.995, -96.955],
      [35.055, -97.005],
      [34.995, -97.005],
      [35.105, -96.895],
    ] as const)
      t.is(await hitBy(ring, [...at, 30]), undefined, `${at}`);
    t.is(await hitBy(ring, [35.005, -96.995, 30]), 30);
  }
});

test('an area that was deleted since the index was made is not hit', async (t) => {
  t.deepEqual(await hits([area(boxRing([-98, 34, -96, 36]))], hail([35, -97, 30])), {});
});

test('a point area is hit within a mile', async (t) => {
  const point = circle('depot', CENTRE, POINT_AREA_RADIUS_KM);
  const [inside, outside] = [1.6, 1.62].map((km) => destination(CENTRE, 200, km)) as [Position, Position];
  t.deepEqual(await hits([point], hail([inside.lat, inside.lon, 30])), { depot: 30 });
  t.deepEqual(await hits([point], hail([outside.lat, outside.lon, 30])), {});
});

test('many places and detections are matched as one by one', async (t) => {
  const random = seeded(7);
  const places = Array.from({ length: 400 }, (_, k) =>
    circle(`sub_${k}`, { lat: 33 + 4 * random(), lon: -99 + 4 * random() }, 1 + 60 * random(), 10 + 60 * random()),
  );
  const scan = hail(
    ...Array.from(
      { length: 600 },
      () => [33 + 4 * random(), -99 + 4 * random(), Math.round(10 + 80 * random())] as const,
    ),
  );
  const expected: Record<string, number> = {};
  for (const { id, shape, min_size_mm } of places)
    for (let k = 0; k < scan.length; k++) {
      const [lat, lon, mm] = [scan.lat[k], scan.lon[k], scan.size_mm[k]] as [number, number, number];
      if (shape.kind !== 'circle' || mm < min_size_mm || mm <= (expected[id] ?? 0)) continue;
      if (distanceKm(shape, { lat, lon }) <= shape.radius_km) expected[id] = mm;
    }
  t.deepEqual(await hits(places, scan), expected);
  t.true(Object.keys(expected).length > 100);
});

/** Numbers from 0 to 1, the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
