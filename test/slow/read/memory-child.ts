import { readFileSync } from 'node:fs';
import { BadInput } from '../../../pipeline/error.ts';
import { openFile } from '../../../pipeline/read/inspect.ts';
import { hailField, readGrid } from '../../../pipeline/read/mrms.ts';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';

/** Reads one file the way its kind says and prints the outcome and the peak memory of this process in MB. */
const [kind, path] = process.argv.slice(2) as [string, string];

async function read(bytes: Uint8Array): Promise<void> {
  if (kind === 'grid') hailField(readGrid(bytes, path), path);
  else if (kind === 'probsevere') readProbSevere(bytes, path);
  else {
    const opened = await openFile(bytes, path);
    if (opened.format !== 'ProbSevere') opened.layer(1);
  }
}

let outcome = 'value';
try {
  await read(readFileSync(path));
} catch (error) {
  if (!(error instanceof BadInput)) throw error;
  outcome = error.reason;
}
process.stdout.write(JSON.stringify({ outcome, peak_mb: Math.round(process.resourceUsage().maxRSS / 1000) }));
