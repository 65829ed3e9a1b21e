import type { Kysely, Transaction } from 'kysely';
import type { Database } from '../store/schema.ts';
import type { KeyVariant } from './key-text.ts';

/** Variants in the words of operators. */
export const VARIANT_WORDS = ['current', 'legacy'] as const;
export type VariantWord = (typeof VARIANT_WORDS)[number];

/** The variant that an operator names. */
export function variantOf(word: VariantWord): KeyVariant {
  return word === 'legacy' ? 'earlier' : word;
}

/** The operators' word for a variant. */
export function wordOf(variant: KeyVariant): VariantWord {
  return variant === 'earlier' ? 'legacy' : variant;
}

/** Keys with what is settled for them beside their scopes; a key without rules has nulls. */
export function keysWithRules(rows: Kysely<Database>) {
  return rows
    .selectFrom('keys')
    .leftJoin('key_rules', 'key_rules.key_id', 'keys.id')
    .selectAll('keys')
    .select('key_rules.variant');
}

/** Settles the variant of a new key; one of the current variant needs no row. */
export async function setKeyVariant(rows: Transaction<Database>, key_id: string, variant: KeyVariant): Promise<void> {
  if (variant === 'current') return;
  await rows.insertInto('key_rules').values({ key_id, variant, monthly_cap: null }).execute();
}
