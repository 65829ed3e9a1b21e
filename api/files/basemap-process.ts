/** Process that makes the base map and writes it, flushed to disk, to the path it is given, while the process of the given id waits for it. */
import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { groundArchive } from './basemap-tiles.ts';

/** Of -20 to 19: answers to requests, at 0, come first. */
const PRIORITY = 5;

setPriority(PRIORITY);
const service = Number(process.argv[3]);
const archive = groundArchive();
// Without the service the file would never be moved into place.
if (process.ppid === service) {
  const file = openSync(String(process.argv[2]), 'wx');
  try {
    writeFileSync(file, archive);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
