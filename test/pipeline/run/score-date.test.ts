import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { readConfig } from '../../../pipeline/config.ts';
import { openEngine } from '../../../pipeline/duckdb.ts';
import { NotFound, PipelineError } from '../../../pipeline/error.ts';
import { isDerivationDue } from '../../../pipeline/publish/commit-dates.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { openRoot } from '../../../pipeline/publish/root.ts';
import { stageTable } from '../../../pipeline/publish/stage.ts';
import { readRows } from '../../../pipeline/publish/tables.ts';
import { verifyRoot } from '../../../pipeline/publish/verify.ts';
import { scoreDate } from '../../../pipeline/run/score-date.ts';
import { type Score, scores } from '../../../schemas/tables/scores.ts';
import { without } from '../../support/data/published-scans.ts';
import { midnight, scansBetween } from '../../support/data/small-world.ts';
import { ingest, onRoot, publishedRoot } from '../../support/data/world.ts';

const DATE = '2026-05-01';
const NOW = '2026-05-02T00:55:00Z';

/** Long enough for a nowcast to be scored at its leads, and a few scans of the next date. */
const longEvening = () => scansBetween('23:20', '00:06');

function configOf(root: string) {
  return readConfig({ HAIL_DATA: root, HAIL_NOW: NOW });
}

test('the scores of a date are published as a table of its list, once, and nothing else of it changes', async (t) => {
  const root = await publishedRoot(t, await longEvening());
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
  const root = await publishedRoot(t, await longEvening());
  await scoreDate(configOf(root), DATE);
  const writer = await openRoot(root, 'test', 0, Date.parse(NOW));
  try {
    await writer.compactDay(DATE, Date.parse(NOW));
  } finally {
    await writer.close();
  }
  const again = await scoreDate(configOf(root), DATE);
  t.false(again.changed);
  const closed = await readNewest(root, DATE);
  t.true(closed?.closed);
  t.is(closed?.files.filter(({ table }) => table === 'scores').length, 1);
});

test('scores go with the scans that a late one or a rebuild replaces, and stay beside scans that are added', async (t) => {
  const scans = await longEvening();
  const last = scans.findLastIndex(({ scan_id }) => scan_id < '20260502');
  const root = await publishedRoot(t, without(scans, 8, last));
  const isScored = async () => (await readNewest(root, DATE))?.files.some(({ table }) => table === 'scores');
  await scoreDate(configOf(root), DATE);
  const { commit } = (await readNewest(root, DATE)) as NonNullable<Awaited<ReturnType<typeof readNewest>>>;
  await ingest(root, without(scans, 8, ...scans.keys().filter((n) => n > last)));
  t.true(await isScored());

  await ingest(root, scans);
  t.false(await isScored());
  t.true(((await readNewest(root, DATE))?.table_commits.scores as number) > commit);
  t.true((await scoreDate(configOf(root), DATE)).changed);
  t.true(await isScored());

  await onRoot(root, {}, ({ session }) => session.rebuild(DATE));
  t.false(await isScored());
});

test('scores of a date that has nothing to score any more are taken off its list', async (t) => {
  const root = await publishedRoot(t, (await scansBetween('23:50', '00:00')).slice(0, 1));
  t.deepEqual(await scoreDate(configOf(root), DATE), { storm_date: DATE, scores: [], path: null, changed: false });
  const score = { kind: 'tracking', score: 'overlap_csi', lead_min: 4, n: 1, value: 1, baseline: null };
  await onRoot(root, {}, async ({ root: writer }) => {
    const rows = [{ storm_date: DATE, ...score, data_source: 'simulated' }];
    const destination = { folder: 'tables/scores/date=2026-05-01', stem: 'day' };
    const covers = { segment: 'scores', first_scan: null, last_scan: null };
    const earlier = await stageTable(writer.engine, writer.staging, scores, { rows }, 'simulated', destination, covers);
    await writer.publishFiles(DATE, 'simulated', [], [earlier], false, Date.parse(NOW));
  });
  t.deepEqual(await scoreDate(configOf(root), DATE), { storm_date: DATE, scores: [], path: null, changed: true });
  const after = await readNewest(root, DATE);
  t.false(after?.files.some(({ table }) => table === 'scores'));
  t.is(after?.table_commits.scores, after?.commit);
});

for (const table of ['tracks', 'detections'])
  test(`a date whose ${table} are gone cannot be scored: the error names the file, and the scores before stay`, async (t) => {
    const root = await publishedRoot(t, await midnight());
    const before = await readNewest(root, DATE);
    const path = join(root, before?.files.find((file) => file.table === table)?.path ?? '');
    await rm(path);
    await t.throwsAsync(scoreDate(configOf(root), DATE), {
      instanceOf: PipelineError,
      message: `read ${path}: is missing, expected a published file of ${table}`,
    });
    t.deepEqual(await readNewest(root, DATE), before);
  });

test('a date without scans cannot be scored, and the refusal names it', async (t) => {
  const root = await publishedRoot(t, await midnight());
  await t.throwsAsync(scoreDate(configOf(root), '2020-01-01'), { instanceOf: NotFound, message: /2020-01-01/ });
});
