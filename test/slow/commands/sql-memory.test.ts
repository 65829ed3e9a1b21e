import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test from 'ava';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { cataloguesOf } from '../../../pipeline/catalogues/catalogues.ts';
import { openRoot } from '../../../pipeline/publish/root.ts';
import { detections } from '../../../schemas/tables/radar.ts';
import { addDays } from '../../../schemas/time.ts';
import { publishMadeRows } from '../../support/data/made-rows.ts';
import { MONTH_LATER_MS, scratch } from '../../support/data/world.ts';
import { commandWithPeak } from '../../support/kill/peak.ts';

/** What `hail-pipeline sql` holds at most: DuckDB's 512 MB, Node, and a piece of the result. */
const MOST_MIB = 700;
/** A month of a season in which a year has twenty million detections. */
const DATES = 31;
const ROWS_OF_A_DATE = 170_000;
const ROWS = DATES * ROWS_OF_A_DATE;

async function busyMonth(root: string): Promise<void> {
  const opened = await openRoot(root, 'test', 0, MONTH_LATER_MS, { catalogues: cataloguesOf([]) });
  try {
    for (let day = 0; day < DATES; day++)
      await publishMadeRows(opened, detections, addDays('2026-05-01', day), ROWS_OF_A_DATE, MONTH_LATER_MS);
  } finally {
    await opened.close();
  }
}

const onLinux = process.platform === 'linux' ? test : test.skip; // the peak is read from /proc

onLinux(
  `sql writes a month of ${ROWS} detections in less than ${MOST_MIB} MiB, as Parquet, CSV and JSON`,
  async (t) => {
    const root = await scratch(t);
    await busyMonth(root);
    const month = `FROM detections WHERE storm_date BETWEEN '2026-05-01' AND '2026-05-31'`;
    const some = `SELECT scan_time, lat, estimated_size_mm, track_id ${month}`; // all columns as text would take gigabytes
    const out = (format: string) => join(dirname(root), `detections.${format}`);
    for (const format of ['parquet', 'csv', 'json']) {
      const args = ['sql', '--format', format, '--out', out(format), format === 'parquet' ? month : some];
      const run = await commandWithPeak(t, root, args, { now_ms: MONTH_LATER_MS });
      t.is(run.code, 0, run.stderr);
      t.log(`${format}: peak ${run.peak_mib} MiB, file ${Math.round((await fs.stat(out(format))).size / 2 ** 20)} MiB`);
      t.true(run.peak_mib < MOST_MIB, `${format}: ${run.peak_mib} MiB`);
    }
    t.is(Number((await parquetMetadataAsync(await asyncBufferFromFile(out('parquet')))).num_rows), ROWS);
    // A line of names; a line of a bracket before and one after.
    t.is(await linesOf(out('csv')), ROWS + 1);
    t.is(await linesOf(out('json')), ROWS + 2);
  },
);

async function linesOf(path: string): Promise<number> {
  let lines = 0;
  const file = await fs.open(path);
  for await (const piece of file.createReadStream()) for (const byte of piece) if (byte === 10) lines++;
  return lines;
}
