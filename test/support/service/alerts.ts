import type { Alert } from '../../../api/webhooks/formats.ts';
import { newId } from '../../../schemas/ids.ts';
import { instant } from '../../../schemas/time.ts';
import { type RunningService, SERVICE_NOW_MS, startService } from './service.ts';
import { RECEIVER, receivers, sending } from './webhooks.ts';

export const ALERTS = '/v1/alerts';
export const SUBSCRIBE = `${ALERTS}/subscribe`;
/** The least that makes a subscription. */
export const CIRCLE = { lat: 35.4676, lon: -97.5164, webhook_url: RECEIVER } as const;

/** A service with alert subscriptions, and receivers for them. */
export async function startAlertService() {
  const webhookClient = receivers();
  return { ...(await startService({ webhookClient })), receivers: webhookClient };
}

/** Makes a subscription; returns its id. */
export async function subscribe(service: RunningService, body: object = {}, key = service.live_key): Promise<string> {
  const response = await service.call(SUBSCRIBE, { ...sending('POST', { ...CIRCLE, ...body }), key });
  if (response.status !== 200) throw new Error(`subscribing answers ${response.status} ${await response.text()}`);
  return ((await response.json()) as { id: string }).id;
}

/** An alert of a subscription of the first business, open unless the change says otherwise. */
export async function raise(
  { records }: RunningService,
  location_id: string,
  change: Partial<Alert> = {},
): Promise<Alert> {
  const { id: business_id } = await records.reader.selectFrom('businesses').select('id').executeTakeFirstOrThrow();
  const at = instant(SERVICE_NOW_MS);
  const alert: Alert = {
    id: newId('alert', SERVICE_NOW_MS),
    business_id,
    location_id,
    location_kind: 'subscription',
    location_name: '',
    location_version: 1,
    status: 'open',
    open_location: location_id,
    scan_id: '20260502T005400Z',
    triggered_at: at,
    last_seen_at: at,
    resolved_at: null,
    estimated_size_mm: 30,
    max_size_mm: 40,
    confidence: 0.7,
    lat: 35.5,
    lon: -97.5,
    distance_km: 4,
    track_id: null,
    covered_blocks: 9,
    data_source: 'simulated',
    ...change,
  };
  await records.transaction((rows) => rows.insertInto('alerts').values(alert).execute());
  return alert;
}
