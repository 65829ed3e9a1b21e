import test from 'ava';
import { leadQuality } from '../../../schemas/resources/nowcast.ts';

test('a lead whose skill over advection is above zero in 95 of 100 draws is production, without a note', (t) => {
  t.deepEqual(leadQuality({ low: 0.001 }), { quality: 'production', note: null });
});

for (const low of [0, -0.02])
  test(`a lead whose skill over advection may be ${low} is experimental, and its note says that none was shown`, (t) => {
    const { quality, note } = leadQuality({ low });
    t.is(quality, 'experimental');
    t.regex(note ?? '', /not shown on real scans to be better than moving the hail/i);
  });

test('a lead that no real scans reach is experimental, and its note says so', (t) => {
  const { quality, note } = leadQuality(null);
  t.is(quality, 'experimental');
  t.regex(note ?? '', /^Beyond 30 minutes .* no real scans have been scored this far ahead\.$/);
});
