import type { PostOutcome, WebhookClient } from './client.ts';
import type { Message } from './messages.ts';
import type { SigningReceiver } from './receivers.ts';
import { signatureHeaders } from './signature.ts';

/** The signed parts of a message. Its bytes are the same with every attempt. */
export type SignedMessage = Pick<Message, 'id' | 'event' | 'body'>;

/** Result of one attempt. Times are epoch milliseconds of the machine's clock. */
export interface AttemptResult extends Omit<PostOutcome, 'duration_ms'> {
  readonly started_ms: number;
  readonly ended_ms: number;
}

/** Posts a message to a receiver once, signed with all its secrets. */
export async function postSigned(
  webhookClient: WebhookClient,
  { url, secrets }: Pick<SigningReceiver, 'url' | 'secrets'>,
  { id, event, body }: SignedMessage,
): Promise<AttemptResult> {
  const headers = signatureHeaders({ id, event, body, secrets, at_ms: Date.now() });
  const { duration_ms, ...outcome } = await webhookClient.post({ url, body, headers });
  // The clock may be set during the attempt. Retries are due by the clock as it is at the end.
  const ended_ms = Date.now();
  return { ...outcome, started_ms: ended_ms - duration_ms, ended_ms };
}
