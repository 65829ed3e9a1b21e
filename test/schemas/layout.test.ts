import test from 'ava';
import { contains } from '../../schemas/layout.ts';

for (const [folder, path, expected, why] of [
  ['/data/archive', '/data/archive', true, 'itself'],
  ['/data/archive', '/data/archive/observed/a.grib2', true, 'a file below it'],
  ['/data/archive', '/data/archive-old/a.grib2', false, 'a neighbour whose name begins alike'],
  ['/data/archive', '/data', false, 'the folder above'],
  ['/data/archive', '/data/a.grib2', false, 'a file beside it'],
  ['/data/archive', '/data/archive/../a.grib2', false, 'a way that leads out again'],
  ['/data/archive', '/data/archive/..a.grib2', true, 'a name that begins with two dots'],
  ['/', '/data', true, 'anything below the root of the disk'],
] as const)
  test(`${folder} ${expected ? 'contains' : 'does not contain'} ${path}: ${why}`, (t) => {
    t.is(contains(folder, path), expected);
  });
