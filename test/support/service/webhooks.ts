import { z } from 'zod';
import { MAIL_TASK, sendMail } from '../../../api/accounts/mail.ts';
import type { openWebhookClient } from '../../../api/webhooks/client.ts';
import { deliverMessage } from '../../../api/webhooks/delivery-worker.ts';
import { enqueueEvent } from '../../../api/webhooks/events.ts';
import { EventBody, type EventType } from '../../../schemas/webhook-events.ts';
import { type RunningService, SERVICE_NOW_MS, startService } from './service.ts';

export const WEBHOOKS = '/v1/webhooks';
export const RECEIVER = 'https://hooks.example.com/hail';

type WebhookClient = ReturnType<typeof openWebhookClient>;

/** A delivery as a receiver sees it. */
interface Received {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: EventBody;
  /** The bytes of the body. */
  readonly text: string;
}

/** Receivers that answer what the test says, without any network. */
export interface Receivers extends WebhookClient {
  readonly received: Received[];
  /** How they answer from now on: a status, or the class of what fails. */
  answer: (received: Received) => number | 'timeout' | 'blocked' | Partial<Awaited<ReturnType<WebhookClient['post']>>>;
}

/** Receivers that answer 200. They take every address, except ones that begin with `http:`. */
export function receivers(): Receivers {
  const all: Receivers = {
    received: [],
    answer: () => 200,
    validateUrl: async (url) => (url.startsWith('http:') ? 'is not https' : null),
    post: async ({ url, headers, body: text }) => {
      const received = { url, headers, text, body: EventBody.parse(JSON.parse(text)) };
      all.received.push(received);
      return attemptOf(all.answer(received));
    },
    close: async () => {},
  };
  return all;
}

function attemptOf(answer: ReturnType<Receivers['answer']>): Awaited<ReturnType<WebhookClient['post']>> {
  const silent = {
    status_code: null,
    error: null,
    error_class: null,
    answer: '',
    duration_ms: 1,
    retry_after_ms: null,
  };
  if (typeof answer === 'string') return { ...silent, error: answer, error_class: answer };
  if (typeof answer === 'object') return { ...silent, ...answer };
  const failed = answer < 200 || answer > 299;
  return {
    ...silent,
    status_code: answer,
    error: failed ? `answered ${answer}` : null,
    error_class: failed ? 'http_status' : null,
  };
}

/** A service with webhooks, and receivers for them. */
export type WebhookService = Awaited<ReturnType<typeof startWebhookService>>;

export async function startWebhookService() {
  const webhookClient = receivers();
  const service = await startService({ webhookClient });
  return { ...service, receivers: webhookClient };
}

/** Body of a call as JSON. */
export function sending(method: 'POST' | 'PUT' | 'PATCH', body: unknown, headers: Record<string, string> = {}) {
  return { method, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...headers } };
}

const Created = z.object({ webhook_id: z.string(), secret: z.string() });

/** Makes a webhook; returns its id and secret. */
export async function makeWebhook(
  service: RunningService,
  body: { readonly url?: string; readonly events?: readonly EventType[] } = {},
  key = service.live_key,
): Promise<z.infer<typeof Created>> {
  const response = await service.call(WEBHOOKS, { ...sending('POST', { url: RECEIVER, ...body }), key });
  if (response.status !== 200) throw new Error(`making a webhook answers ${response.status} ${await response.text()}`);
  return Created.parse(await response.json());
}

/** What a call answers: its status, and its body. */
export async function answerOf(service: RunningService, path: string, init?: Parameters<RunningService['call']>[1]) {
  const response = await service.call(path, init);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** Enqueues an event of the first business for receivers; returns its event ids. */
export async function happen(
  { records, services }: RunningService,
  receivers: readonly string[],
  {
    event = 'alert.created',
    alert_id = null,
    after = null,
  }: { readonly event?: EventType; readonly alert_id?: string | null; readonly after?: EventType | null } = {},
): Promise<readonly string[]> {
  const { id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  const former = after === null || alert_id === null ? null : { alert_id, event: after };
  return await records.transaction((rows) =>
    enqueueEvent(
      rows,
      { queue: services.queue, store: records.store },
      { business_id: id, receivers, event, data: { note: event }, alert_id, after: former, at_ms: SERVICE_NOW_MS },
    ),
  );
}

/** Runs every task that is queued once, however far ahead it is due; returns how many there were. */
export async function runTasks({ records, services }: RunningService): Promise<number> {
  const tasks = await records.reader.selectFrom('tasks').selectAll().orderBy('due_ms').orderBy('id').execute();
  for (const { id, name, payload } of tasks) {
    const task = { payload: JSON.parse(payload) as unknown };
    if (name === MAIL_TASK) await sendMail(task, services.mailer, services);
    else await deliverMessage(services, task);
    await records.transaction((rows) => rows.deleteFrom('tasks').where('id', '=', id).execute());
  }
  return tasks.length;
}
