import { spawnSync } from 'node:child_process';
import { cataloguesOf } from '../../../pipeline/catalogues/catalogues.ts';
import { viewName } from '../../../pipeline/catalogues/views-sql.ts';
import { listPartitions } from '../../../pipeline/publish/manifests.ts';
import { openRoot } from '../../../pipeline/publish/root.ts';
import { TABLES } from '../../../schemas/tables/index.ts';
import { codeBlocks, readDocument } from '../../support/data/markdown.ts';
import { pythonTest } from '../../support/data/python.ts';
import { midnight } from '../../support/data/small-world.ts';
import { headRows } from '../../support/data/view-rows.ts';
import { NOW_MS, publishedRoot } from '../../support/data/world.ts';

pythonTest(
  'the Python module of DuckDB reads views.sql as the guide shows, and counts the rows of the heads',
  ['duckdb'],
  async (t) => {
    const path = await publishedRoot(t, await midnight());
    await (await openRoot(path, 'test', 0, NOW_MS, { catalogues: cataloguesOf([]) })).close();
    const program = codeBlocks(readDocument('api/docs/files.md'), 'python').find((block) =>
      block.includes('views.sql'),
    );
    const others = TABLES.filter(({ name }) => name !== 'day-max');
    const counts = others.map(
      (table) => `print(connection.sql("SELECT count(*) FROM ${viewName(table)}").fetchone()[0])`,
    );
    const run = spawnSync('python3', ['-c', `${program}\n${counts.join('\n')}`], { cwd: path, encoding: 'utf8' });
    t.is(run.status, 0, run.stderr);
    t.regex(run.stdout, /2026-05-01/);
    const { all } = await listPartitions(path);
    const expected = await Promise.all(others.map(async ({ name }) => (await headRows(path, all, name)).length));
    t.deepEqual(run.stdout.trimEnd().split('\n').slice(-others.length).map(Number), expected);
  },
);
