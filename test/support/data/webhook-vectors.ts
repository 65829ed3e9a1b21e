import { z } from 'zod';
import { readDocument } from './markdown.ts';

const Vectors = z.object({
  now_s: z.int(),
  vectors: z.array(
    z.object({
      what: z.string(),
      secrets: z.array(z.string()).min(1),
      body: z.string(),
      headers: z.record(z.string(), z.string()),
    }),
  ),
  forged: z.array(
    z.object({ what: z.string(), secret: z.string(), body: z.string(), signature: z.string(), now_s: z.int() }),
  ),
});
/** The published test vectors: genuine deliveries, forged ones, and the time at which they are checked, Unix seconds. */
export const { now_s, vectors, forged } = Vectors.parse(
  JSON.parse(readDocument('data/reference/webhook-vectors.json')),
);

/** What receivers are asked: a delivery, a secret, the time, and whether it is ours. */
export const QUESTIONS = [
  ...vectors.flatMap(({ what, secrets, body, headers }) =>
    secrets.map((secret) => {
      const signature = headers['X-Service-Signature'] ?? '';
      return { what, body, signature, secret, now_s, ours: true };
    }),
  ),
  ...forged.map((each) => ({ ...each, ours: false })),
];

/** The same for Standard Webhooks: each genuine delivery with each of its secrets, and with one part changed. */
export const STANDARD_QUESTIONS = vectors.flatMap(({ what, secrets, body, headers }) =>
  secrets.flatMap((secret) => {
    const genuine = {
      what,
      body,
      id: headers['webhook-id'] ?? '',
      timestamp: headers['webhook-timestamp'] ?? '',
      signature: headers['webhook-signature'] ?? '',
      secret,
      now_s,
      ours: true,
    };
    const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const changes: Partial<typeof genuine>[] = [
      { what: `${what}, with another body`, body: `${body} ` },
      { what: `${what}, with another id`, id: `${genuine.id}0` },
      { what: `${what}, with another time`, timestamp: String(now_s - 1) },
      { what: `${what}, with another secret`, secret: other },
      { what: `${what}, with a time that is no number`, timestamp: 'now' },
      { what: `${what}, six minutes later`, now_s: now_s + 360 },
    ];
    return [genuine, ...changes.map((change) => ({ ...genuine, ...change, ours: false }))];
  }),
);
