import { createHmac, timingSafeEqual } from 'node:crypto';

/** Largest difference between the time of a signature and the clock of its receiver, seconds. */
export const TOLERANCE_S = 300;

/** Input of the signatures of one attempt. */
export interface SignatureInput {
  /** Event id: the same with every attempt. */
  readonly id: string;
  /** Event type. */
  readonly event: string;
  /** The exact body, sent as UTF-8. */
  readonly body: string;
  /** `whsec_` and base64. During the grace of replaced secrets there are several. */
  readonly secrets: readonly string[];
  /** Time of the attempt, epoch milliseconds. */
  readonly at_ms: number;
}

/**
 * Headers that name and sign an event: `X-Service-Signature`, whose key is the whole secret, and the headers of Standard Webhooks,
 * whose key is the decoded secret.
 */
export function signatureHeaders({
  id,
  event,
  body,
  secrets,
  at_ms,
}: SignatureInput): Readonly<Record<string, string>> {
  const t = String(Math.floor(at_ms / 1000));
  return {
    'X-Service-Event': event,
    'X-Service-Timestamp': t,
    'X-Service-Delivery-Id': id,
    'X-Service-Signature': [
      `t=${t}`,
      ...secrets.map((secret) => `v1=${hmac(secret, `${t}.${body}`).toString('hex')}`),
    ].join(),
    'webhook-id': id,
    'webhook-timestamp': t,
    'webhook-signature': secrets
      .map(
        (secret) =>
          `v1,${hmac(Buffer.from(secret.slice('whsec_'.length), 'base64'), `${id}.${t}.${body}`).toString('base64')}`,
      )
      .join(' '),
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
  const expected = hmac(secret, `${t}.${body}`);
  const isOurs = (mac: string) =>
    /^v1=[0-9a-f]{64}$/.test(mac) && timingSafeEqual(Buffer.from(mac.slice(3), 'hex'), expected);
  return macs.some(isOurs) ? null : 'signature does not match secret and body';
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}
