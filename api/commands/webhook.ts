import { Command } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import { type Business, listBusinesses } from '../accounts/businesses.ts';
import type { Records } from '../billing/records.ts';
import type { Config } from '../config.ts';
import { OTHER_FORMATS } from '../legacy/variants.ts';
import { recordAct } from '../records/audit.ts';
import { deliveryPause, endDeliveryPause, pauseDeliveries, RESUME } from '../records/delivery-pause.ts';
import { openSecrets } from '../records/secrets.ts';
import type { Queue } from '../records/tasks/queue.ts';
import { openQueue } from '../records/tasks/work.ts';
import { eventFormats } from '../webhooks/current-format.ts';
import { withoutQuery } from '../webhooks/disable-receiver.ts';
import { enableReceiver, listReceivers, lockReceiver } from '../webhooks/receivers.ts';
import { OVERDUE_MS, type Recovered, recover } from '../webhooks/recover.ts';
import { rotateSecret, SECRETS_MAX } from '../webhooks/signing-secrets.ts';
import {
  businessNamed,
  CommandError,
  duration,
  parseInstant as instantArgument,
  type Json,
  print,
  type RecordsConfig,
  table,
  withRecords,
} from './cli.ts';
import { listenCommand } from './webhook-listen.ts';

/** Settings of these commands. */
export type WebhookConfig = RecordsConfig & Pick<Config, 'master_keys'>;

const GRACE_MS = 24 * 3_600_000;

/** `hail-api webhook`: receivers of events, their secrets, and a receiver for trials. */
export function webhookCommand(config: () => WebhookConfig): Command {
  const command = new Command('webhook').description(
    'receivers of events: list, enable, secrets, recovery, the pause of a copy, a trial receiver',
  );

  command
    .command('list [business]')
    .description('webhooks and subscriptions with their addresses, of one business or of all')
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string | undefined, { json }: Json) => {
      const receivers = await withRecords(config(), (records) => list(records, nameOrId ?? null));
      const lines = receivers.map(({ id, business, status, consecutive_failures, inactive_since, url }) => [
        id,
        business,
        status,
        String(consecutive_failures),
        inactive_since ?? '',
        url,
      ]);
      const head = ['receiver', 'business', 'status', 'failures in a row', 'not active since', 'address'];
      print(json, { receivers }, table(head, lines, 'There are no receivers.'));
    });

  command
    .command('enable <receiver>')
    .description('set a webhook or subscription to active again; its failures are counted anew')
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json }: Json) => {
      const settings = config();
      const changed = await withRecords(settings, (records) => enable(records, id, settings.now()));
      print(json, { id, status: 'active', changed }, [
        `${id} ${changed ? 'is now' : 'already was'} active.`,
        ...(changed ? [`What it missed is sent by: hail-api webhook recover ${id} --since TIME`] : []),
      ]);
    });

  command
    .command('rotate-secret <webhook>')
    .description(
      `make a new secret, shown once; the ones before sign too until their grace is over, ${SECRETS_MAX} in all`,
    )
    .option('--grace <duration>', 'how long the old secret signs, too; 0 ends all that came before', duration, GRACE_MS)
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json, grace }: Json & { readonly grace: number }) => {
      const settings = config();
      const { secret, old_until } = await withRecords(settings, (records) => rotate(records, settings, id, grace));
      const [old_secret_until = null, ...older] = old_until;
      print(json, { id, secret, old_secret_until, older_secrets_until: older }, [
        `New secret of ${id}, shown this once: ${secret}`,
        ...(old_secret_until === null
          ? ['Those before sign nothing any more.']
          : old_until.map((until, k) => `The one ${k + 1} before signs beside it until ${until}.`)),
      ]);
    });

  command
    .command('recover <receiver>')
    .description('send an active receiver what it missed or was given up since an instant')
    .requiredOption('--since <time>', 'date or UTC time, such as 2027-01-31T12:00:00Z', instantArgument)
    .option('--json', 'print one JSON object')
    .action(async (id: string, { json, since }: Json & { readonly since: string }) => {
      const settings = config();
      const { dropped, missed, overdue } = await withRecords(settings, (records) =>
        recoverSince(records, settings, id, since),
      );
      print(json, { id, since, dropped, missed, overdue }, [
        dropped + missed + overdue === 0
          ? `There is nothing to recover for ${id}: no event since ${since} was given up or missed.`
          : `${counted(dropped, 'event')} that had been given up, ${counted(missed, 'event')} that it missed, ${counted(overdue, 'event')} over ${OVERDUE_MS / 60_000} minutes late: the service sends them now.`,
      ]);
    });

  command
    .command('pause')
    .description(
      'send no event and no mail until `resume`: for records that were copied by hand, before their first start',
    )
    .option('--json', 'print one JSON object')
    .action(async ({ json }: Json) => {
      const settings = config();
      const paused = await withRecords(settings, (records) => pause(records, settings.now()));
      print(json, { paused: true, changed: paused }, [
        paused ? `Events and mails wait until: ${RESUME}` : 'Events and mails waited already.',
      ]);
    });

  command
    .command('resume')
    .description('send the events and mails of a restored copy, which waited because its original might send them, too')
    .requiredOption('--original-is-gone', 'the original has stopped and will not start again')
    .option('--json', 'print one JSON object')
    .action(async ({ json }: Json) => {
      const settings = config();
      const changed = await withRecords(settings, (records) => resume(records, settings.now()));
      print(json, { paused: false, changed }, [
        changed ? 'Events and mails are sent from now on.' : 'Events and mails were not paused.',
      ]);
    });

  return command.addCommand(listenCommand(config));
}

