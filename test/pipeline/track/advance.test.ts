import test from 'ava';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { PipelineError } from '../../../pipeline/error.ts';
import { advanceTracks, type TrackScan, type TrackStep } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks, type TrackPointShape } from '../../../pipeline/track/live-tracks.ts';
import { offsetKm } from '../../../pipeline/track/local-plane.ts';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { TrackPoint } from '../../../schemas/tables/tracks.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { draw, drawTenths } from '../../support/data/draw.ts';
import { trackCells } from '../../support/data/track-cells.ts';

const START = Date.parse('2026-05-01T20:00:39Z');

/** Cells of a picture: one per connected group of digits, a pixel about a kilometre. */
function picture(drawing: string): TrackCell[] {
  const field = draw(drawing);
  return trackCells(field, findObjects(field, 1, 1));
}

interface Disc {
  readonly row: number;
  readonly col: number;
  readonly radius?: number;
  readonly mm?: number;
}

/** Cells of a frame of 100 x 100 pixels with round storms of 30 mm, 3 pixels in radius. */
function discs(...storms: readonly Disc[]): TrackCell[] {
  const rows = Array.from({ length: 100 }, (_, r) =>
    Array.from({ length: 100 }, (_, c) => {
      const here = storms.filter(({ row, col, radius = 3 }) => Math.hypot(r - row, c - col) <= radius);
      return Math.max(0, ...here.map(({ mm = 30 }) => 10 * mm));
    }),
  );
  const field = drawTenths(rows);
  return trackCells(field, findObjects(field, 1, 1));
}

function scan(
  minute: number,
  cells: readonly TrackCell[],
  pattern_motion: TrackScan['pattern_motion'] = null,
): TrackScan {
  return { scan_time: START + minute * MS_PER_MIN, cells, pattern_motion };
}

/** Steps of scans in order; a list of cells is a scan two minutes after the one before. */
function follow(...scans: readonly (TrackScan | readonly TrackCell[])[]): TrackStep[] {
  let live: LiveTracks = noLiveTracks;
  return scans.map((given, i) => {
    const step = advanceTracks(live, 'scan_time' in given ? given : scan(2 * i, given));
    live = step.live;
    return step;
  });
}

function points(steps: readonly TrackStep[]): TrackPointShape[] {
  return steps.flatMap((step) => step.points);
}

function statesOf(steps: readonly TrackStep[], track_id: string | undefined): string[] {
  return points(steps).flatMap((point) => (point.track_id === track_id ? [point.state] : []));
}

function trackIds(steps: readonly TrackStep[]): Set<string> {
  return new Set(points(steps).map((point) => point.track_id));
}

function near(
  t: { true: (value: boolean, message?: string) => unknown },
  value: number | null,
  expected: number,
  slack: number,
) {
  t.true(Math.abs((value ?? Number.NaN) - expected) <= slack, `${value}, expected ${expected} +- ${slack}`);
}

test('a storm that moves one pixel south and one east per scan is one track', (t) => {
  const steps = follow(...[0, 1, 2, 3, 4].map((k) => discs({ row: 20 + k, col: 20 + k })));
  t.is(trackIds(steps).size, 1);
  const last = points(steps).at(-1);
  t.is(last?.state, 'tracked');
  t.is(last?.scan_count, 5);
  t.is(last?.duration_min, 8);
  t.is(last?.motion_source, 'track');
  near(t, last?.speed_kmh ?? null, 42, 4); // 1.11 km south and 0.86 km east in two minutes
  near(t, last?.direction_deg ?? null, 142, 4);
});

test('every cell has the track that its row in the table names', (t) => {
  for (const step of follow(
    discs({ row: 20, col: 20 }, { row: 60, col: 60 }),
    discs({ row: 20, col: 21 }, { row: 61, col: 60 }),
  ))
    step.trackOfCell.forEach((track_id, cell_index) => {
      t.is(step.points.find((point) => point.cell_index === cell_index)?.track_id, track_id);
    });
});

