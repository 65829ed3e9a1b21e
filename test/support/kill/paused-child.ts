import { writeSync } from 'node:fs';
import fsPromises, { writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

/*
 * Runs the report of a data root, and stands still, as a container that is paused, with its row ended and its file not yet in
 * its place. Says so before, on standard output; whoever started it lets it go on.
 */
const [data_root = '', database_url = ''] = process.argv.slice(2);

const { rename } = fsPromises;
fsPromises.rename = (from, to) => {
  if (String(to).includes('/reports/')) {
    writeSync(1, 'still\n');
    process.kill(process.pid, 'SIGSTOP');
  }
  return rename(from, to);
};
syncBuiltinESMExports();

// Loaded only now, so that it gets what stands still.
const { default: pino } = await import('pino');
const { startJobs } = await import('../../../api/jobs/start.ts');
const { jobBacklog } = await import('../../../api/records/jobs.ts');
const { openServices } = await import('../../../api/services.ts');
const { SETTINGS, smallReport } = await import('./jobs-load.ts');

const { services, close } = await openServices({ ...SETTINGS, data_root, database_url });
const end = startJobs(
  services,
  pino({ level: 'silent' }),
  {
    report: async ({ path }) => {
      await writeFile(path, 'by the one that stood still');
      return smallReport(process.pid);
    },
    export: () => Promise.reject(new Error('there are no exports here')),
  },
  { lease_ms: 300, retry_wait_ms: 0 },
);
for (;;) {
  const { queued, running } = await jobBacklog(services.records.reader);
  if (queued + running === 0) break;
  await sleep(10);
}
await end();
await close();
