import { HOSTILE } from './hostile.ts';
import { startReceiver } from './receiver.ts';

/** A receiver in a process of its own whose paths `/hostile/<name>/…` misbehave: `node hostile-child.ts CERTIFICATE`. */
const [certificate = ''] = process.argv.slice(2);
const scope = { teardown: (end: () => void | Promise<void>) => process.once('disconnect', () => void end()) };
const receiver = await startReceiver(scope, { certificate: JSON.parse(certificate) });
receiver.answer = ({ path }, response) => {
  process.send?.('request');
  HOSTILE[decodeURIComponent(path.split('/')[2] ?? '')]?.(response);
};
process.send?.({ url: receiver.url });
