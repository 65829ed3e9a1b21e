import { SELF_HOSTED } from '../../../api/accounts/plans.ts';
import { insertArea } from '../../../api/alerts/areas.ts';
import { createSubscription } from '../../../api/alerts/subscriptions.ts';
import { acceptJob } from '../../../api/jobs/rows.ts';
import { upsertLocations } from '../../../api/portfolio/locations.ts';
import type { Writer } from '../../../api/records/database.ts';
import { polygonShape } from '../../../api/rules/area-geometry.ts';
import { recordAttempt } from '../../../api/webhooks/attempts.ts';
import { enqueueEvent } from '../../../api/webhooks/events.ts';
import { insertWebhook } from '../../../api/webhooks/receivers.ts';
import { ExportRequest } from '../../../schemas/resources/export-job.ts';
import { SQUARE } from './areas.ts';
import type { DescribedOperation } from './document.ts';
import { EXPORT_BODY, REPORT_BODY } from './jobs.ts';
import type { RunningService } from './service.ts';

type Service = Pick<RunningService, 'records' | 'services'>;

/** Makes what paths with a beginning name, free of charge, and returns the values of their parameters. */
const MAKERS: readonly [path: string, make: (writer: Writer, service: Service) => Promise<Record<string, string>>][] = [
  ['/v1/areas/{id}', makePolygon],
  ['/v1/alerts/{id}', makeSubscription],
  ['/v1/webhooks/{id}', makeDelivery],
  ['/v1/verify/report/{reportId}', makeReport],
  ['/v1/exports/{jobId}', makeExport],
  ['/v1/locations/{id}', makeLocation],
];

/** What the path of an operation names, made for a business: values of its parameters; none where it names nothing of its own. */
export async function ownFor(
  { path }: Pick<DescribedOperation, 'path'>,
  service: Service,
  business_id: string,
): Promise<Record<string, string>> {
  const make = MAKERS.find(([beginning]) => path.replace(/^\/legacy/, '').startsWith(beginning))?.[1];
  if (make === undefined) return {};
  const { records, services } = service;
  return await records.transaction((rows) => make({ rows, business_id, now_ms: services.now() }, service));
}

async function makeSubscription(writer: Writer): Promise<Record<string, string>> {
  const circle = { name: 'Depot', lat: 35.4676, lon: -97.5164, radius_km: 25, min_size_mm: 25 };
  const receiver = { webhook_url: 'https://hooks.example.com/hail', secret: 'sealed' };
  const made = await createSubscription(writer, { ...circle, ...receiver }, 1);
  if (made === null) throw new Error('a new business has no room for a subscription');
  return { id: made.id };
}

const FREE = { caller: { key_id: '' }, price: { operation: 'none', credits: 0, count: 0 } };

async function makeReport(writer: Writer, { services }: Service): Promise<Record<string, string>> {
  return { reportId: await acceptJob(writer, services.queue, { kind: 'report', params: REPORT_BODY, ...FREE }) };
}

async function makeExport(writer: Writer, { services }: Service): Promise<Record<string, string>> {
  const params = ExportRequest.parse(EXPORT_BODY);
  return { jobId: await acceptJob(writer, services.queue, { kind: 'export', params, ...FREE }) };
}

async function makeLocation(writer: Writer): Promise<Record<string, string>> {
  const place = { row_index: 0, id: null, name: 'Depot', lat: 35.2, lon: -97, address: null, tags: null };
  const { accepted } = await upsertLocations(writer, [place], 1);
  const [made] = accepted;
  if (made === undefined) throw new Error('a new business has no room for a location');
  return { id: made.id };
}

/** A webhook that was sent an event. */
async function makeDelivery(writer: Writer, { records, services }: Service): Promise<Record<string, string>> {
  const { rows, business_id, now_ms } = writer;
  const wanted = { url: 'https://hooks.example.com/hail', events: ['alert.created'] } as const;
  const made = await insertWebhook(writer, services.cipher, wanted, 1);
  if (made === null) throw new Error('a new business has no room for a webhook');
  const { id } = made.webhook;
  const outbox = { queue: services.queue, store: records.store, time_scale: 1, now_ms };
  const about = { business_id, receivers: [id], event: 'alert.created', data: {}, alert_id: null } as const;
  const [message_id = ''] = await enqueueEvent(rows, outbox, { ...about, after: null, at_ms: now_ms });
  const answered = { status_code: 200, error_class: null, error: null, answer: '', retry_after_ms: null };
  const ended = { message_id, receiver_id: id, attempt: 1, started_ms: now_ms, duration_ms: 0, ...answered };
  const delivery = await recordAttempt(rows, outbox, ended);
  if (delivery === null) throw new Error('a new event could not be delivered');
  return { id, deliveryId: delivery.id };
}

async function makePolygon(writer: Writer): Promise<Record<string, string>> {
  const shape = polygonShape(SQUARE.map(([lon, lat]) => [lon, lat]));
  if (typeof shape === 'string') throw new Error(`the square is no area: ${shape}`);
  const said = { kind: 'polygon', name: 'yard', real_time: false, purpose: 'monitoring', group_id: null } as const;
  const { id } = await insertArea(writer, { ...said, shape }, SELF_HOSTED.quotas);
  return { id };
}
