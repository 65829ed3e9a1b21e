import { setTimeout as sleep } from 'node:timers/promises';
import { startReceiver } from './receiver.ts';

/** A receiver answers so much later than it says that it was sent something. */
const ANSWERS_AFTER_MS = 100;

/** A receiver in a process of its own, which answers while its parent is held up; says where it is, and when a request came. */
const receiver = await startReceiver({ teardown: (end) => process.once('disconnect', () => void end()) });
receiver.answer = async (_, response) => {
  process.send?.('received');
  await sleep(ANSWERS_AFTER_MS);
  response.end('thanks');
};
process.send?.({ url: receiver.url, ca_file: receiver.ca_file });
