#!/usr/bin/env node
// The command `hail-pipeline`: looks at the version of Node before anything is read that an older one does not understand.
import { nodeFault } from '../schemas/node-version.js';

const fault = nodeFault();
if (fault === null) await import('./main.ts');
else {
  process.stderr.write(`hail-pipeline: ${fault}\n`);
  process.exitCode = 1;
}
