import test from 'ava';
import { disc, faults, follow, frame, type Parting, type Patch, SCANS, START } from '../../support/data/parting.ts';

const PAIRS = {
  'equal discs': [disc(5, 40), disc(5, 40)],
  'a large and a small disc': [disc(7, 40), disc(4.5, 40)],
  'a large weak and a small strong disc': [disc(7, 30), disc(4.5, 60)],
} as const satisfies Record<string, readonly [Patch, Patch]>;

for (const [name, patches] of Object.entries(PAIRS))
  for (const drift_kmh of [0, 45])
    test(`${name} that part at +-17 to +-67 km/h, drifting at ${drift_kmh} km/h, are the old track and its child`, (t) => {
      const drift = { kmh: drift_kmh, towards_deg: 70 };
      for (const kmh of [17, 33, 50, 67])
        for (const towards_deg of [0, 45, 110])
          t.deepEqual(
            faults({ patches, apart: { kmh, towards_deg }, drift }),
            [],
            `${kmh} km/h towards ${towards_deg}`,
          );
    });

test('the branch that goes on keeps growth, age and the motion of the whole', (t) => {
  const patches = [disc(5, 40), disc(5, 40)] as const;
  const parting: Parting = { patches, apart: { kmh: 33, towards_deg: 0 }, drift: { kmh: 45, towards_deg: 90 } };
  const followed = follow(Array.from({ length: SCANS }, (_, scan) => frame(parting, scan)));
  const broken = followed.findIndex(({ cells }) => cells.length > 1);
  const [whole, branch] = [followed[broken - 1], followed[broken]].map((at) =>
    at?.step.points.find(({ track_id }) => track_id === followed[0]?.step.trackOfCell[0]),
  );
  t.is(branch?.scan_count, (whole?.scan_count ?? 0) + 1);
  t.is(branch?.first_detected, START);
  t.is(branch?.size_growth_rate_mm_per_min, 0);
  t.true(
    Math.abs((branch?.speed_kmh ?? 0) - (whole?.speed_kmh ?? 0)) < 0.1,
    `${whole?.speed_kmh} ${branch?.speed_kmh}`,
  );
});