test('rows keep to the published table and come by track_id, one per track and scan', (t) => {
  const row = TrackPoint.omit({ storm_date: true, ml_probability: true, confidence: true, peak_ml_probability: true });
  const steps = follow(
    discs({ row: 20, col: 20 }, { row: 60, col: 60 }, { row: 20, col: 70 }),
    discs({ row: 21, col: 21 }, { row: 60, col: 62 }),
    discs({ row: 22, col: 22 }),
    discs({ row: 23, col: 23 }),
  );
  for (const step of steps) {
    for (const point of step.points) t.deepEqual(row.strict().parse(point), point);
    const ids = step.points.map((point) => point.track_id);
    t.deepEqual(ids, [...new Set(ids)].sort());
  }
});

test('a storm that is missing in one scan coasts at its predicted position and comes back as the same track', (t) => {
  const steps = follow(
    ...[0, 1, 2, 3].map((k) => discs({ row: 20, col: 20 + 2 * k })),
    discs(),
    discs({ row: 20, col: 30 }),
  );
  t.is(trackIds(steps).size, 1);
  t.deepEqual(statesOf(steps, steps[0]?.trackOfCell[0]).slice(-2), ['coasted', 'tracked']);
  const coasted = points(steps)[4] as TrackPointShape;
  const expected = discs({ row: 20, col: 28 })[0] as TrackCell;
  near(t, Math.hypot(...Object.values(offsetKm(coasted, expected))), 0, 0.6);
  t.is(coasted.cell_index, null);
  t.is(coasted.duration_min, 6);
  t.is(points(steps)[5]?.duration_min, 10);
});

test('a storm that is missing in two scans ends in the second, and what appears there later is another track', (t) => {
  const storm = discs({ row: 20, col: 20 });
  const steps = follow(storm, storm, [], [], storm);
  t.deepEqual(statesOf(steps, steps[0]?.trackOfCell[0]), ['tracked', 'tracked', 'coasted', 'ended']);
  t.is(steps[3]?.live.tracks.length, 0);
  t.not(steps[4]?.trackOfCell[0], steps[0]?.trackOfCell[0]);
});

test('a gap of ten minutes in the scans is coasted through', (t) => {
  const steps = follow(
    ...[0, 1, 2, 3].map((k) => discs({ row: 20, col: 20 + k })),
    scan(16, discs({ row: 20, col: 28 })),
  );
  t.is(trackIds(steps).size, 1);
});

test('a longer gap ends every track where it may have coasted to at most', (t) => {
  const moving = [0, 1, 2, 3].map((k) => discs({ row: 20, col: 20 + k }));
  const steps = follow(...moving, scan(17, discs({ row: 20, col: 28 })), scan(600, []));
  t.is(trackIds(steps).size, 2);
  const ended = points(steps).filter((point) => point.state === 'ended');
  t.is(ended.length, 2);
  t.is(ended[0]?.duration_min, 6);
  const [last] = moving[3] as [TrackCell];
  near(t, offsetKm(last, ended[0] as TrackPointShape).east, 4.3, 1); // ten minutes at 0.86 km per two minutes
});

test('two storms that run into each other leave one, and the other says into which it merged', (t) => {
  const steps = follow(
    ...[0, 1, 2, 3, 4].map((k) => discs({ row: 50, col: 40 + 2 * k, radius: 5 }, { row: 50, col: 60 - 2 * k })),
    ...[5, 6, 7].map(() => discs({ row: 50, col: 50, radius: 6 })),
  );
  const [large = '', small = ''] = steps[0]?.trackOfCell ?? [];
  t.is(trackIds(steps).size, 2);
  t.is(statesOf(steps, large).at(-1), 'tracked');
  const merged = points(steps).filter((point) => point.state === 'merged');
  t.deepEqual(
    merged.map(({ track_id, merged_into }) => [track_id, merged_into]),
    [[small, large]],
  );
  t.is(statesOf(steps, small).at(-1), 'merged');
});

