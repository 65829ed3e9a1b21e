import test from 'ava';
import { portfolioGaps } from '../../../api/rules/portfolio-gaps.ts';
import { coverageOf } from '../../../api/rules/radar-coverage.ts';

const DATE = '2026-05-01';
const DAY_MS = Date.parse(`${DATE}T00:00:00Z`);

test('a location that the only scan of a running date did not see is unseen, though no minute of the date is over', async (t) => {
  const only = { from_ms: DAY_MS, to_ms: DAY_MS };
  const scanThatSees = (seen: number) =>
    new Map([[DATE, coverageOf({ times: [DAY_MS], seen: [seen] }, only, null, true)]]);
  const [seen, blind] = [scanThatSees(1), scanThatSees(0)];
  const locations = [
    { id: 'covered', lat: 35, lon: -97 },
    { id: 'beyond', lat: 48, lon: -97 },
  ];
  const gaps = await portfolioGaps(locations, DATE, [], ({ lat }) => (lat < 40 ? seen : blind));
  t.like(gaps, { until: `${DATE}T00:00:00Z`, assets_seen_in_part: 1, assets_unseen: 1 });
  t.deepEqual(gaps.seen_in_part, [{ share: 0, gap_count: 0, gaps: [], asset_count: 1, asset_ids: ['beyond'] }]);
});
