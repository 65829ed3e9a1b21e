import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { enqueueEarlierEvent } from '../../../api/push/events.ts';
import { openOutlet } from '../../../api/push/outlet.ts';
import { EARLIER_SAMPLES } from '../../../api/push/samples.ts';
import { sendPush, startSending } from '../../../api/push/send.ts';
import { signatureFault } from '../../../api/push/sign.ts';
import { addDelivery } from '../../../api/records/deliveries.ts';
import { markEarlierReceiver } from '../../../api/records/earlier-receivers.ts';
import { CommitFailed } from '../../../api/records/failures.ts';
import { findPush, sweepPushes } from '../../../api/records/pushes.ts';
import { EarlierEventBody } from '../../../schemas/webhook-events.ts';
import { startReceiver } from '../../support/service/receiver.ts';
import { startService } from '../../support/service/service.ts';
import {
  answerOf,
  happen,
  makeWebhook,
  runTasks,
  sending as sendingJson,
  startWebhookService,
  WEBHOOK_ENDPOINTS,
  WEBHOOKS,
} from '../../support/service/webhooks.ts';

/** So often a test looks whether what it waits for has come. */
const LOOK_EVERY_MS = 20;

async function until(t: ExecutionContext, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 1_000; looks++) {
    if (await isSo()) return;
    await sleep(LOOK_EVERY_MS);
  }
  t.fail('it did not come');
}

/** A service that sends to a receiver on this machine, its waits a thousandth of the usual ones. */
async function sending(t: ExecutionContext) {
  const receiver = await startReceiver(t);
  const outlet = openOutlet({ allow_cidrs: ['127.0.0.0/8'], ca_file: receiver.ca_file, time_scale: 1 });
  const service = await startService({ endpoints: WEBHOOK_ENDPOINTS, outlet });
  const stop = startSending({ ...service.services, webhook_time_scale: 0.001 });
  t.teardown(async () => {
    await stop();
    outlet.close();
    await service.close();
    if (service.failures.length > 0) throw service.failures[0];
  });
  return { receiver, service };
}

test('a delivery over TLS carries both signatures, which receivers and Standard Webhooks verify', async (t) => {
  const { receiver, service } = await sending(t);
  const { webhook_id, secret } = await makeWebhook(service, { url: receiver.url });
  const [event_id = ''] = await happen(service, [webhook_id]);
  await until(t, () => receiver.received.length === 1);
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
  await until(t, () => receiver.received.length === 3);
  t.is(new Set(receiver.received.map(({ body }) => body)).size, 1);
  await until(t, async () => (await service.records.reader.selectFrom('tasks').select('id').execute()).length === 0);
  t.like(await answerOf(service, `${WEBHOOKS}/${webhook_id}`), { body: { success_count: 1, failure_count: 2 } });
});

test('what nobody takes is dropped after the sixth attempt, and only then what waits for it is sent', async (t) => {
  const { receiver, service } = await sending(t);
  const { webhook_id } = await makeWebhook(service, { url: receiver.url });
  receiver.answer = ({ headers }, response) => {
    response.writeHead(headers['x-service-event'] === 'alert.created' ? 500 : 200).end();
  };
  await happen(service, [webhook_id], { alert_id: 'alt_1' });
  await happen(service, [webhook_id], { event: 'alert.resolved', alert_id: 'alt_1', after: 'alert.created' });
  await until(t, () => receiver.received.length === 7);
  t.deepEqual(
    receiver.received.map(({ headers }) => headers['x-service-event']),
    [...Array(6).fill('alert.created'), 'alert.resolved'],
  );
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
  await until(t, () => silent.length === 4);
  await happen(service, [webhook_id]);
  await until(t, () => receiver.received.some(({ path }) => path === '/hook'));
  t.is(silent.length, 4);
  receiver.answer = (_, response) => response.end();
  for (const response of silent) response.end();
});

test('a task that comes again finds its attempt made, and sends and records nothing', async (t) => {
  const service = await startWebhookService();
  t.teardown(service.close);
  const { webhook_id } = await makeWebhook(service);
  await happen(service, [webhook_id]);
  const tasks = await service.records.reader.selectFrom('tasks').selectAll().execute();
  t.is(await runTasks(service), 1);
  await service.records.transaction((rows) => rows.insertInto('tasks').values(tasks).execute());
  t.is(await runTasks(service), 1);
  t.is(service.receivers.received.length, 1);
  t.like(await answerOf(service, `${WEBHOOKS}/${webhook_id}`), { body: { success_count: 1 } });
});

