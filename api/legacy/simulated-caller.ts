import type { Caller } from '../accounts/keyring.ts';

/** Requests a minute of a key that gets simulated answers, whatever the plan. */
export const SIMULATED_RATE_PER_MINUTE = 600;

/** True for the test keys of the earlier variant: they are answered with simulated data, for nothing. */
export function isSimulated({ kind, variant }: Pick<Caller, 'kind' | 'variant'>): boolean {
  return kind === 'test' && variant === 'earlier';
}
