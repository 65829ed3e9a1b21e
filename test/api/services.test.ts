import fs from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { CollectionEdition } from '../../api/catalog.ts';
import { forecastOfCell } from '../../api/queries/hail-forecast.ts';
import { journalPath } from '../../api/records/database.ts';
import { RootState } from '../../api/root-memory.ts';
import { openServices } from '../../api/services.ts';
import { forecastRows, publishForecast } from '../support/data/model-rows.ts';
import { scratch } from '../support/data/world.ts';

const CONFIG = {
  database_url: null,
  storm_day_start_hour: 0,
  base_url: 'http://127.0.0.1:8080/v1',
  now: () => Date.parse('2026-05-02T00:12:00Z'),
};

/** Files of this process that lie below a folder, and are open. */
async function openFilesIn(folder: string): Promise<string[]> {
  const descriptors = await fs.readdir('/proc/self/fd');
  const names = await Promise.all(descriptors.map((each) => fs.readlink(`/proc/self/fd/${each}`).catch(() => '')));
  return names.filter((name) => name.startsWith(folder));
}

test('services over a root that does not exist yet are empty, and close what they opened', async (t) => {
  const data_root = await scratch(t);
  const { services, close } = await openServices({ ...CONFIG, data_root });
  t.deepEqual(services.catalog.edition().dates, []);
  t.is(services.live.snapshot().newest_scan_ms, null);
  t.is(services.terrain.model(), null);
  for (const engine of [services.engine, services.jobEngine])
    t.deepEqual(await engine.rows('SELECT 1 AS one'), [{ one: 1 }]);
  t.not((await openFilesIn(data_root)).length, 0);
  await close();
  t.deepEqual(await openFilesIn(data_root), []);
  await t.throwsAsync(services.engine.rows('SELECT 1'), { message: 'the query engine is closed' });
  await t.throwsAsync(services.jobEngine.rows('SELECT 1'), { message: 'the query engine is closed' });
});

test('records may lie apart from the data root', async (t) => {
  const [data_root, records_root] = [await scratch(t, 'data'), await scratch(t, 'records')];
  const { close } = await openServices({ ...CONFIG, data_root, records_root });
  await close();
  await t.throwsAsync(fs.access(data_root), { code: 'ENOENT' });
  await t.notThrowsAsync(fs.access(join(records_root, 'records/hail.sqlite')));
});

test('when something cannot be opened, what was opened before is closed', async (t) => {
  const data_root = await scratch(t);
  const { services, close } = await openServices({ ...CONFIG, data_root });
  await services.records.transaction((rows) =>
    rows.insertInto('data_root').values({ name: 'root', state: '{"commits":"none"}', noted_at: '' }).execute(),
  );
  await close();
  t.false(RootState.safeParse({ commits: 'none' }).success, 'the catalog cannot recall what the root held');
  await t.throwsAsync(openServices({ ...CONFIG, data_root }), { name: 'ZodError' });
  t.deepEqual(await openFilesIn(data_root), []);
});

test('a journal that is none is said, and the records are closed again', async (t) => {
  const data_root = await scratch(t);
  await (await openServices({ ...CONFIG, data_root })).close();
  await fs.writeFile(journalPath(data_root), 'not a commit\n');
  await t.throwsAsync(openServices({ ...CONFIG, data_root }), { message: /line 1 is no commit in doubt/ });
  t.deepEqual(await openFilesIn(data_root), []);
});

test('a forecast that somebody asked for is read again once a new one is published, before the next question', async (t) => {
  const data_root = await scratch(t);
  const publish = (from: string) =>
    publishForecast(data_root, forecastRows({ geohash4: '9y68' }, from, 2), CONFIG.now());
  await publish('2026-05-02T00:00:00Z');
  const { services, close } = await openServices({ ...CONFIG, data_root });
  t.teardown(close);
  const { catalog, cells, engine } = services;
  const ask = () => forecastOfCell(cells, catalog.edition().collection('forecast') as CollectionEdition, '9y68');
  await ask();
  let statements = 0;
  const { rows } = engine;
  const counted: typeof rows = (...question) => {
    statements += 1;
    return rows(...question);
  };
  Object.assign(engine, { rows: counted });
  await publish('2026-05-02T06:00:00Z');
  await catalog.refresh();
  const end = performance.now() + 60_000;
  while (statements === 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
  t.true(statements > 0, 'nothing was read within a minute');
  t.is((await ask()).newest?.run_time, Date.parse('2026-05-02T06:00:00Z'));
  const read = statements;
  await ask();
  t.is(statements, read);
});