test('a storm that breaks in two goes on in the stronger part; the other starts with its parent and its motion', (t) => {
  const steps = follow(
    ...[0, 1, 2].map((k) => discs({ row: 40, col: 20 + 2 * k, radius: 4 }, { row: 46, col: 20 + 2 * k, radius: 3 })),
    ...[3, 4].map((k) => discs({ row: 40, col: 20 + 2 * k, radius: 4 }, { row: 48, col: 20 + 2 * k, radius: 2.5 })),
  );
  t.deepEqual(
    steps.map((step) => step.trackOfCell.length),
    [1, 1, 1, 2, 2],
  );
  const parent = steps[0]?.trackOfCell[0] as string;
  t.is(steps[3]?.trackOfCell[0], parent);
  const child = steps[3]?.points.find((point) => point.track_id !== parent);
  t.is(child?.parent_track_id, parent);
  t.is(child?.scan_count, 1);
  t.is(child?.first_detected, START + 6 * MS_PER_MIN);
  t.is(steps[4]?.trackOfCell[1] ?? '', child?.track_id ?? '-');
  const born = steps[3]?.live.tracks.find((track) => track.track_id === child?.track_id);
  near(t, (born?.motion.east_km_min ?? 0) * 2, 1.7, 0.3);
});

test('after a split the id stays with the branch of larger area x size, not with the larger area', (t) => {
  const [whole, broken] = follow(
    picture(`
      2 2 2 2 2 6 6
      2 2 2 2 2 6 6
      2 2 2 2 2 6 6`),
    picture(`
      2 2 2 2 . 6 6
      2 2 2 2 . 6 6
      2 2 2 2 . 6 6`),
  );
  const parent = whole?.trackOfCell[0];
  const [weak = '', strong = ''] = broken?.trackOfCell ?? [];
  t.is(strong, parent ?? '-');
  t.is(broken?.points.find((point) => point.track_id === weak)?.parent_track_id, parent);
});

test('after a split of even size the id stays with the larger area', (t) => {
  const [whole, broken] = follow(
    picture(`
      2 2 2 2 2 2 2
      2 2 2 2 2 2 2
      2 2 2 2 2 2 2`),
    picture(`
      2 2 2 2 . 2 2
      2 2 2 2 . 2 2
      2 2 2 2 . 2 2`),
  );
  t.is(broken?.trackOfCell[0], whole?.trackOfCell[0]);
});

test('after a merger the id of the branch with larger area x size survives', (t) => {
  const joined = picture(`
    2 2 2 2 2 5 5
    2 2 2 2 2 5 5
    2 2 2 2 2 5 5`);
  const steps = follow(
    picture(`
    2 2 2 2 . 5 5
    2 2 2 2 . 5 5
    2 2 2 2 . 5 5`),
    joined,
    joined,
  );
  const [weak = '', strong = ''] = steps[0]?.trackOfCell ?? [];
  t.is(steps[1]?.trackOfCell[0], strong);
  t.deepEqual(statesOf(steps, weak), ['tracked', 'coasted', 'merged']);
  t.is(points(steps).find((point) => point.state === 'merged')?.merged_into, strong);
});

test('two storms that touch for some scans stay two tracks, and share the cell meanwhile', (t) => {
  const apart = `
    . 3 3 3 3 . . . . . 3 3 3 .
    . 3 4 4 3 . . . . . 3 9 3 .
    . 3 4 4 3 . . . . . 3 9 3 .
    . 3 3 3 3 . . . . . 3 3 3 .`;
  const touching = `
    . 3 3 3 3 . . . . . 3 3 3 .
    . 3 4 4 3 2 2 2 2 2 3 5 3 .    one cell for the labelling
    . 3 4 4 3 . . . . . 3 9 3 .
    . 3 3 3 3 . . . . . 3 3 3 .`;
  const steps = follow(...[apart, apart, touching, touching, touching, apart].map(picture));
  const [west = '', east = ''] = steps[0]?.trackOfCell ?? [];
  t.is(trackIds(steps).size, 2);
  t.deepEqual(steps[5]?.trackOfCell, [west, east]);
  for (const step of steps.slice(2, 5)) {
    t.deepEqual(
      step.points.map(({ state, cell_index }) => [state, cell_index]),
      [
        ['tracked', 0],
        ['tracked', 0],
      ],
    );
    t.deepEqual(step.trackOfCell, [east]); // larger area x size, though the smaller part
    t.is(step.points.find((point) => point.track_id === east)?.estimated_size_mm, 90);
    t.is(step.points.find((point) => point.track_id === west)?.estimated_size_mm, 40);
  }
});

