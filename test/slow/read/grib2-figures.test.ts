import { decodeField, type Field } from '../../../pipeline/grib2/index.ts';
import { countValues, fieldsOf, figures, firstOf, sameAsEcCodes } from '../../support/data/grib2-figures.ts';
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
  for (const expected of per_frame) {
    const [field, ...more] = fieldsOf('mrms-sequence', expected.file);
    t.is(more.length, 0);
    t.is(field?.reference_time, Date.parse(expected.valid_time));
    const decoded = decodeField(field as Field);
    const counts = countValues(decoded);
    t.is(counts.get(-30), expected.no_coverage);
    t.is(counts.get(0), expected.zeros);
    const positive = [...counts].filter(([x]) => x > 0);
    t.is(
      positive.reduce((sum, [, count]) => sum + count, 0),
      expected.positive,
    );
    t.is(
      positive.reduce((sum, [x, count]) => sum + x * count, 0),
      Math.round(10 * expected.sum_valid),
    );
    const largest = Math.max(...counts.keys());
    t.is(largest, Math.round(10 * expected.max_at.value));
    t.is(firstOf(decoded, largest), expected.max_at.row * 7000 + expected.max_at.col);
    for (const [threshold, count] of Object.entries(expected.count_ge))
      t.is(
        positive.reduce((sum, [x, n]) => (x >= 10 * Number(threshold) ? sum + n : sum), 0),
        count,
      );
  }
});
