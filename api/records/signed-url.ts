import { timingSafeEqual } from 'node:crypto';
import type { Secrets } from './secrets.ts';

/** What a signed address leads to. */
export interface Signed {
  /** Path below the public address, which ends in `/v1`. */
  readonly path: string;
  /** Whose it is: not in the address, but part of the signed text. */
  readonly business_id: string;
}

type Signing = Pick<Secrets, 'signatures'>;

/** The query as it is given out, and no other way of writing it. */
const QUERY = /^exp=(\d{1,12})&sig=([A-Za-z0-9_-]{43})$/;

/** Address that opens a file without a key for a number of seconds from now; GET and HEAD only. */
export function signedUrl(base_url: string, signing: Signing, signed: Signed, now_ms: number, seconds: number): string {
  const exp = String(Math.floor(now_ms / 1000) + seconds);
  return `${base_url}${signed.path}?exp=${exp}&sig=${signing.signatures(textOf(signed, exp))[0]}`;
}

/** False for a query that no address has that is good now, whatever it leads to: nothing need be looked up then. */
export function mayBeSigned(search: string, now_ms: number): boolean {
  const [, exp] = QUERY.exec(search) ?? [];
  return exp !== undefined && now_ms < Number(exp) * 1000;
}

/** True for the query of an address that was given out and has not expired. `search`: without '?'. */
export function isSigned(search: string, signing: Signing, signed: Signed, now_ms: number): boolean {
  const [, exp = '', sig = ''] = QUERY.exec(search) ?? [];
  if (!mayBeSigned(search, now_ms)) return false;
  const given = Buffer.from(sig);
  return signing.signatures(textOf(signed, exp)).some((own) => timingSafeEqual(Buffer.from(own), given));
}

/** HEAD is checked as the GET that it is the head of. */
function textOf({ path, business_id }: Signed, exp: string): string {
  return ['GET', path, exp, business_id].join('\n');
}