test('storms that touch while they race south stay two tracks: their masks move with them', (t) => {
  const flow = { speed_kmh: 133, direction_deg: 180 }; // four pixels in two minutes
  const touching = { row: 0, col: 34, radius: 1.5 };
  const race = [0, 1, 2, 3, 4, 5].map((k) =>
    scan(
      2 * k,
      discs(
        { row: 20 + 4 * k, col: 30, radius: 2.5 },
        { row: 20 + 4 * k, col: 38, radius: 2.5 },
        ...(k > 1 && k < 5 ? [{ ...touching, row: 20 + 4 * k }] : []),
      ),
      flow,
    ),
  );
  const steps = follow(...race);
  t.deepEqual(
    steps.map((step) => step.trackOfCell.length),
    [2, 2, 1, 1, 1, 2],
  );
  t.is(trackIds(steps).size, 2);
  t.deepEqual(steps[5]?.trackOfCell, steps[0]?.trackOfCell);
});

test('a link is never faster than 108 km/h against the flow', (t) => {
  const slow = [0, 0, 0].map(() => discs({ row: 20, col: 20, radius: 1 }));
  const jump = (pixels: number) => follow(...slow.slice(0, 1), discs({ row: 20, col: 20 + pixels, radius: 1 }));
  t.is(trackIds(jump(4)).size, 1); // 3.4 km in two minutes
  t.is(trackIds(jump(5)).size, 2); // 4.3 km
});

test('a fast storm is followed when the field around it is known to move', (t) => {
  const flow = { speed_kmh: 130, direction_deg: 90 };
  const run = [0, 1, 2, 3, 4].map((k) => scan(2 * k, discs({ row: 20, col: 20 + 5 * k, radius: 2 }), flow));
  t.is(trackIds(follow(...run)).size, 1);
});

for (const [source, hint, shift] of [
  ['probsevere', { speed_kmh: 50, direction_deg: 60 }, { speed_kmh: 20, direction_deg: 10 }],
  ['grid_shift', null, { speed_kmh: 20, direction_deg: 10 }],
  ['none', null, null],
] as const)
  test(`a first scan without neighbours publishes the motion of ${source}`, (t) => {
    const [cell] = discs({ row: 20, col: 20 });
    const [point] = advanceTracks(noLiveTracks, scan(0, [{ ...(cell as TrackCell), motion_hint: hint }], shift)).points;
    t.is(point?.motion_source, source);
    const expected = hint ?? shift;
    if (expected) {
      near(t, point?.speed_kmh ?? null, expected.speed_kmh, 1e-9);
      near(t, point?.direction_deg ?? null, expected.direction_deg, 1e-9);
    } else t.deepEqual([point?.speed_kmh, point?.direction_deg], [null, null]);
  });

test('a new storm beside a mature one starts with its motion', (t) => {
  const steps = follow(
    ...[0, 1, 2, 3].map((k) => discs({ row: 20, col: 20 + 2 * k })),
    discs({ row: 20, col: 28 }, { row: 60, col: 60 }),
  );
  const born = steps[4]?.points.find((point) => point.scan_count === 1);
  t.is(born?.motion_source, 'neighbours');
  near(t, born?.direction_deg ?? null, 90, 2);
});

