import test from 'ava';
import { openEngine, sqlList, sqlText } from '../../pipeline/duckdb.ts';
import { scratch } from '../support/data/world.ts';

test('numbers and instants come back as plain numbers, whatever their width', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const rows = await engine.rows(
    "SELECT 5::BIGINT AS big, 1.5::DOUBLE AS real, NULL AS none, TIMESTAMP '2026-05-01 00:00:01' AS since",
  );
  t.deepEqual(rows, [{ big: 5, real: 1.5, none: null, since: Date.parse('2026-05-01T00:00:01Z') }]);
});

test('parameters are bound, not pasted', async (t) => {
  const engine = await openEngine();
  t.teardown(() => engine.close());
  t.deepEqual(await engine.rows('SELECT ? AS text', ["x' OR 1=1 --"]), [{ text: "x' OR 1=1 --" }]);
});

test('quotes in paths are escaped', (t) => {
  t.is(sqlText("it's"), "'it''s'");
  t.is(sqlList(["a'", 'b']), "['a''', 'b']");
});

test('what does not fit into memory goes to the folder that was named', async (t) => {
  const folder = await scratch(t, 'spill');
  const engine = await openEngine(folder);
  t.teardown(() => engine.close());
  t.deepEqual(await engine.rows("SELECT current_setting('temp_directory') AS folder"), [{ folder }]);
});
