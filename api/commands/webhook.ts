import { type Command, Option } from 'commander';
import type { Transaction } from 'kysely';
import { listBusinesses } from '../accounts/businesses.ts';
import type { Config } from '../config.ts';
import { recordAct } from '../records/audit.ts';
import { openCipher } from '../records/cipher.ts';
import type { Database } from '../records/schema.ts';
import { openQueue } from '../records/tasks.ts';
import { withoutQuery } from '../webhooks/attempts.ts';
import { findReceiver, listReceivers, type Receiver, setReceiverStatus } from '../webhooks/receivers.ts';
import { recover } from '../webhooks/recover.ts';
import { rotateSecret, SECRETS_MAX } from '../webhooks/signing-secrets.ts';
import { businessNamed, CommandError, type Desk, duration, group, onRecords, parseInstant } from './cli.ts';
import { listenCommand } from './webhook-listen.ts';

const GRACE_MS = 24 * 3_600_000;

/** `hail-api webhook`: receivers of events, their secrets, and a receiver for trials. */
export function webhookCommand(config: () => Config): Command {
  const about = 'receivers of events: list, enable, secrets, recovery, a trial receiver';
  return group('webhook', about, [
    onRecords(config, {
      usage: 'list [business]',
      about: 'webhooks and subscriptions with their addresses, of one business or of all',
      run: async ({ records }, _, nameOrId?: string) => {
        const businesses =
          nameOrId === undefined ? await listBusinesses(records.reader) : [await businessNamed(records, nameOrId)];
        const receivers = [];
        for (const { id, name: business } of businesses)
          for (const { url, kind, id: receiver, status, ...rest } of await listReceivers(records.reader, id)) {
            const { consecutive_failures, inactive_since } = rest;
            const state = { status, consecutive_failures, inactive_since };
            receivers.push({ kind, id: receiver, business, url: withoutQuery(url), ...state });
          }
        return { json: { receivers } };
      },
    }),
    onRecords(config, {
      usage: 'enable <receiver>',
      about: 'set a webhook or subscription to active again; its failures are counted anew',
      run: async (desk, _, id) => {
        const changed = await onReceiver(desk, id, async (rows, receiver) => {
          if (receiver.status === 'active') return false;
          await setReceiverStatus(rows, receiver, 'active', desk.now_ms);
          await note(rows, desk, receiver, 'enable', { before: receiver.status });
          return true;
        });
        return { json: { id, status: 'active', changed } };
      },
    }),
    onRecords(config, {
      usage: 'rotate-secret <webhook>',
      about: `make a new secret, shown once; the ones before sign too until their grace is over, ${SECRETS_MAX} in all`,
      options: (command) =>
        command.addOption(
          new Option('--grace <duration>', 'how long the old secret signs, too; 0 ends all that came before')
            .argParser(duration)
            .default(GRACE_MS, '24h'),
        ),
      run: async (desk, { grace }: { readonly grace: number }, id) => {
        const { data_root, master_keys, now } = desk.settings;
        const cipher = await openCipher(desk.records.store, { records_root: data_root, master_keys, now });
        return await onReceiver(desk, id, async (rows, receiver) => {
          if (receiver.kind !== 'webhook')
            throw new CommandError('usage', `${id} is a subscription, expected a webhook: a new one has a new secret`);
          const rotated = await rotateSecret(rows, cipher, receiver, grace);
          if ('until' in rotated)
            throw new CommandError(
              'conflict',
              `${id} has ${SECRETS_MAX} secrets that sign, expected at most ${SECRETS_MAX - 1} before a new one: the first ends at ${rotated.until}, and --grace 0 ends all that came before`,
            );
          const [old_secret_until = null, ...older_secrets_until] = rotated.old_until;
          await note(rows, desk, receiver, 'rotate-secret', { old_secret_until });
          return { json: { id, secret: rotated.secret, old_secret_until, older_secrets_until } };
        });
      },
    }),
    onRecords(config, {
      usage: 'recover <receiver>',
      about: 'send an active receiver what it missed or was given up since an instant',
      options: (command) =>
        command.requiredOption('--since <time>', 'date or UTC time, such as 2027-01-31T12:00:00Z', parseInstant),
      run: async (desk, { since }: { readonly since: string }, id) => {
        const { store } = desk.records;
        const queue = openQueue(store, { failed: () => {}, troubled: () => {} }); // runs nothing here
        return await onReceiver(desk, id, async (rows, receiver) => {
          if (receiver.status !== 'active')
            throw new CommandError('conflict', `${id} is ${receiver.status}, expected active: enable it first`);
          const recovered = await recover(rows, { queue, store }, receiver, {
            since_ms: Date.parse(since),
            now_ms: desk.now_ms,
          });
          await note(rows, desk, receiver, 'recover', { since, ...recovered });
          return { json: { id, since, ...recovered } };
        });
      },
    }),
    listenCommand(config),
  ]);
}

/** Works on a receiver whose row is locked; throws when there is none. */
async function onReceiver<Result>(
  { records }: Desk,
  id: string,
  work: (rows: Transaction<Database>, receiver: Receiver) => Promise<Result>,
): Promise<Result> {
  return await records.transaction(async (rows) => {
    const receiver = await findReceiver(rows, id, records.store.forUpdate);
    if (receiver === null) throw new CommandError('not_found', `receiver ${id}: does not exist`);
    return await work(rows, receiver);
  });
}

/** Notes an act on a receiver in the audit log. */
async function note(
  rows: Transaction<Database>,
  { now_ms }: Desk,
  { kind, id, business_id }: Receiver,
  verb: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordAct(rows, now_ms, { act: `${kind}.${verb}`, business_id, subject: id, detail });
}
