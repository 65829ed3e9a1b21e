#!/usr/bin/env -S node --disable-sigusr1
// The command `hail-pipeline`: looks at the version of Node before anything is read that an older one does not understand.
import { nodeFault } from '../schemas/node-version.js';

// Where Node was started without the flag above, SIGUSR1 would open its inspector to every user of this machine.
process.on('SIGUSR1', () => {});

const fault = nodeFault();
if (fault === null) await import('./main.ts');
else {
  process.stderr.write(`hail-pipeline: ${fault}\n`);
  process.exitCode = 1;
}
