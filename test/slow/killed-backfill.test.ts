import { join } from 'node:path';
import test from 'ava';
import { namesIn } from '../../pipeline/files.ts';
import { layout } from '../../schemas/layout.ts';
import { logicalContent, sameContent } from '../support/data/content.ts';
import { aroundMidnight } from '../support/data/small-world.ts';
import { deliver, filesOf, MONTH_LATER_MS, preparedMonth, scratch } from '../support/data/world.ts';
import { command, faultsOf, killedAt, pointsOf } from '../support/kill/killed.ts';

/** The date of the scans is over. */
const SETTINGS = { now_ms: MONTH_LATER_MS, environment: { HAIL_REFLECTIVITY_KEEP_HOURS: '0' } } as const;
/** Points apart from those of the hand-over and of the commit. */
const SPREAD_POINTS = 5;

test('a backfill that is killed before or after it hands its date over is finished by a second run', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const folder = await deliver(await scratch(t, 'from'), filesOf(scans));
  const args = ['backfill', '--from', '2026-05-01', '--to', '2026-05-01', '--source', 'dir', '--folder', folder];
  const points = await pointsOf(t, await scratch(t), args, SETTINGS);
  const handed_over = points.findIndex(
    (point) => point.includes(`rename`) && point.includes(`${layout.finishedDates}/`),
  );
  const linked = points.findIndex((point) => point.includes(' link '));
  const committed = points.findIndex((point, at) => at > linked && point.includes('current.json'));
  const moved_away = points.findLastIndex(
    (point) => point.includes(' rename ') && point.includes(`${layout.finishedDates}/`),
  );
  const expected = await logicalContent(await preparedMonth(scans));
  const named = [handed_over, handed_over + 2, linked + 1, committed, moved_away, moved_away + 1];
  const spread = Array.from({ length: SPREAD_POINTS }, (_, k) =>
    Math.floor(((k + 1) * points.length) / (SPREAD_POINTS + 1)),
  );
  for (const at of [...named, ...spread]) {
    t.true(at > 0);
    const root = await scratch(t);
    const killed = await killedAt(root, args, at + 1, SETTINGS);
    t.is(killed.signal, 'SIGKILL');
    const { code, stdout, stderr } = await command(root, args, SETTINGS);
    t.is(code, 0, `${points[at]}: ${stdout}${stderr}`);
    sameContent(t, await logicalContent(root), expected);
    t.deepEqual(await faultsOf(root), []);
    t.deepEqual([await namesIn(join(root, layout.finishedDates)), await namesIn(join(root, 'work'))], [[], []]);
  }
});
