import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pictureCommand } from '../../../pipeline/commands/picture.ts';
import { readConfig } from '../../../pipeline/config.ts';
import type { PictureData } from '../../../pipeline/picture/picture.ts';
import type { PictureSubject } from '../../../pipeline/picture/read-picture.ts';
import { LATTICES } from '../../../schemas/geo/lattice.ts';
import { gribFile, simplePacking } from '../../support/data/grib2-files.ts';
import { DAY } from '../../support/data/rows.ts';

const EMPTY_DAY: PictureData = {
  lattice: LATTICES.conus,
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
  const grid = { columns: 2, rows: 1 };
  writeFileSync(join(folder, 'mesh.grib2'), gribFile(simplePacking([230, 20], 8), grid));
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

test('picture --from draws a file without asking a data root', async (t) => {
  const { asked, folder } = await run(t, '--from', 'OUT/mesh.grib2', '--out', 'OUT/scan.svg');
  t.deepEqual(asked, []);
  t.regex(readFileSync(join(folder, 'scan.svg'), 'utf8'), /^<svg .*Hail at 20:12 UTC, 1 May 2024/s);
});

for (const [args, message] of [
  [['--out', 'OUT/a.svg'], /none was given, expected one of --date, --scan and --from/],
  [
    ['--date', DAY, '--scan', '20260501T201200Z', '--out', 'OUT/a.svg'],
    /--date and --scan were given, expected one of/,
  ],
  [['--date', DAY, '--from', 'mesh.grib2', '--out', 'OUT/a.svg'], /--date and --from were given, expected one of/],
  [['--from', 'OUT/none.grib2', '--out', 'OUT/a.svg'], /none\.grib2: no such file/],
  [['--date', '2026-02-30', '--out', 'OUT/a.svg'], /2026-02-30/],
  [['--scan', '2026-05-01', '--out', 'OUT/a.svg'], /--scan is '2026-05-01', expected a scan time/],
  [['--date', DAY, '--bbox', '-97,33,-99,37', '--out', 'OUT/a.svg'], /--bbox is '-97,33,-99,37', expected W,S,E,N/],
  [['--date', DAY, '--bbox', '1,2,3', '--out', 'OUT/a.svg'], /expected W,S,E,N/],
  [['--date', DAY], /--out/],
] as const)
  test(`picture ${args.join(' ')} is refused before any work`, async (t) => {
    await t.throwsAsync(run(t, ...args), { message });
  });
