import { startReceiver } from './receiver.ts';

/** A receiver in a process of its own, which answers while its parent is held up; tells where it is. */
const { url, ca_file } = await startReceiver({ teardown: (end) => process.once('disconnect', () => void end()) });
process.send?.({ url, ca_file });
