import { randomBytes } from 'node:crypto';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { z } from 'zod';
import { instant } from '../../schemas/time.ts';
import type { Cipher } from '../records/cipher.ts';
import type { Database } from '../records/schema.ts';

const SECRET_BYTES = 32;
const SECRET_PREFIX = 'whsec_';
const SHOWN_CHARACTERS = 4;

/** Secrets of a webhook that sign at a time: the newest, and replaced ones until their grace ends. */
export const SECRETS_MAX = 3;

/** Replaced secrets, newest first. Each signs with the newer ones until an instant. */
const OldSecrets = z.array(z.object({ secret: z.string(), until: z.string() }));

/** Encrypted secrets of a receiver. `old_secret`: all replaced secrets in one text. */
type SecretColumns = Pick<Selectable<Database['webhooks']>, 'secret' | 'old_secret'>;

/** A new random signing secret. */
export function newSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** A secret in the form that lists show. */
export function maskedSecret(secret: string): string {
  return `${SECRET_PREFIX}****${secret.slice(-SHOWN_CHARACTERS)}`;
}

/** Decrypts the secrets that sign at an instant, newest first. `machine_ms`: epoch milliseconds of the machine's clock. */
export function secretsInForce(row: SecretColumns, cipher: Cipher, machine_ms: number): readonly string[] {
  return [cipher.decrypt(row.secret), ...oldSecrets(row, cipher, machine_ms).map(({ secret }) => secret)];
}

/**
 * Replaces the secret of a webhook whose row the transaction holds. Replaced secrets sign until their grace ends; a grace of 0
 * ends all of them at once. Returns the new secret, and the ends of the replaced ones, the latest replaced first. Where more than
 * SECRETS_MAX would sign, changes nothing and returns when the first of them ends.
 */
export async function rotateSecret(
  rows: Transaction<Database>,
  cipher: Cipher,
  webhook: SecretColumns & { readonly id: string },
  grace_ms: number,
): Promise<{ readonly secret: string; readonly old_until: readonly string[] } | { readonly until: string }> {
  const now_ms = Date.now();
  const replaced = { secret: cipher.decrypt(webhook.secret), until: instant(now_ms + grace_ms) };
  const old = grace_ms === 0 ? [] : [replaced, ...oldSecrets(webhook, cipher, now_ms)];
  const old_until = old.map(({ until }) => until);
  const [first] = old_until.slice(1).toSorted();
  if (old.length >= SECRETS_MAX && first !== undefined) return { until: first };
  const secret = newSecret();
  await rows
    .updateTable('webhooks')
    .set({
      secret: cipher.encrypt(secret),
      old_secret: old.length === 0 ? null : cipher.encrypt(JSON.stringify(old)),
      old_secret_until: old_until.toSorted().at(-1) ?? null,
    })
    .where('id', '=', webhook.id)
    .execute();
  return { secret, old_until };
}

/** Every stored signing secret, decrypted, replaced ones included. */
export async function storedSecrets(rows: Kysely<Database>, cipher: Cipher): Promise<readonly string[]> {
  const webhooks = await rows.selectFrom('webhooks').select(['secret', 'old_secret']).execute();
  const subscriptions = await rows.selectFrom('subscriptions').select('secret').execute();
  return [...webhooks, ...subscriptions.map((row) => ({ ...row, old_secret: null }))].flatMap((row) =>
    secretsInForce(row, cipher, 0),
  );
}

/** Replaced secrets of a row that still sign at an instant. */
function oldSecrets({ old_secret }: SecretColumns, { decrypt }: Cipher, machine_ms: number) {
  if (old_secret === null) return [];
  return OldSecrets.parse(JSON.parse(decrypt(old_secret))).filter(({ until }) => until > instant(machine_ms));
}
