import test from 'ava';
import { openCatalog } from '../../../api/catalog.ts';
import { openEngine, type Parameter } from '../../../api/duckdb.ts';
import { type CellView, IN_PART, openCellRows } from '../../../api/queries/cell-rows.ts';
import { packed, unpacked } from '../../../api/queries/packed.ts';
import { FILES } from '../../../api/queries/select.ts';
import { CONUS_CELLS } from '../../../schemas/geo/geohash4.ts';
import { type Forecast, forecast } from '../../../schemas/tables/forecast.ts';
import { forecastRows, publishForecast } from '../../support/data/model-rows.ts';
import { scratch } from '../../support/data/world.ts';

const HOUR = ['valid_time', 'hail_probability', 'risk_category'] as const;
type Hour = Pick<Forecast, (typeof HOUR)[number]>;
interface CellHours {
  readonly geohash4: string;
  readonly hours: string;
}
const HOURS: CellView<CellHours, ReadonlyMap<string, string>> = {
  collection: 'forecast',
  statement: `SELECT geohash4, ${packed(forecast, HOUR)} AS hours FROM ${FILES} WHERE ${IN_PART} GROUP BY geohash4`,
  make: (rows) => new Map(rows.map(({ geohash4, hours }) => [geohash4, hours])),
};

test('every cell of CONUS is read, from the first to the last, its rows packed and unpacked the same', async (t) => {
  const root = await scratch(t);
  const last = CONUS_CELLS.length - 1;
  const cells = CONUS_CELLS.filter((_, index) => index === 0 || index === last || index % 997 === 5);
  const rows = cells.flatMap(({ geohash4 }, k) => {
    const given = k % 2 === 0 ? { hail_probability: k / 100 } : { hail_probability: null, risk_category: null };
    return forecastRows({ geohash4, ...given }, '2026-05-01T18:00:00Z', 3);
  });
  await publishForecast(root, rows, Date.parse('2026-05-01T19:00:00Z'));
  const engine = await openEngine(root);
  const catalog = await openCatalog(root, 0);
  t.teardown(async () => {
    await catalog.close();
    await engine.close();
  });
  const made = await openCellRows(engine).of(HOURS, catalog.edition().collection('forecast')?.paths() ?? []);
  t.deepEqual([...made.keys()].sort(), cells.map(({ geohash4 }) => geohash4).sort());
  for (const { geohash4 } of cells)
    t.deepEqual(
      unpacked<Hour>(HOUR, made.get(geohash4) ?? '').sort((a, b) => a.valid_time - b.valid_time),
      rows
        .filter((row) => row.geohash4 === geohash4)
        .map(({ valid_time, hail_probability, risk_category }) => ({ valid_time, hail_probability, risk_category })),
    );
});

/** Cells over an engine that brings no rows, counts its statements, and fails the first so many. */
function counting(failures = 0) {
  const asked: (readonly Parameter[])[] = [];
  const rows = async <Row>(_: string, parameters: readonly Parameter[] = []): Promise<Row[]> => {
    asked.push(parameters);
    if (asked.length <= failures) throw new Error('the disk is away');
    return [];
  };
  const cells = openCellRows({ rows });
  return async (...paths: string[]): Promise<number> => {
    const before = asked.length;
    await cells.of(HOURS, paths);
    return asked.length - before;
  };
}

test('the newest file is read once, part by part, and stays; the one before it is read again', async (t) => {
  const statementsFor = counting();
  const parts = await statementsFor('a');
  t.true(parts > 10);
  t.is(await statementsFor('a'), 0);
  t.is(await statementsFor('b'), parts);
  t.is(await statementsFor('b'), 0);
  t.is(await statementsFor('a'), parts);
});

test('without files nothing is read', async (t) => {
  t.is(await counting()(), 0);
});

test('questions at the same time read a file once', async (t) => {
  const statementsFor = counting();
  const [first] = await Promise.all([statementsFor('a'), statementsFor('a')]);
  t.is(await statementsFor('a'), 0);
  t.true(first > 10);
});

test('what failed is read again by the next question', async (t) => {
  const statementsFor = counting(1);
  await t.throwsAsync(statementsFor('a'), { message: 'the disk is away' });
  t.true((await statementsFor('a')) > 10);
});

test('what was asked for is read of a new edition without a question, and nothing else is', async (t) => {
  const asked: string[] = [];
  const rows = async <Row>(statement: string, [paths]: readonly Parameter[] = []): Promise<Row[]> => {
    asked.push(`${statement} ${paths}`);
    return [];
  };
  const cells = openCellRows({ rows });
  const edition = (path: string) => ({
    collection: (name: string) => ({ paths: () => [`${name}-${path}`] }),
  });
  await cells.renew(edition('a'));
  t.deepEqual(asked, [], 'nobody asked');
  await cells.of(HOURS, ['forecast-a']);
  const parts = asked.length;
  await cells.renew(edition('a'));
  t.is(asked.length, parts, 'it is there');
  await cells.renew(edition('b'));
  t.is(asked.length, 2 * parts);
  t.true(asked.slice(parts).every((question) => question.endsWith(' forecast-b')));
  await cells.of(HOURS, ['forecast-b']);
  t.is(asked.length, 2 * parts);
});