async function pause(records: Records, now_ms: number): Promise<boolean> {
  return await records.transaction(async (rows) => {
    if ((await deliveryPause(rows)) !== null) return false;
    await pauseDeliveries(rows, 'an operator paused them', now_ms);
    await recordAct(rows, now_ms, { act: 'deliveries.pause', business_id: null, subject: 'deliveries', detail: {} });
    return true;
  });
}

async function resume(records: Records, now_ms: number): Promise<boolean> {
  return await records.transaction(async (rows) => {
    const ended = await endDeliveryPause(rows);
    if (ended === null) return false;
    const detail = { since: ended.since };
    await recordAct(rows, now_ms, { act: 'deliveries.resume', business_id: null, subject: 'deliveries', detail });
    return true;
  });
}

async function list(records: Records, nameOrId: string | null) {
  const businesses: readonly Pick<Business, 'id' | 'name'>[] =
    nameOrId === null ? await listBusinesses(records.reader) : [await businessNamed(records, nameOrId)];
  const found = await Promise.all(
    businesses.map(async ({ id, name }) =>
      (await listReceivers(records.reader, id)).map(
        ({ url, business_id, warned_at, give_up_mailed_at, format, ...each }) => ({
          ...each,
          business: name,
          url: withoutQuery(url),
        }),
      ),
    ),
  );
  return found.flat();
}

async function enable(records: Records, id: string, now_ms: number): Promise<boolean> {
  return await records.transaction(async (rows) => {
    const receiver = await lockReceiver(rows, records.store, id);
    if (receiver === null) throw unknownReceiver(id);
    const { kind, status, business_id } = receiver;
    if (status === 'active') return false;
    await enableReceiver(rows, receiver, now_ms);
    await recordAct(rows, now_ms, { act: `${kind}.enable`, business_id, subject: id, detail: { before: status } });
    return true;
  });
}

async function rotate(records: Records, { data_root, master_keys, now }: WebhookConfig, id: string, grace_ms: number) {
  const secrets = await openSecrets(records, { records_root: data_root, master_keys, now });
  return await records.transaction(async (rows) => {
    const receiver = await lockReceiver(rows, records.store, id);
    if (receiver === null) throw unknownReceiver(id);
    if (receiver.kind !== 'webhook')
      throw new CommandError(EXIT.usage, `${id} is a subscription, expected a webhook: a new one has a new secret`);
    const rotated = await rotateSecret(rows, secrets, id, grace_ms);
    if ('until' in rotated)
      throw new CommandError(
        EXIT.conflict,
        `${id} has ${SECRETS_MAX} secrets that sign, expected at most ${SECRETS_MAX - 1} before a new one: the first ends at ${rotated.until}, and --grace 0 ends all that came before`,
      );
    const detail = { old_secret_until: rotated.old_until[0] ?? null };
    await recordAct(rows, now(), {
      act: 'webhook.rotate-secret',
      business_id: receiver.business_id,
      subject: id,
      detail,
    });
    return rotated;
  });
}

/** Opens the queue of the records for some tasks to add. */
async function withQueue<Result>({ store }: Records, work: (queue: Queue) => Promise<Result>): Promise<Result> {
  const queue = await openQueue(store, {
    failed: () => {},
    troubled: (name, error) => {
      if (error !== null) process.stderr.write(`queue ${name}: ${String(error)}\n`);
    },
  });
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}

async function recoverSince(records: Records, { now }: WebhookConfig, id: string, since: string): Promise<Recovered> {
  return await withQueue(records, (queue) =>
    records.transaction(async (rows) => {
      const receiver = await lockReceiver(rows, records.store, id);
      if (receiver === null) throw unknownReceiver(id);
      if (receiver.status !== 'active')
        throw new CommandError(EXIT.conflict, `${id} is ${receiver.status}, expected active: enable it first`);
      const times = { since_ms: Date.parse(since), now_ms: now() };
      const recovered = await recover(
        rows,
        { queue, formats: eventFormats(OTHER_FORMATS), store: records.store },
        receiver,
        times,
      );
      const { business_id, kind } = receiver;
      await recordAct(rows, now(), {
        act: `${kind}.recover`,
        business_id,
        subject: id,
        detail: { since, ...recovered },
      });
      return recovered;
    }),
  );
}

function unknownReceiver(id: string): CommandError {
  return new CommandError(EXIT.not_found, `receiver ${id}: does not exist`);
}
