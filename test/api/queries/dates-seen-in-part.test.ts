import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { openEngine } from '../../../api/duckdb.ts';
import { datesSeenInPart } from '../../../api/queries/dates-seen-in-part.ts';
import { openEngine as openWriter } from '../../../pipeline/duckdb.ts';
import { stageRows } from '../../../pipeline/publish/tables.ts';
import { frames } from '../../../schemas/tables/frames.ts';
import { frameRow } from '../../support/data/frame-row.ts';
import { scratch } from '../../support/data/world.ts';

/** Scans at these hours of a storm date that begins at noon, two in each, by file. */
const FILES: Readonly<Record<string, readonly number[]>> = {
  '2026-05-01 all': Array.from({ length: 24 }, (_, hour) => hour),
  '2026-05-02 first': [0, 1, 2, 12],
  '2026-05-02 second': [12, 13, 23],
};

test('a date is seen in part when its files together lack an hour, and a file that has gone is an error although it was read', async (t) => {
  const root = await scratch(t);
  await mkdir(root, { recursive: true });
  const pathOf = (name: string) => join(root, `${name}.parquet`);
  const writer = await openWriter(root);
  for (const [name, hours] of Object.entries(FILES)) {
    const date = name.slice(0, 10);
    const times = hours.flatMap((hour) =>
      [0, 59].map((minute) => Date.parse(`${date}T12:00:00Z`) + 60_000 * (60 * hour + minute)),
    );
    await stageRows(
      writer,
      frames,
      times.map((time) => frameRow(date, time)),
      pathOf(name),
      'simulated',
    );
  }
  writer.close();
  const engine = await openEngine(root);
  t.teardown(() => engine.close());
  const ask = () =>
    datesSeenInPart(
      engine,
      {
        datesBetween: () => ['2026-05-01', '2026-05-02', '2026-05-03'],
        paths: (_, dates) =>
          Object.keys(FILES)
            .filter((name) => dates.includes(name.slice(0, 10)))
            .map(pathOf),
      },
      '2026-05-01',
      '2026-05-03',
    );
  t.deepEqual(await ask(), [{ date: '2026-05-02', hours: 6 }]);
  t.deepEqual(await ask(), [{ date: '2026-05-02', hours: 6 }]);
  await rm(pathOf('2026-05-02 first'));
  await t.throwsAsync(ask(), { message: /2026-05-02 first\.parquet/ });
});
