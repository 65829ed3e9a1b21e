#!/usr/bin/env -S node --max-semi-space-size=8 --disable-sigusr1
// The command `hail-api`. Plain JavaScript with old syntax only: it must run on a Node that cannot parse the rest of the project.
// Requests leave short-lived objects behind; the usual young generation would grow to 100 MB over them, at no gain in speed.
import { readFileSync } from 'node:fs';

// A statement of DuckDB holds a thread of the pool that files, names and addresses are read by as well: with the usual four, as
// many long questions would hold up everything else. It has to be said before the pool is first used.
process.env.UV_THREADPOOL_SIZE ??= '16';

// Where Node was started without the flag above, SIGUSR1 would open its inspector to every user of this machine.
process.on('SIGUSR1', () => {});

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const [major, minor] = engines.node.replace('>=', '').split('.').map(Number);
const [foundMajor, foundMinor] = process.versions.node.split('.').map(Number);
if (foundMajor > major || (foundMajor === major && foundMinor >= minor)) await import('./main.ts');
else {
  process.stderr.write(
    `hail-api: Node is ${process.versions.node}, expected ${engines.node}: make and npm run the one that 'make install' puts in place\n`,
  );
  process.exitCode = 1;
}
