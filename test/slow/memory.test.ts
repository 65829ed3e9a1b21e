import fs from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readHead } from '../../pipeline/publish/manifests.ts';
import { climatologyRow, publishClimatologyRows } from '../support/data/climatology.ts';
import { deliver, filesOf, onRoot, scansBetween, scratch } from '../support/data/world.ts';
import { writeYearOfLists } from '../support/data/year-of-lists.ts';
import { type CommandSettings, command, type Ended } from '../support/kill/killed.ts';

/** Adds what the system says of the process to a file when it ends: VmHWM is the most memory that it ever held, in KiB. */
const TELL_PEAK = `
  import fs from 'node:fs';
  process.on('exit', () => fs.appendFileSync(process.env.PEAK_FILE, fs.readFileSync('/proc/self/status')));`;

/** Runs the pipeline's command on a data root, and the most memory that it held, MiB. Linux only: the peak is read from /proc. */
async function commandWithPeak(
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

const MOST_MIB = 500;

const onLinux = process.platform === 'linux' ? test : test.skip; // the peak is read from /proc

onLinux(`one new scan at the end of a year of full dates takes less than ${MOST_MIB} MiB`, async (t) => {
  const root = await scratch(t);
  await onRoot(root, {}, async () => {}); // gives it its name
  await writeYearOfLists(root, '2026-04-30', 366);
  // Made of all these dates, so that it is not due.
  const made_of = { storm_dates: 367, last_date: '2026-05-01', data_source: 'simulated' } as const;
  await publishClimatologyRows(root, [climatologyRow(made_of)], 'simulated');
  const scans = (await scansBetween('00:00', '00:04')).slice(0, 1);
  const from = await deliver(await scratch(t, 'from'), filesOf(scans));
  const run = await commandWithPeak(t, root, ['ingest', '--source', 'dir', '--from', from, '--no-progress', '--json']);
  t.is(run.code, 0, run.stderr);
  const report = JSON.parse(run.stdout);
  t.is(report.run.scans, 1);
  t.is(report.climatology_failure, null);
  t.log(`peak ${run.peak_mib} MiB`);
  t.true(run.peak_mib < MOST_MIB, `${run.peak_mib} MiB`);
  t.is((await readHead(root, '2026-04-30'))?.commit, 1);
});
