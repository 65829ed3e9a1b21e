import fs from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { parse } from 'csv-parse/sync';
import { servedParams, writeExport } from '../../api/jobs/export.ts';
import { openCatalog } from '../../api/published/catalog.ts';
import type { Dataset, ExportParams } from '../../schemas/resources/export-job.ts';
import { ingest, NOW_MS, publishedRoot, scansBetween, scratch } from '../support/data/world.ts';

const RUNNING = '2026-05-02';
const TOMORROW = '2026-05-03';

/** The running month with what lies ahead, as it is carried out. */
function monthOfNow(dataset: Dataset): ExportParams {
  const asked = { dataset, date_start: '2026-05-01', date_end: '2026-05-31', bbox: null, state: null, format: 'csv' };
  return servedParams({ ...asked, format: 'csv' }, NOW_MS);
}

async function opened(t: ExecutionContext, root: string) {
  const catalog = await openCatalog(root, 0);
  t.teardown(catalog.close);
  return catalog;
}

type Rows = readonly Record<string, string>[];

async function rowsIn(path: string): Promise<Rows> {
  return parse(await fs.readFile(path, 'utf8'), { columns: true });
}

const { signal } = new AbortController();
const newest = (rows: Rows) =>
  rows
    .map(({ scan_time = '' }) => scan_time)
    .toSorted()
    .at(-1);

test('an export of the running month goes up to the newest scan, and says so', async (t) => {
  const scans = await scansBetween('23:50', '00:10');
  const catalog = await opened(t, await publishedRoot(t, scans));
  const path = await scratch(t, 'rows.csv');
  const params = monthOfNow('detections');
  t.is(params.date_end, RUNNING);
  const { data_as_of_ms, summary } = await writeExport(catalog.edition(), params, path, signal);
  const rows = await rowsIn(path);
  t.is(rows.length, summary.row_count);
  t.is(data_as_of_ms, scans.at(-1)?.time_ms ?? null);
  t.deepEqual([...new Set(rows.map(({ storm_date }) => storm_date))], ['2026-05-01', RUNNING]);
  t.is(data_as_of_ms, Date.parse(newest(rows) ?? ''));
});

test('an export up to tomorrow is one up to today', (t) => {
  const asked = { ...monthOfNow('swaths'), date_start: RUNNING, date_end: TOMORROW };
  t.like(servedParams(asked, NOW_MS), { date_start: RUNNING, date_end: RUNNING });
});

for (const dataset of ['detections', 'swaths'] as const)
  test(`an export of ${dataset} of the running date is of one state, whatever is committed and closed while it waits`, async (t) => {
    const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
    const catalog = await opened(t, root);
    const [before, during, after] = await Promise.all(['a.csv', 'b.csv', 'c.csv'].map((name) => scratch(t, name)));
    const params = monthOfNow(dataset);
    const first = await writeExport(catalog.edition(), params, before ?? '', signal);
    const held = catalog.edition();
    const later = await scansBetween('00:10', '00:20');
    await ingest(root, later);
    await catalog.refresh();
    t.not(catalog.edition(), held);
    const second = await writeExport(held, params, during ?? '', signal);
    t.is(second.data_as_of_ms, first.data_as_of_ms);
    t.is(await fs.readFile(during ?? '', 'utf8'), await fs.readFile(before ?? '', 'utf8'));
    const third = await writeExport(catalog.edition(), params, after ?? '', signal);
    t.is(third.data_as_of_ms, later.at(-1)?.time_ms ?? null);
    t.not(await fs.readFile(after ?? '', 'utf8'), await fs.readFile(before ?? '', 'utf8'));
  });

test('commits while an export runs change nothing of it', async (t) => {
  const root = await publishedRoot(t, await scansBetween('00:00', '00:10'));
  const catalog = await opened(t, root);
  const path = await scratch(t, 'rows.csv');
  const running = writeExport(catalog.edition(), monthOfNow('detections'), path, signal);
  await ingest(root, await scansBetween('00:10', '00:14'));
  await ingest(root, await scansBetween('00:14', '00:20'));
  const { data_as_of_ms, summary } = await running;
  const rows = await rowsIn(path);
  t.is(rows.length, summary.row_count);
  t.is(data_as_of_ms, Date.parse(newest(rows) ?? ''));
});