test('growth and trend follow the largest size; peaks stay', (t) => {
  const sizes = [20, 24, 28, 32, 36, 40, 30];
  const steps = follow(...sizes.map((mm) => discs({ row: 20, col: 20, mm })));
  t.deepEqual(
    points(steps).map((point) => point.size_growth_rate_mm_per_min),
    [null, null, null, 2, 2, 2, 2],
  );
  t.deepEqual(
    points(steps).map((point) => point.trend),
    ['steady', 'steady', 'steady', 'steady', ...Array<string>(3).fill('rapidly_intensifying')],
  );
  t.is(points(steps).at(-1)?.estimated_size_mm, 30);
  t.is(points(steps).at(-1)?.peak_estimated_size_mm, 40);
});

/** A busy quarter of an hour: storms that move, touch, break up, vanish for a scan, and a late start. */
const EVENING: TrackScan[] = Array.from({ length: 12 }, (_, k) =>
  scan(
    2 * k + (k > 6 ? 4 : 0),
    discs(
      { row: 20 + k, col: 20 + 2 * k, radius: 4 },
      { row: 26 + k, col: 27 + k, radius: 3, mm: 40 + k },
      ...(k === 4 ? [] : [{ row: 70 - k, col: 30 + k }]),
      ...(k > 5
        ? [
            { row: 60, col: 70 - 2 * k, mm: 60 },
            { row: 66 + (k % 3), col: 70 - 2 * k },
          ]
        : []),
    ),
    { speed_kmh: 40, direction_deg: 120 },
  ),
);

test('replay from any checkpoint that went through JSON equals the run in order, byte for byte', (t) => {
  const inOrder = follow(...EVENING);
  inOrder.forEach((step, k) => {
    let live: LiveTracks = JSON.parse(JSON.stringify(step.live));
    t.deepEqual(live, step.live);
    for (const [j, later] of EVENING.entries()) {
      if (j <= k) continue;
      const replayed = advanceTracks(live, later);
      t.is(JSON.stringify(replayed), JSON.stringify(inOrder[j]));
      live = JSON.parse(JSON.stringify(replayed.live));
    }
  });
});

test('ids and rows of the first scans do not depend on what comes later', (t) => {
  t.deepEqual(follow(...EVENING.slice(0, 5)), follow(...EVENING).slice(0, 5));
});

test('the order in which a scan lists its cells does not change which cells belong together', (t) => {
  const groups = (steps: readonly TrackStep[], scans: readonly TrackScan[]) =>
    Map.groupBy(
      steps.flatMap((step, k) =>
        step.trackOfCell.map((track_id, i) => ({
          track_id,
          at: `${k} ${scans[k]?.cells[i]?.lat} ${scans[k]?.cells[i]?.lon}`,
        })),
      ),
      ({ track_id }) => track_id,
    )
      .values()
      .map((members) =>
        members
          .map(({ at }) => at)
          .sort()
          .join(', '),
      )
      .toArray()
      .sort();
  const turned = EVENING.map((given) => ({
    ...given,
    cells: given.cells.toReversed().map((cell, cell_index) => ({ ...cell, cell_index })),
  }));
  t.deepEqual(groups(follow(...turned), turned), groups(follow(...EVENING), EVENING));
});

test('a scan that is not after the last one is refused by name', (t) => {
  const { live } = advanceTracks(noLiveTracks, scan(2, discs({ row: 20, col: 20 })));
  for (const minute of [2, 0])
    t.throws(() => advanceTracks(live, scan(minute, [])), {
      instanceOf: PipelineError,
      message: /^track 20260501T20\d{4}Z: the scan before is 20260501T200239Z, expected an earlier one$/,
    });
});

test('only live tracks are carried on, and they do not grow with the evening', (t) => {
  const moving = Array.from({ length: 40 }, (_, k) => discs({ row: 50, col: 20 + k }));
  const bytes = follow(...moving).map((step) => JSON.stringify(step.live).length);
  t.true(Math.max(...bytes.slice(10)) < 1.1 * bytes[10]);
});

test('nothing in, nothing out', (t) => {
  t.deepEqual(advanceTracks(noLiveTracks, scan(0, [])), {
    live: { scan_time: START, tracks: [] },
    points: [],
    trackOfCell: [],
    reshaped: new Set(),
  });
});
