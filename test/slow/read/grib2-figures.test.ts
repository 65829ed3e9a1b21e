import { decodeField, type Field } from '../../../pipeline/grib2/index.ts';
import { fieldsOf, figures, sameAsEcCodes, sameValues } from '../../support/data/grib2-figures.ts';
import { sharedTest } from '../../support/data/shared-data.ts';

for (const name of [
  'MRMS_EchoTop_18_00.50_20161015-133230.grib2',
  'MRMS_MESH_Max_1440min_00.50_20240228-100000.grib2',
  'MRMS_MergedReflectivityQCComposite_00.50_20220704-110040.grib2',
  'MRMS_MergedRhoHV_19.00_20260219-042039.grib2.gz',
  'MRMS_VIL_00.50_20240509-082840.grib2.gz',
])
  sharedTest(`${name} decodes to the figures of ecCodes: header, sentinels, counts, sum, extremes, points`, (t) =>
    sameAsEcCodes(t, name),
  );

sharedTest('all 20 frames of the rain-rate sequence decode to the figures of ecCodes', (t) => {
  const { per_frame } = figures().mrms_sequence;
  t.is(per_frame.length, 20);
  for (const { file, valid_time, no_coverage, sum_valid, ...expected } of per_frame) {
    const [field, ...more] = fieldsOf('mrms-sequence', file);
    t.is(more.length, 0);
    t.is(field?.reference_time, Date.parse(valid_time));
    const spread = { ...expected, negative: 0, sum: sum_valid };
    sameValues(t, decodeField(field as Field), { '-3': no_coverage }, spread);
  }
});
