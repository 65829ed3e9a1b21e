import { existsSync, readFileSync } from 'node:fs';
import { BadInput } from '../../../pipeline/error.ts';
import { decodeField, parseGrib2 } from '../../../pipeline/grib2/index.ts';
import { gunzip } from '../../../pipeline/raw-file.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { readScan } from '../../../pipeline/read/scan.ts';
import { faultOf } from '../../../pipeline/sources/integrity.ts';

/** Reads one file the way its kind says and prints the outcome and the peak memory of this process in MB. */
let outcome = 'value';
const [kind, path] = process.argv.slice(2) as [string, string];

/** Time that files of these tests carry. */
const SCAN_TIME = Date.parse('2024-05-01T20:12:34Z');
const NO_COMPANIONS = { companions: {}, probsevere: null, previous_probsevere: null };

async function read(bytes: Uint8Array): Promise<void> {
  if (kind === 'grid') hailField(readGrid(bytes, path), path);
  else if (kind === 'probsevere') readProbSevere(bytes, path);
  else if (kind === 'scan') await readScan({ scan_time: SCAN_TIME, mesh: path, ...NO_COMPANIONS });
  else if (kind === 'arrival') outcome = (await faultOf(path, path)) ?? 'whole';
  else for (const field of parseGrib2(gunzip(bytes, path), path)) decodeField(field);
}

try {
  await read(readFileSync(path));
} catch (error) {
  if (!(error instanceof BadInput)) throw error;
  outcome = error.reason;
}
/** Linux counts the peak of the parent into the resource usage of its child, but not into the high-water mark of its memory. */
const STATUS = '/proc/self/status';
const mark_kb = existsSync(STATUS) ? /VmHWM:\s*(\d+)/.exec(readFileSync(STATUS, 'utf8'))?.[1] : undefined;
const peak_kb = Number(mark_kb ?? process.resourceUsage().maxRSS);
process.stdout.write(JSON.stringify({ outcome, peak_mb: Math.round(peak_kb / 1000) }));
