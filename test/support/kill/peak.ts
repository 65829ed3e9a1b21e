import fs from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { scratch } from '../data/world.ts';
import { type CommandSettings, command, type Ended } from './killed.ts';

/** Adds what the system says of the process to a file when it ends: VmHWM is the most memory that it ever held, in KiB. */
const TELL_PEAK = `
  import fs from 'node:fs';
  process.on('exit', () => fs.appendFileSync(process.env.PEAK_FILE, fs.readFileSync('/proc/self/status')));`;

/** Runs the pipeline's command on a data root, and the most memory that it held, MiB. Linux only: the peak is read from /proc. */
export async function commandWithPeak(
  t: ExecutionContext,
  root: string,
  args: readonly string[],
  settings: Pick<CommandSettings, 'now_ms'> = {},
): Promise<Ended & { readonly peak_mib: number }> {
  const PEAK_FILE = join(await scratch(t, 'peak'));
  const run = await command(root, args, {
    ...settings,
    environment: { PEAK_FILE },
    node: [`--import=data:text/javascript,${encodeURIComponent(TELL_PEAK)}`],
  });
  const peaks = (await fs.readFile(PEAK_FILE, 'utf8')).matchAll(/VmHWM:\s+(\d+) kB/g);
  return { ...run, peak_mib: Math.round(Math.max(...Array.from(peaks, ([, kib]) => Number(kib))) / 1024) };
}
