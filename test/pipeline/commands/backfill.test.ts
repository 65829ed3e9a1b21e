import test from 'ava';
import { scratch } from '../../support/data/world.ts';
import { command } from '../../support/kill/killed.ts';

for (const [args, fault] of [
  [
    ['backfill', '--from', '2026-04-02', '--to', '2026-04-01', '--source', 'noaa'],
    /--to is 2026-04-01, expected 2026-04-02 \(--from\) or a later date/,
  ],
  [
    ['backfill', '--from', '2026-04-30', '--to', '2026-05-01', '--source', 'noaa'],
    /--to is 2026-05-01, expected a storm date that is over, 2026-04-30 at the latest/,
  ],
  [['backfill', '--from', '2026-04-01', '--to', '2026-04-01', '--source', 'dir'], /--source dir needs --folder FOLDER/],
  [
    ['backfill', '--from', '2026-04-01', '--to', '2026-04-01', '--source', 'noaa', '--folder', 'raw'],
    /--folder goes with --source dir, found --source noaa/,
  ],
] as const)
  test(`${args.join(' ')} is refused with what was expected`, async (t) => {
    const { code, stderr } = await command(await scratch(t), args);
    t.is(code, 2);
    t.regex(stderr, fault);
  });

test('a backfill of a folder that is not there shows the reason of every date', async (t) => {
  const folder = await scratch(t, 'raw');
  const args = ['backfill', '--from', '2026-04-01', '--to', '2026-04-02', '--source', 'dir', '--folder', folder];
  const missing = await command(await scratch(t), args);
  t.regex(missing.stdout, /2 dates failed/);
  t.regex(missing.stdout, /is not there, expected a folder/);
  t.is(missing.code, 1);
});
