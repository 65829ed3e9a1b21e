import { z } from 'zod';
import { instant } from '../store/instant.ts';
import type { Secrets } from '../store/secrets.ts';

/** A secret that was replaced, and still signs, with the newer ones, until an instant. */
const OldSecret = z.object({ secret: z.string(), until: z.string() });
export type OldSecret = z.infer<typeof OldSecret>;

/** Columns of a webhook that hold its replaced secrets: all of them in one encrypted text, and when the last one ends. */
export interface OldSecretColumns {
  readonly old_secret: string | null;
  readonly old_secret_until: string | null;
}

/** The replaced secrets of a row, newest first, those that have ended among them. */
export function readOldSecrets(
  { old_secret, old_secret_until }: OldSecretColumns,
  { decrypt }: Pick<Secrets, 'decrypt'>,
): readonly OldSecret[] {
  if (old_secret === null || old_secret_until === null) return [];
  const text = decrypt(old_secret);
  // Earlier versions stored one secret as it is.
  if (!text.startsWith('[')) return [{ secret: text, until: old_secret_until }];
  return z.array(OldSecret).parse(JSON.parse(text));
}

/** Those that sign at an instant, epoch milliseconds of the machine's clock. */
export function oldSecretsInForce(
  columns: OldSecretColumns,
  secrets: Pick<Secrets, 'decrypt'>,
  machine_ms: number,
): readonly OldSecret[] {
  return readOldSecrets(columns, secrets).filter(({ until }) => until > instant(machine_ms));
}

/** The columns for some replaced secrets. */
export function oldSecretColumns(old: readonly OldSecret[], { encrypt }: Pick<Secrets, 'encrypt'>): OldSecretColumns {
  const old_secret_until =
    old
      .map(({ until }) => until)
      .toSorted()
      .at(-1) ?? null;
  return { old_secret: old_secret_until === null ? null : encrypt(JSON.stringify(old)), old_secret_until };
}
