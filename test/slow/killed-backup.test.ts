import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { jobFilePath } from '../../api/jobs/files.ts';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { commandPath } from '../support/kill/command.ts';
import { inRecords, withReports } from '../support/service/done-reports.ts';
import { operator } from '../support/service/run-command.ts';

const PRELOAD = fileURLToPath(new URL('../support/kill/kill-at.ts', import.meta.url));
/** Points at which each command is killed, spread over all of them. */
const KILLS = 4;

/** Runs `hail-api` until the point, null for all of it; its exit code, null when it was killed. */
async function run(data_root: string, args: readonly string[], kill: Record<string, string>): Promise<number | null> {
  const child = spawn(process.execPath, ['--import', PRELOAD, commandPath('hail-api'), ...args], {
    env: { ...BARE_ENVIRONMENT, HAIL_DATA: data_root, ...kill },
    stdio: 'ignore',
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

/** Number of points that a run has written down. */
function pointsOf(log: string): number {
  return readFileSync(log, 'utf8').trimEnd().split('\n').length;
}

function spread(points: number): readonly number[] {
  return Array.from({ length: KILLS }, (_, k) => Math.ceil(((k + 1) * points) / KILLS));
}

test.serial('a backup killed at any point is refused or whole, and the next one under its name is whole', async (t) => {
  const source = operator(t);
  const jobs = await withReports(source, ['one', 'two']);
  const { data_root } = source.config;
  const [folder, log] = [source.path('folder'), source.path('points')];
  const args = ['backup', 'create', folder, '--with-files'];
  t.is(await run(data_root, args, { KILL_LOG: log }), 0);
  const points = pointsOf(log);
  t.true(points > 10, `${points} points`);
  for (const point of spread(points)) {
    rmSync(folder, { recursive: true, force: true });
    t.is(await run(data_root, args, { KILL_AT: String(point) }), null, `point ${point}`);
    const target = operator(t);
    for (const left of [folder, `${folder}.partial`].filter((path) => existsSync(path))) {
      const { code, err } = await target.run('restore', left);
      if (code !== 0) t.regex(err, /has no backup\.json|is not the list of a backup|cut short/, `point ${point}`);
      else for (const job of jobs) t.true(existsSync(jobFilePath(target.config.data_root, job)), `point ${point}`);
    }
    rmSync(folder, { recursive: true, force: true });
    t.is((await source.run('backup', 'create', folder, '--with-files')).code, 0, `point ${point}`);
    t.false(existsSync(`${folder}.partial`));
  }
});

test.serial('a restore killed at any point leaves nothing that serves, and the next one ends it', async (t) => {
  const source = operator(t);
  const jobs = await withReports(source, ['one', 'two']);
  const folder = source.path('folder');
  await source.json('backup', 'create', folder, '--with-files');
  const log = source.path('points');
  t.is(await run(operator(t).config.data_root, ['restore', folder], { KILL_LOG: log }), 0);
  for (const point of spread(pointsOf(log))) {
    const target = operator(t);
    const { data_root } = target.config;
    t.is(await run(data_root, ['restore', folder], { KILL_AT: String(point) }), null, `point ${point}`);
    const businesses = await inRecords(target, ({ reader }) => reader.selectFrom('businesses').select('id').execute());
    t.deepEqual(businesses, [], `point ${point}`);
    t.is((await target.run('restore', folder)).code, 0, `point ${point}`);
    for (const job of jobs) t.true(readFileSync(jobFilePath(data_root, job)).length === job.bytes);
  }
});
