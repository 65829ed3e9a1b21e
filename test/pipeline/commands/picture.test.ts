import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pictureCommand } from '../../../pipeline/commands/picture.ts';
import { readConfig } from '../../../pipeline/config.ts';
import type { PictureData } from '../../../pipeline/picture/picture.ts';
import type { PictureSubject } from '../../../pipeline/picture/read-picture.ts';
import { DAY } from '../../support/data/rows.ts';

const EMPTY_DAY: PictureData = {
  kind: 'day',
  storm_date: DAY,
  swaths: [],
  tracks: [],
  data_time: null,
  simulated: false,
  attribution: 'NOAA MRMS',
  bounds: [-130, 20, -60, 55],
};

/** Runs the command; what it was asked to load, and the folder it may write to. */
async function run(t: ExecutionContext, ...args: string[]): Promise<{ asked: unknown[]; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'picture-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const asked: unknown[] = [];
  const load = async (dataRoot: string, subject: PictureSubject) => {
    asked.push([dataRoot, subject]);
    return EMPTY_DAY;
  };
  const command = pictureCommand(() => readConfig({ HAIL_DATA: '/data/root' }), load)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  await command.parseAsync(
    args.map((arg) => arg.replace('OUT', folder)),
    { from: 'user' },
  );
  return { asked, folder };
}

test('picture --date writes the SVG of a storm date from the data root of the settings, making folders', async (t) => {
  const { asked, folder } = await run(t, '--date', DAY, '--out', 'OUT/maps/day.svg');
  t.deepEqual(asked, [['/data/root', { date: DAY }]]);
  t.regex(readFileSync(join(folder, 'maps/day.svg'), 'utf8'), /^<svg .*Hail of 1 May 2026/s);
});

test('picture --scan --data asks for the scan in that data root', async (t) => {
  const { asked } = await run(t, '--scan', '20260501T201200Z', '--data', '/other', '--out', 'OUT/scan.svg');
  t.deepEqual(asked, [['/other', { scan_id: '20260501T201200Z' }]]);
});

test('picture --bbox shows that box', async (t) => {
  const { folder } = await run(t, '--date', DAY, '--bbox', '-109.5,36.5,-101.5,41.5', '--out', 'OUT/day.svg');
  t.regex(readFileSync(join(folder, 'day.svg'), 'utf8'), /COLORADO/);
});

for (const [args, message] of [
  [['--out', 'OUT/a.svg'], /neither --date nor --scan was given, expected one of them/],
  [['--date', DAY, '--scan', '20260501T201200Z', '--out', 'OUT/a.svg'], /both --date and --scan were given/],
  [['--date', '2026-02-30', '--out', 'OUT/a.svg'], /2026-02-30/],
  [['--scan', '2026-05-01', '--out', 'OUT/a.svg'], /--scan is '2026-05-01', expected a scan time/],
  [['--date', DAY, '--bbox', '-97,33,-99,37', '--out', 'OUT/a.svg'], /--bbox is '-97,33,-99,37', expected W,S,E,N/],
  [['--date', DAY, '--bbox', '1,2,3', '--out', 'OUT/a.svg'], /expected W,S,E,N/],
  [['--date', DAY], /--out/],
] as const)
  test(`picture ${args.join(' ')} is refused before any work`, async (t) => {
    await t.throwsAsync(run(t, ...args), { message });
  });
