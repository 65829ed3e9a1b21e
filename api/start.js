#!/usr/bin/env -S node --max-semi-space-size=8
// The command `hail-api`: looks at the version of Node before anything is read that an older one does not understand.
// Requests leave short-lived objects behind; the usual young generation would grow to 100 MB over them, at no gain in speed.
import { nodeFault } from '../schemas/node-version.js';

const fault = nodeFault();
if (fault === null) await import('./main.ts');
else {
  process.stderr.write(`hail-api: ${fault}\n`);
  process.exitCode = 1;
}
