import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import { Unreadable } from '../../../pipeline/error.ts';
import { listModelFolder } from '../../../pipeline/model-runs/model-folder.ts';
import { EVENING_MS } from '../../support/data/small-evening.ts';

test('a folder in the layout of the bucket gives its whole hours in order, and names the files of others', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'hail-models-'));
  try {
    for (const path of [
      'hrrr.20260501/conus/hrrr.t22z.wrfsfcf03.grib2',
      'hrrr.20260501/conus/hrrr.t22z.wrfsfcf01.grib2',
      'hrrr.20260501/conus/hrrr.t21z.wrfsfcf02.grib2',
      'hrrr.20260501/conus/hrrr.t21z.wrfsfcf02.grib2.idx',
      'rrfs.20260501/22/rrfs.t22z.2dfld.3km.f012.conus.grib2',
      'notes.txt',
    ]) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), '');
    }
    const { hours, incomplete } = await listModelFolder(folder);
    t.deepEqual(
      hours.map(({ run_time, lead_h }) => [(run_time - EVENING_MS) / 3_600_000, lead_h]),
      [
        [-1, 2],
        [0, 1],
        [0, 3],
      ],
    );
    t.deepEqual(hours[1]?.paths, [join(folder, 'hrrr.20260501/conus/hrrr.t22z.wrfsfcf01.grib2')]);
    t.deepEqual(incomplete, [join(folder, 'rrfs.20260501/22/rrfs.t22z.2dfld.3km.f012.conus.grib2')]);
    await t.throwsAsync(listModelFolder(join(folder, 'absent')), { instanceOf: Unreadable });
  } finally {
    await rm(folder, { recursive: true });
  }
});
