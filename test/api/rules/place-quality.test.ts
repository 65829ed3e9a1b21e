import test from 'ava';
import { qualityAt } from '../../../api/rules/detection-quality.ts';
import { pixelQuality } from '../../../api/rules/place-quality.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';

test('every pixel has its own block, also beside others', (t) => {
  for (const [row, col] of [
    [900, 1000],
    [900, 1001],
    [901, 1000],
    [901, 1001],
  ] as const) {
    const position = { lat: rowLat(row), lon: colLon(col) };
    t.deepEqual(pixelQuality(position, 5, null), qualityAt(position, 5, null).block);
  }
});
