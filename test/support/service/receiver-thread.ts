import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { startReceiver } from './receiver.ts';

/** A receiver answers so much later than it says that it was sent something. */
const ANSWERS_AFTER_MS = 100;

/**
 * A receiver in a thread of its own, which answers while its parent is held up. Says where it is and when a request came, and
 * sets the one shared number to 1 when the answer is sent. Ends after the first message.
 */
const receiver = await startReceiver({ teardown: (end) => parentPort?.once('message', () => void end()) });
const answered = workerData as Int32Array<SharedArrayBuffer>;
receiver.answer = async (_, response) => {
  parentPort?.postMessage('received');
  await sleep(ANSWERS_AFTER_MS);
  response.end('thanks', () => {
    Atomics.store(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
};
parentPort?.postMessage({ url: receiver.url, ca_file: receiver.ca_file });
