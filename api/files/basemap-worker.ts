/** Thread that makes the base map and writes it, flushed to disk, to the path in `workerData`. */
import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { groundArchive } from './basemap-tiles.ts';

const archive = groundArchive();
const file = openSync(String(workerData), 'wx');
try {
  writeFileSync(file, archive);
  fsyncSync(file);
} finally {
  closeSync(file);
}
