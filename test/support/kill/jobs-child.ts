import fsPromises, { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { beforeCalls, countdown, step } from './count-calls.ts';

/*
 * Runs the jobs of a data root until none is pending, and is killed, as kill -9 would, just before so many steps: statements,
 * changes of files, and parts of files that are being made; with `report`, whenever it begins to make one.
 */
const [data_root = '', steps = ''] = process.argv.slice(2);
beforeCalls(StatementSync.prototype, ['run', 'all', 'get', 'iterate'], step);
beforeCalls(DatabaseSync.prototype, ['exec'], step);
beforeCalls(fsPromises, ['mkdir', 'rename', 'rm', 'open'], step);
syncBuiltinESMExports();

// Loaded only now, so that it gets what is watched.
const { openServices } = await import('../../../api/services.ts');
const { PARTS, partOf, runReports, SETTINGS, smallReport, WORDS_OF_FAILURE } = await import('./jobs-load.ts');

const { services, close } = await openServices({ data_root, ...SETTINGS });
countdown.left = steps === 'report' ? Number.POSITIVE_INFINITY : Number(steps);
const end = await runReports(services, async ({ id, params, path }) => {
  if (steps === 'report') process.kill(process.pid, 'SIGKILL');
  const file = await open(path, 'wx');
  for (let part = 0; part < PARTS; part++) {
    step();
    // A file of its own for every process: what is served is of one of them, whole.
    await file.write(partOf(id, process.pid, part));
    if (params.lat < 0 && part === 1) throw new Error(WORDS_OF_FAILURE);
  }
  await file.close();
  return smallReport(process.pid);
});
countdown.left = Number.POSITIVE_INFINITY;
await end();
await close();
