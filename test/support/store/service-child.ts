import { startWatch } from '../../../api/alerts/watch.ts';
import type { Observer } from '../../../api/http/observers.ts';
import type { Edition } from '../../../api/published/catalog.ts';
import { openServices } from '../../../api/services.ts';
import { openWebhookClient } from '../../../api/webhooks/client.ts';
import { startDeliveryWorker } from '../../../api/webhooks/delivery-worker.ts';
import { editionOf, type MadeScan, MINUTE_MS, START_MS, watchPartsOf } from '../data/alert-scans.ts';

/**
 * What a service process does beside its answers: `node service-child.ts FOLDER DATABASE_URL CA_FILE TIME_SCALE`. Each message is
 * everything that is published by then, answered once it was matched or failed, to be tried again soon; `end` ends it, answered with
 * how many attempts it sent.
 */
const [folder = '', database_url = '', ca_file = '', time_scale = ''] = process.argv.slice(2);
let now_ms = START_MS;
const receivers = { allow_cidrs: ['127.0.0.0/8'], ca_file };
const { services, close } = await openServices({
  data_root: folder,
  database_url,
  storm_day_start_hour: 0,
  base_url: 'http://127.0.0.1:8080/v1',
  now: () => now_ms,
  webhooks: { ...receivers, time_scale: Number(time_scale) },
});
const { records, queue } = services;
// Only the waits between attempts are shortened: an attempt may take as long as it usually may.
const webhookClient = openWebhookClient({ ...receivers, time_scale: 1 });
let attempts = 0;
const stopSending = startDeliveryWorker({
  ...services,
  webhookClient: {
    ...webhookClient,
    post: (request) => {
      attempts += 1;
      return webhookClient.post(request);
    },
  },
});
const observers: Observer<Edition>[] = [];
const catalog = {
  afterEdition: (observer: Observer<Edition>) => {
    observers.push(observer);
    return async () => {};
  },
};
const stopWatching = startWatch({ ...watchPartsOf(records, { now: () => now_ms }), queue, catalog });
process.on('message', async (scans: readonly MadeScan[] | 'end') => {
  if (scans === 'end') {
    await stopWatching();
    await stopSending();
    webhookClient.close();
    await close();
    process.send?.(attempts);
    process.disconnect();
    return;
  }
  now_ms = START_MS + ((scans.at(-1)?.minute ?? 0) + 1) * MINUTE_MS;
  const edition = editionOf(scans);
  for (const { react, failed } of observers) await react(edition, new AbortController().signal).catch(failed);
  process.send?.('offered');
});
process.send?.('works');
