import { createHmac, timingSafeEqual } from 'node:crypto';

/** Largest difference between the time of a signature and the clock of its receiver, seconds. */
export const TOLERANCE_S = 300;

/**
 * Headers that name and sign an event with its exact body: `X-Service-Signature`, whose key is the whole secret, and the headers of
 * Standard Webhooks, whose key is the decoded secret. `secrets`: `whsec_` and base64, several during the grace of replaced ones;
 * `at_ms`: time of the attempt, epoch milliseconds.
 */
export function signatureHeaders(
  { id, event, body }: Readonly<Record<'id' | 'event' | 'body', string>>,
  secrets: readonly string[],
  at_ms: number,
): Readonly<Record<string, string>> {
  const t = String(Math.floor(at_ms / 1000));
  const decoded = (secret: string) => Buffer.from(secret.slice('whsec_'.length), 'base64');
  return {
    'X-Service-Event': event,
    'X-Service-Timestamp': t,
    'X-Service-Delivery-Id': id,
    'X-Service-Signature': [`t=${t}`, ...secrets.map((key) => `v1=${hmac(key, `${t}.${body}`, 'hex')}`)].join(),
    'webhook-id': id,
    'webhook-timestamp': t,
    'webhook-signature': secrets.map((key) => `v1,${hmac(decoded(key), `${id}.${t}.${body}`, 'base64')}`).join(' '),
  };
}

/** Why an `X-Service-Signature` is not valid for a receiver with one secret; null: it is valid now. */
export function signatureFault(signature: string, body: string, secret: string, now_ms: number): string | null {
  const [time = '', ...macs] = signature.split(',');
  if (!/^t=\d{1,12}$/.test(time))
    return `signature begins with ${JSON.stringify(time.slice(0, 20))}, expected t=<unix time>`;
  const t = time.slice('t='.length);
  if (Math.abs(now_ms / 1000 - Number(t)) > TOLERANCE_S)
    return `signature is of ${new Date(Number(t) * 1000).toISOString()}, expected one of the last ${TOLERANCE_S} s`;
  const expected = Buffer.from(`v1=${hmac(secret, `${t}.${body}`, 'hex')}`);
  const isOurs = (mac: string) => /^v1=[0-9a-f]{64}$/.test(mac) && timingSafeEqual(Buffer.from(mac), expected);
  return macs.some(isOurs) ? null : 'signature does not match secret and body';
}

function hmac(key: string | Buffer, text: string, encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', key).update(text, 'utf8').digest(encoding);
}