test('what is written for a receiver that was just paused or deleted is given up, and leaves nothing that waits', async (t) => {
  const service = await startWebhookService();
  t.teardown(service.close);
  const { webhook_id } = await makeWebhook(service);
  await answerOf(service, `${WEBHOOKS}/${webhook_id}`, sendingJson('PUT', { status: 'paused' }));
  for (const receiver of [webhook_id, 'wh_deleted']) {
    await happen(service, [receiver], { alert_id: 'alt_1' });
    await happen(service, [receiver], { event: 'alert.resolved', alert_id: 'alt_1', after: 'alert.created' });
  }
  while ((await runTasks(service)) > 0);
  const pushes = await service.records.reader.selectFrom('pushes').selectAll().execute();
  t.deepEqual(
    pushes.map(({ receiver_id, state }) => [receiver_id, state]),
    Array(2).fill([webhook_id, 'dropped']),
  );
  t.is(service.receivers.received.length, 0);
});

test('events of which no delivery is kept are swept once they are old', async (t) => {
  const service = await startWebhookService();
  t.teardown(service.close);
  const { webhook_id } = await makeWebhook(service);
  const before_ms = Date.now();
  const [kept, swept, pending] = [
    await happen(service, [webhook_id]),
    await happen(service, [webhook_id]),
    await happen(service, [webhook_id]),
  ].flat();
  await service.records.transaction(async (rows) => {
    await rows
      .updateTable('pushes')
      .set({ state: 'delivered' })
      .where('id', 'in', [kept ?? '', swept ?? ''])
      .execute();
  });
  const row = { receiver_id: webhook_id, event_id: kept ?? '', event: 'alert.created', attempt: 1 };
  const ended = { status_code: 200, success: 1, error: null, error_class: null, answer: '', duration_ms: 1 };
  const rest = { redelivered_from: null, next_retry_at: null, created_at: '2026-05-02T00:00:00.000Z' };
  const { id: business_id } = await service.records.reader
    .selectFrom('businesses')
    .select('id')
    .executeTakeFirstOrThrow();
  await service.records.transaction((rows) =>
    addDelivery(rows, { id: 'whd_1', ...row, ...ended, ...rest, business_id }),
  );
  await service.records.transaction((rows) => sweepPushes(rows, before_ms));
  t.is((await service.records.reader.selectFrom('pushes').select('id').execute()).length, 3);
  await service.records.transaction((rows) => sweepPushes(rows, Date.now() + 1));
  t.deepEqual(
    (await service.records.reader.selectFrom('pushes').select('id').orderBy('id').execute()).map(({ id }) => id),
    [kept, pending],
  );
});

for (const [direction, step_ms] of [
  ['put forward by an hour', 3_600_000],
  ['put back by two years', -2 * 365 * 86_400_000],
] as const)
  test.serial(`a clock that is ${direction} during an attempt leaves the wait for the next as it is`, async (t) => {
    const service = await startWebhookService();
    t.teardown(service.close);
    const { webhook_id } = await makeWebhook(service);
    await happen(service, [webhook_id]);
    const clock = Date.now;
    t.teardown(() => {
      Date.now = clock;
    });
    service.receivers.answer = () => {
      Date.now = () => clock() + step_ms;
      return { status_code: 503, error_class: 'http_status' };
    };
    await runTasks(service);
    const { reader } = service.records;
    const task = await reader.selectFrom('tasks').select('due_ms').executeTakeFirstOrThrow();
    const wait_ms = task.due_ms - Date.now();
    t.true(wait_ms > -60_000 && wait_ms <= 10_000, `waits ${wait_ms} ms`);
    const [delivery] = await reader.selectFrom('deliveries').selectAll().execute();
    t.is(Date.parse(delivery?.next_retry_at ?? ''), task.due_ms);
    t.true((delivery?.duration_ms ?? Number.NaN) < 60_000);
  });

