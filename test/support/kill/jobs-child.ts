import fsPromises, { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';

/*
 * Runs the jobs of a data root until none is pending, and is killed, as kill -9 would, just before so many steps: statements,
 * changes of files, and parts of files that are being made; with `report`, whenever it begins to make one.
 */
const [data_root = '', steps = ''] = process.argv.slice(2);
let left = Number.POSITIVE_INFINITY;

function step(): void {
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
}

/** Puts a step before every call of a method. */
function watch(target: object, name: string): void {
  const original: (...args: unknown[]) => unknown = Reflect.get(target, name);
  Reflect.set(target, name, function (this: unknown, ...args: unknown[]) {
    step();
    return original.apply(this, args);
  });
}
for (const name of ['run', 'all', 'get', 'iterate']) watch(StatementSync.prototype, name);
watch(DatabaseSync.prototype, 'exec');
for (const name of ['mkdir', 'rename', 'rm', 'open']) watch(fsPromises, name);
syncBuiltinESMExports();

// Loaded only now, so that it gets what is watched.
const { openServices } = await import('../../../api/services.ts');
const { PARTS, partOf, runReports, SETTINGS, smallReport, WORDS_OF_FAILURE } = await import('./jobs-load.ts');

const { services, close } = await openServices({ data_root, ...SETTINGS });
left = steps === 'report' ? Number.POSITIVE_INFINITY : Number(steps);
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
left = Number.POSITIVE_INFINITY;
await end();
await close();
