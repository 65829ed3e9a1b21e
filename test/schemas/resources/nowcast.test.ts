import test from 'ava';
import { leadQuality } from '../../../schemas/resources/nowcast.ts';

/** What an evening says of a lead. */
function evening(date: string, low: number | null, intercept: number | null) {
  return { evening: date, rival: 'flow', low, high: low === null ? null : low + 0.1, intercept };
}

const GOOD = [evening('2019-06-10', 0.001, 0.15), evening('2015-05-15', 0.2, -0.15)];

test('a lead that is better than the best baseline on every evening, and calibrated, is production, without a note', (t) => {
  for (const key of ['t15', 't30'] as const) t.deepEqual(leadQuality(key, GOOD), { quality: 'production', note: null });
});

test('45 minutes are experimental however well they do', (t) => {
  t.deepEqual(leadQuality('t45', GOOD), {
    quality: 'experimental',
    note: 'Beyond 30 minutes skill is limited by the growth and decay of storms.',
  });
});

const UNTESTED = 'Not yet tested on radar data of two evenings.';
const NO_BETTER = 'Not shown to be better than the best simple forecast on the evening of 2015-05-15.';
const MISJUDGED = 'Hail did not come as often as forecast on the evening of 2015-05-15.';
for (const [what, evenings, note] of [
  ['no evening', [], UNTESTED],
  ['one good evening', GOOD.slice(0, 1), UNTESTED],
  ['an evening whose interval reaches zero', [GOOD[0], evening('2015-05-15', 0, 0)], NO_BETTER],
  ['an evening that loses', [GOOD[0], evening('2015-05-15', -0.2, 0)], NO_BETTER],
  ['an evening without an interval', [GOOD[0], evening('2015-05-15', null, 0)], NO_BETTER],
  ['an evening on which too much is said', [GOOD[0], evening('2015-05-15', 0.1, -0.16)], MISJUDGED],
  ['an evening on which too little is said', [GOOD[0], evening('2015-05-15', 0.1, 0.16)], MISJUDGED],
  ['an evening without a calibration', [GOOD[0], evening('2015-05-15', 0.1, null)], MISJUDGED],
  ['an evening with both', [GOOD[0], evening('2015-05-15', -0.1, 0.5)], `${NO_BETTER} ${MISJUDGED}`],
  [
    'three evenings that lose',
    ['2015-05-15', '2019-06-10', '2022-07-01'].map((date) => evening(date, -0.1, 0)),
    'Not shown to be better than the best simple forecast on the evenings of 2015-05-15, 2019-06-10 and 2022-07-01.',
  ],
] as const)
  test(`${what} makes a lead experimental, and its note says so`, (t) => {
    t.deepEqual(leadQuality('t15', evenings as typeof GOOD), { quality: 'experimental', note });
  });
