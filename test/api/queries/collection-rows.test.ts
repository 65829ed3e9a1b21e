import { rmSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { openCatalog } from '../../../api/catalog.ts';
import { type Engine, openEngine } from '../../../api/duckdb.ts';
import { ApiError } from '../../../api/errors.ts';
import { type CollectionView, openCollectionRows } from '../../../api/queries/collection-rows.ts';
import { type Watch, watches } from '../../../schemas/tables/watches.ts';
import { publishFeeds, watchFile } from '../../support/data/feeds.ts';
import { scratch } from '../../support/data/world.ts';

type Row = Pick<Watch, 'number' | 'issued_at' | 'geometry'>;
const NUMBERS: CollectionView<Row, number[]> = {
  table: watches,
  columns: ['number', 'issued_at', 'geometry'],
  time: 'issued_at',
  make: (rows) => rows.map(({ number }) => number),
};

/** One more than stay in memory. */
const MANY = ['2026-01', '2026-02', '2026-03', '2026-04', '2026-05', '2026-06', '2026-07'];

/** Paths of a watch in each of some months, and an engine that counts its statements. */
async function monthsOf(t: ExecutionContext, months: readonly string[]) {
  const root = await scratch(t);
  for (const [index, month] of months.entries()) {
    const received_ms = Date.parse(`${month}-01T19:00:00Z`);
    await publishFeeds(
      root,
      [watchFile({ number: index + 1, from: '011900', to: '020100' }, [-98, 35, -97, 36], received_ms)],
      received_ms,
    );
  }
  const engine = await openEngine(root);
  const catalog = await openCatalog(root, 0);
  t.teardown(async () => {
    await catalog.close();
    await engine.close();
  });
  const asked: unknown[] = [];
  const rows = async <R>(...given: Parameters<Engine['rows']>): Promise<R[]> => {
    asked.push(given[1]);
    return engine.rows<R>(...given);
  };
  const paths = catalog.edition().collection('watches')?.paths() ?? [];
  return { root, asked, paths, collections: openCollectionRows({ ...engine, rows }) };
}

test('rows come in the order of their files, with instants in milliseconds and geometries as text', async (t) => {
  const { collections, paths } = await monthsOf(t, ['2026-03', '2026-04']);
  const rows = await collections.of({ ...NUMBERS, make: (all) => all }, paths);
  t.deepEqual(
    rows.map(({ number, issued_at, geometry }) => [number, issued_at, geometry?.slice(0, 9)]),
    [
      [1, Date.parse('2026-03-01T19:00:00Z'), 'POLYGON ('],
      [2, Date.parse('2026-04-01T19:00:00Z'), 'POLYGON ('],
    ],
  );
  t.deepEqual(await collections.of(NUMBERS, []), []);
});

test('a file is read once, however often and with whatever others it is asked for, also at the same time', async (t) => {
  const { collections, paths, asked } = await monthsOf(t, ['2026-03', '2026-04']);
  const both = await Promise.all([collections.of(NUMBERS, paths), collections.of(NUMBERS, paths)]);
  t.deepEqual(both, [
    [1, 2],
    [1, 2],
  ]);
  t.deepEqual(await collections.of(NUMBERS, paths.slice(1)), [2]);
  t.is(asked.length, 2);
});

test('what a view makes of the same files is made once', async (t) => {
  const { collections, paths } = await monthsOf(t, ['2026-03']);
  t.is(await collections.of(NUMBERS, paths), await collections.of(NUMBERS, paths));
});

test('rows from an instant on are those at that instant and later, read for themselves', async (t) => {
  const { collections, paths, asked } = await monthsOf(t, ['2026-03', '2026-04']);
  const from_ms = Date.parse('2026-04-01T19:00:00Z');
  t.deepEqual(await collections.of(NUMBERS, paths, from_ms), [2]);
  t.deepEqual(await collections.of(NUMBERS, paths, from_ms + 1), []);
  t.deepEqual(await collections.of(NUMBERS, paths), [1, 2]);
  t.deepEqual(await collections.of(NUMBERS, paths, from_ms), [2]);
  t.is(asked.length, 6);
});

test('of many months those asked for last stay in memory', async (t) => {
  const { collections, paths, asked } = await monthsOf(t, MANY);
  for (const path of paths) await collections.of(NUMBERS, [path]);
  t.is(asked.length, 7);
  await collections.of(NUMBERS, paths.slice(6));
  t.is(asked.length, 7);
  await collections.of(NUMBERS, paths.slice(0, 1));
  t.is(asked.length, 8);
});

test('a failure is not remembered: the next question reads again', async (t) => {
  const { root, collections, paths } = await monthsOf(t, ['2026-03']);
  const engine = await openEngine(root);
  t.teardown(() => engine.close());
  let refused = 0;
  const rows = async <R>(...given: Parameters<Engine['rows']>): Promise<R[]> => {
    if (refused++ === 0) throw new ApiError('overloaded', 'too many questions wait to be answered');
    return engine.rows<R>(...given);
  };
  const busy = openCollectionRows({ ...engine, rows });
  await t.throwsAsync(busy.of(NUMBERS, paths), { message: /too many questions/ });
  t.deepEqual(await busy.of(NUMBERS, paths), [1]);
  rmSync(paths[0] as string);
  await t.throwsAsync(collections.of(NUMBERS, paths), { message: /No files found|cannot open/i });
});
