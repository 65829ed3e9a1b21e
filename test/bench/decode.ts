import { readFileSync } from 'node:fs';
import { labelComponents } from '../../pipeline/detect/label.ts';
import { hailField, readGrid } from '../../pipeline/read/mrms.ts';
import { hasSharedData, sharedData } from '../support/data/shared-folder.ts';
import { compare, timeOurs, timePython } from './peers.ts';

const FILES = ['MRMS_MESH_00.50_20240228-025239.grib2', 'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2'];

/** Time of ecCodes for the values of a file, read from disk. */
export function timeEccodes(path: string) {
  return timePython(
    'import eccodes',
    `
with open(${JSON.stringify(path)}, 'rb') as file:
    handle = eccodes.codes_grib_new_from_file(file)
    answer = len(eccodes.codes_get_values(handle))
    eccodes.codes_release(handle)`,
  );
}

/** Decoding of the real full-CONUS files against ecCodes, and labelling against scipy. */
export async function decode(): Promise<void> {
  if (!hasSharedData) return console.log('decode, label: need ../shared/data, which is absent');
  for (const name of FILES) {
    const path = sharedData('mrms', name);
    const ours = await timeOurs(() => readGrid(readFileSync(path), path));
    console.log(compare(`decode ${name.slice(5, 29)}`, ours, 'ecCodes', timeEccodes(path), 0.5));
  }
  await label();
}

async function label(): Promise<void> {
  const path = sharedData('mrms', FILES[1] as string);
  const grid = readGrid(readFileSync(path), path);
  let components = 0;
  const ours = await timeOurs(() => {
    components = labelComponents(hailField(grid), 50, 8).count;
  });
  const scipy = timePython(
    `
import eccodes, numpy
from scipy import ndimage
with open(${JSON.stringify(path)}, 'rb') as file:
    handle = eccodes.codes_grib_new_from_file(file)
    values = eccodes.codes_get_values(handle).reshape(3500, 7000)
    eccodes.codes_release(handle)
structure = numpy.ones((3, 3))`,
    'labels, answer = ndimage.label(values >= 5, structure)',
  );
  console.log(compare('label >= 5 mm, decoded grid to components', ours, 'scipy', scipy, 0.5));
  const theirs = 'answer' in scipy ? `, scipy ${scipy.answer}` : '';
  console.log(`  components: ours ${components}${theirs}`);
}
