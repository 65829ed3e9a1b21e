#!/usr/bin/env -S node --max-semi-space-size=8 --disable-sigusr1
// The command `hail-api`: looks at the version of Node before anything is read that an older one does not understand.
// Requests leave short-lived objects behind; the usual young generation would grow to 100 MB over them, at no gain in speed.
import { nodeFault } from '../schemas/node-version.js';

// A statement of DuckDB holds a thread of the pool that files, names and addresses are read by as well: with the usual four, as
// many long questions would hold up everything else. It has to be said before the pool is first used.
process.env.UV_THREADPOOL_SIZE ??= '16';

// Where Node was started without the flag above, SIGUSR1 would open its inspector to every user of this machine.
process.on('SIGUSR1', () => {});

const fault = nodeFault();
if (fault === null) await import('./main.ts');
else {
  process.stderr.write(`hail-api: ${fault}\n`);
  process.exitCode = 1;
}
