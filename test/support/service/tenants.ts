import { createBusiness } from '../../../api/accounts/businesses.ts';
import { SELF_HOSTED } from '../../../api/accounts/plans.ts';
import type { Records } from '../../../api/metering/records.ts';
import { openRecords } from '../../../api/metering/records.ts';
import { openSecrets } from '../../../api/store/secrets.ts';
import { openQueue } from '../../../api/store/tasks/work.ts';
import { insertWebhook } from '../../../api/webhooks/endpoints.ts';
import { enqueueEvent } from '../../../api/webhooks/events.ts';
import type { Scope } from './receiver.ts';
import { WHOLE_NOW_MS } from './whole-service.ts';

/** A webhook of a business, for whom events can be enqueued. */
export interface TenantWebhook {
  readonly business_id: string;
  readonly webhook_id: string;
}

/** Businesses beside a running service, at its records. */
export interface Tenants {
  readonly records: Records;
  /** Makes a business with a webhook for each address. */
  readonly make: (name: string, urls: readonly string[]) => Promise<readonly TenantWebhook[]>;
  /** Enqueues an event for a webhook, as another process would; returns its id once it is committed. */
  readonly send: (webhook: TenantWebhook) => Promise<string>;
}

/** Opens the records of a service that runs on a data root. */
export async function openTenants(scope: Scope, data_root: string, database_url: string | null): Promise<Tenants> {
  const now = () => WHOLE_NOW_MS;
  const records = await openRecords({ data_root, database_url, now });
  scope.teardown(records.close);
  const secrets = await openSecrets(records, { records_root: data_root, master_keys: null, now });
  const queue = await openQueue(records.store, { failed: console.error, troubled: console.error });
  scope.teardown(queue.close);
  return {
    records,
    make: (name, urls) =>
      records.transaction(async (rows) => {
        const business = await createBusiness(rows, name, SELF_HOSTED, WHOLE_NOW_MS);
        if (business === null) throw new Error(`business ${name} exists, expected a new name`);
        const made: TenantWebhook[] = [];
        for (const url of urls) {
          const writer = { rows, business_id: business.id, now_ms: WHOLE_NOW_MS };
          const created = await insertWebhook(writer, secrets, { url, events: ['alert.created'] }, urls.length);
          made.push({ business_id: business.id, webhook_id: created?.webhook.id ?? '' });
        }
        return made;
      }),
    send: async ({ business_id, webhook_id }) => {
      const [id = ''] = await records.transaction((rows) =>
        enqueueEvent(
          rows,
          { queue, store: records.store },
          {
            ...{ business_id, receivers: [webhook_id], event: 'alert.created', data: {} },
            ...{ alert_id: null, after: null, at_ms: WHOLE_NOW_MS },
          },
        ),
      );
      return id;
    },
  };
}
