import test from 'ava';
import { readHead } from '../../pipeline/publish/manifests.ts';
import { climatologyRow, publishClimatologyRows } from '../support/data/climatology.ts';
import { deliver, filesOf, scansBetween, scratch } from '../support/data/world.ts';
import { writeYearOfLists } from '../support/data/year-of-lists.ts';
import { commandWithPeak } from '../support/kill/peak.ts';

const MOST_MIB = 300;

const onLinux = process.platform === 'linux' ? test : test.skip; // the peak is read from /proc

onLinux(`one new scan at the end of a year of full dates takes less than ${MOST_MIB} MiB`, async (t) => {
  const root = await scratch(t);
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