test('the next attempt is kept in the records with its time, which a restart does not change', async (t) => {
  const service = await startWebhookService();
  t.teardown(service.close);
  const { webhook_id } = await makeWebhook(service);
  await happen(service, [webhook_id]);
  service.receivers.answer = () => ({ status_code: 503, error_class: 'http_status', retry_after_ms: 90_000 });
  await runTasks(service);
  const { reader } = service.records;
  const [task] = await reader.selectFrom('tasks').selectAll().execute();
  const [push] = await reader.selectFrom('pushes').selectAll().execute();
  const [delivery] = await reader.selectFrom('deliveries').selectAll().execute();
  const ended_ms = Date.parse(delivery?.created_at ?? '') + (delivery?.duration_ms ?? 0);
  t.is(task?.due_ms, ended_ms + 90_000);
  t.is(push?.next_at, new Date(ended_ms + 90_000).toISOString());
  t.is(delivery?.next_retry_at, push?.next_at);
  t.like(JSON.parse(task?.payload ?? ''), { push_id: push?.id, attempt: 2 });
  t.is(task?.retry, 1);
});

for (const [how, step_ms] of [
  ['forward', 3_600_000],
  ['back', -3_600_000],
  ['forward by two years', 2 * 365 * 86_400_000],
] as const)
  test.serial(
    `a clock that is put ${how} drops no event that waits for a retry, before a restart or after it`,
    async (t) => {
      const service = await startWebhookService();
      t.teardown(service.close);
      const { webhook_id } = await makeWebhook(service);
      const [here = ''] = await happen(service, [webhook_id]);
      const [elsewhere = ''] = await happen(service, [webhook_id]);
      service.receivers.answer = () => 500;
      await runTasks(service);
      const { records } = service;
      // Noted by a process that is gone: its monotonic clock means nothing here.
      const tasks = await records.reader.selectFrom('tasks').selectAll().execute();
      for (const { id, payload } of tasks.filter((task) => task.payload.includes(elsewhere))) {
        const first_attempt = { owner: 'another process', at_ms: 0 };
        const changed = JSON.stringify({ ...JSON.parse(payload), first_attempt });
        await records.transaction((rows) =>
          rows.updateTable('tasks').set({ payload: changed }).where('id', '=', id).execute(),
        );
      }
      const machine = Date.now;
      t.teardown(() => {
        Date.now = machine;
      });
      Date.now = () => machine() + step_ms;
      for (let retries = 1; retries <= 5; retries++) {
        t.is(await runTasks(service), 2);
        const states = await Promise.all([here, elsewhere].map((id) => findPush(records.reader, id)));
        t.deepEqual(
          states.map((push) => [push?.attempts, push?.state]),
          Array(2).fill([1 + retries, retries < 5 ? 'pending' : 'dropped']),
        );
      }
    },
  );

test('an attempt is recorded once the records can be written again', async (t) => {
  const service = await startWebhookService();
  t.teardown(service.close);
  const { webhook_id } = await makeWebhook(service);
  await happen(service, [webhook_id]);
  let refusals = 2;
  const { records } = service;
  const failing = {
    ...service.services,
    records: {
      ...records,
      transaction: (async (work) => {
        if (refusals-- > 0) throw new CommitFailed('the disk is full');
        return await records.transaction(work);
      }) as typeof records.transaction,
    },
  };
  const [task] = await records.reader.selectFrom('tasks').select('payload').execute();
  await sendPush(failing, { payload: JSON.parse(task?.payload ?? '') });
  t.is(service.receivers.received.length, 1);
  t.like(await answerOf(service, `${WEBHOOKS}/${webhook_id}`), { body: { success_count: 1 } });
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
    await markEarlierReceiver(rows, webhook_id, business_id);
    const about = { business_id, receivers: [webhook_id], alert_id: null, after: null, at_ms: 0 };
    const data = EARLIER_SAMPLES['hail.detected'];
    return await enqueueEarlierEvent(
      rows,
      { queue: service.services.queue, store: service.records.store },
      { ...about, event: 'hail.detected', data },
    );
  });
  const dropped = async () => (await findPush(service.records.reader, event_id))?.state === 'dropped';
  await until(t, dropped);
  t.is(receiver.received.length, 4);
  for (const { headers, body } of receiver.received) {
    t.like(headers, { 'x-service-event': 'hail.detected', 'x-service-delivery-id': event_id });
    t.is(signatureFault(String(headers['x-service-signature']), body, secret, Date.now()), null);
    t.deepEqual(EarlierEventBody.parse(JSON.parse(body)), {
      event: 'hail.detected',
      timestamp: '1970-01-01T00:00:00Z',
      data: EARLIER_SAMPLES['hail.detected'],
    });
  }
  const attempts = await service.records.reader
    .selectFrom('deliveries')
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
    {
      status: 400,
    },
  );
});
