import { writeSync } from 'node:fs';
import fsPromises, { writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

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
const { openServices } = await import('../../../api/services.ts');
const { runReports, SETTINGS, smallReport } = await import('./jobs-load.ts');

const { services, close } = await openServices({ ...SETTINGS, data_root, database_url });
const end = await runReports(services, async ({ path }) => {
  await writeFile(path, 'by the one that stood still');
  return smallReport(process.pid);
});
await end();
await close();
