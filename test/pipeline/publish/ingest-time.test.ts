import test from 'ava';
import { readConfig } from '../../../pipeline/config.ts';
import { readNewest } from '../../../pipeline/publish/manifests.ts';
import { scoreDate } from '../../../pipeline/run/score-date.ts';
import { layout } from '../../../schemas/layout.ts';
import { ingestedAt } from '../../../schemas/manifest.ts';
import { addDays, timestamp } from '../../../schemas/time.ts';
import { midnight } from '../../support/data/small-world.ts';
import { filesOf, onRoot, publishedRoot } from '../../support/data/world.ts';

const [FIRST, LAST] = ['2026-05-01', '2026-05-02'] as const;
const INGESTED = '2026-05-02T00:55:00Z';
/** A data clock so many days into June. */
const clock = (days: number) => Date.parse(addDays('2026-06-01', days));

test('only new rows and rows made again from raw files move the ingest time of a date; joining, drawing and judging do not', async (t) => {
  const scans = await midnight();
  const settings = { reflectivity_keep_hours: 1e6 };
  const path = await publishedRoot(t, scans.slice(0, -1), settings);
  const timesOf = async (partition: string) => {
    const list = await readNewest(path, partition);
    return list === null ? null : [list.committed_at, ingestedAt(list)];
  };
  t.deepEqual(await timesOf(FIRST), [INGESTED, INGESTED]);

  const config = readConfig({ HAIL_DATA: path, HAIL_NOW: timestamp(clock(0)) });
  t.true((await scoreDate(config, FIRST)).changed);
  t.deepEqual(await timesOf(FIRST), [timestamp(clock(0)), INGESTED]);
  await onRoot(path, settings, async ({ root }) => {
    const steps = [
      ['draws', () => root.derive(FIRST, clock(1))],
      ['drops archives', () => root.expireReflectivity(0, clock(2))],
      ['closes', () => root.compactDay(FIRST, clock(3))],
    ] as const;
    for (const [step, [title, work]] of steps.entries()) {
      await work();
      t.deepEqual(await timesOf(FIRST), [timestamp(clock(step + 1)), INGESTED], title);
    }
    await root.compactMonth('2026-05', clock(4));
    t.deepEqual(await timesOf(layout.monthPartition('2026-05')), [timestamp(clock(4)), INGESTED]);
    t.deepEqual(await timesOf(LAST), [timestamp(clock(2)), INGESTED], 'its archives were dropped');
  });
  await onRoot(path, { ...settings, now_ms: clock(5) }, async ({ session }) => {
    await session.rebuild(FIRST);
    await session.ingest(filesOf(scans.slice(-1)));
  });
  for (const date of [FIRST, LAST]) t.deepEqual(await timesOf(date), [timestamp(clock(5)), timestamp(clock(5))]);
});
