import { join } from 'node:path';
import test from 'ava';
import { readConfig } from '../../../pipeline/config.ts';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { NotFound } from '../../../pipeline/error.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { isDerivationDue, openRoot } from '../../../pipeline/publish/root.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { verifyRoot } from '../../../pipeline/publish/verify.ts';
import { scoreDate } from '../../../pipeline/run/score-date.ts';
import { type Score, scores } from '../../../schemas/tables/scores.ts';
import { publishedRoot, rawScans } from '../../support/data/world.ts';

const DATE = '2026-05-01';
const NOW = '2026-05-02T00:55:00Z';

function configOf(root: string) {
  return readConfig({ HAIL_DATA: root, HAIL_NOW: NOW });
}

test('the scores of a date are published as a table of its list, once, and nothing else of it changes', async (t) => {
  const root = await publishedRoot(t, await rawScans());
  const before = await readNewest(root, DATE);
  const first = await scoreDate(configOf(root), DATE);
  t.true(first.changed);
  t.true(first.scores.some(({ kind }) => kind === 'nowcast'));
  t.true(first.scores.some(({ score }) => score === 'overlap_csi'));

  const after = await readNewest(root, DATE);
  const file = after?.files.find(({ table }) => table === 'scores');
  t.is(file?.path, first.path ?? '');
  t.deepEqual(
    after?.files.filter(({ table }) => table !== 'scores'),
    before?.files,
  );
  t.deepEqual(after?.scans, before?.scans);
  t.is(isDerivationDue(after as NonNullable<typeof after>), isDerivationDue(before as NonNullable<typeof before>));

  const engine = await openEngine(root);
  try {
    t.deepEqual((await readRows<Score>(engine, scores, [join(root, first.path ?? '')])).length, first.scores.length);
    t.deepEqual((await verifyRoot(engine, root, null, () => {})).faults, []);
  } finally {
    engine.close();
  }

  const again = await scoreDate(configOf(root), DATE);
  t.false(again.changed);
  t.is((await readNewest(root, DATE))?.commit, after?.commit);
});

test('scores outlive the day files of a closed date, and are drawn anew with them listed once', async (t) => {
  const root = await publishedRoot(t, await rawScans());
  await scoreDate(configOf(root), DATE);
  const writer = await openRoot(root, 'test', 0, Date.parse(NOW));
  try {
    await writer.closeDay(DATE, Date.parse(NOW));
  } finally {
    await writer.close();
  }
  const again = await scoreDate(configOf(root), DATE);
  t.false(again.changed);
  const closed = await readNewest(root, DATE);
  t.true(closed?.closed);
  t.is(closed?.files.filter(({ table }) => table === 'scores').length, 1);
});

test('a date without scans cannot be scored, and the refusal names it', async (t) => {
  const root = await publishedRoot(t, await rawScans());
  await t.throwsAsync(scoreDate(configOf(root), '2020-01-01'), { instanceOf: NotFound, message: /2020-01-01/ });
});
