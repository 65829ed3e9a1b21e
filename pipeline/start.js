#!/usr/bin/env -S node --disable-sigusr1
// The command `hail-pipeline`. Plain JavaScript with old syntax only: it must run on a Node that cannot parse the rest of the project.
import { readFileSync } from 'node:fs';

// Where Node was started without the flag above, SIGUSR1 would open its inspector to every user of this machine.
process.on('SIGUSR1', () => {});

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const [major, minor] = engines.node.replace('>=', '').split('.').map(Number);
const [foundMajor, foundMinor] = process.versions.node.split('.').map(Number);
if (foundMajor > major || (foundMajor === major && foundMinor >= minor)) await import('./main.ts');
else {
  process.stderr.write(
    `hail-pipeline: Node is ${process.versions.node}, expected ${engines.node}: make and npm run the one that 'make install' puts in place\n`,
  );
  process.exitCode = 1;
}
