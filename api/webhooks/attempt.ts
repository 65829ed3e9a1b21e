import { releaseVersion } from '../config.ts';
import type { WebhookClient } from './client.ts';
import type { SigningReceiver } from './receivers.ts';
import type { EndedAttempt } from './record.ts';
import { signatureHeaders } from './sign.ts';

/** What is sent: its bytes are the same with every attempt. */
export interface SignedBody {
  /** Event id. */
  readonly id: string;
  readonly event: string;
  readonly body: string;
}

/** How an attempt ended. */
export type Outcome = Omit<EndedAttempt, 'push_id' | 'attempt' | 'first_attempt' | 'since_first_ms'>;

const USER_AGENT = `hail-webhooks/${releaseVersion()}`;

/** Sends a message to a receiver once, signed with all its secrets. */
export async function attemptDelivery(
  webhookClient: WebhookClient,
  { url, secrets }: Pick<SigningReceiver, 'url' | 'secrets'>,
  { id, event, body }: SignedBody,
): Promise<Outcome> {
  const begun_ms = performance.now();
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    ...signatureHeaders({ id, event, body, secrets: [...secrets], at_ms: Date.now() }),
  };
  const { status_code, error, error_class, answer, retry_after_ms } = await webhookClient.post({ url, body, headers });
  // The clock may be set while a receiver is waited for: what follows is due by the clock as it is now.
  const ended_ms = Date.now();
  const noted = { started_ms: ended_ms - Math.round(performance.now() - begun_ms), ended_ms };
  return { ...noted, status_code, error, error_class, answer, retry_after_ms };
}
