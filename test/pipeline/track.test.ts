import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { findCells, findObjects } from '../../pipeline/detect/cells.ts';
import { PipelineError } from '../../pipeline/error.ts';
import type { HailField, ScanField, ScanInput } from '../../pipeline/grid.ts';
import { scanTimes } from '../../pipeline/simulate/evening.ts';
import { type SimulatedScan, simulateScan } from '../../pipeline/simulate/fields.ts';
import { type StormState, stormAt, stormsBetween } from '../../pipeline/simulate/storms.ts';
import { plainsScenario, type Scenario } from '../../pipeline/simulate/weather.ts';
import { advanceTracks, cutCells, trackId } from '../../pipeline/track/advance.ts';
import type { Prediction } from '../../pipeline/track/gate.ts';
import { extendTrail, hindcasts, motionShare, type TrailStep } from '../../pipeline/track/hindcast.ts';
import { firstMotion, type Motion, mahalanobis2, predictMotion, updateMotion } from '../../pipeline/track/kalman.ts';
import {
  growthRate,
  type LiveTrack,
  type LiveTracks,
  nextTrend,
  noLiveTracks,
  recentSizes,
  STEADY,
  type TrackPointShape,
  trendWord,
} from '../../pipeline/track/live-tracks.ts';
import { assign } from '../../pipeline/track/match.ts';
import {
  addOffset,
  headingOf,
  kmPerDegree,
  median,
  offsetKm,
  regionalVelocity,
  type Vector,
  velocityOf,
} from '../../pipeline/track/motion.ts';
import { partitionCells } from '../../pipeline/track/partition-cells.ts';
import { patternMotions } from '../../pipeline/track/pattern-motion.ts';
import { type CellPart, cellAtPixel, maskOf, sharedPixels, type TrackCell } from '../../pipeline/track/track-cell.ts';
import { destination } from '../../schemas/geo/distance.ts';
import { colLon, rowLat } from '../../schemas/geo/lattice.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { TrackPoint, type Trend } from '../../schemas/tables/radar.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';
import { draw, drawTenths } from '../support/data/draw.ts';
import {
  START as DRAWN_START,
  disc,
  frame as drawnFrame,
  faults,
  follow as followDrawn,
  type Parting,
  type Patch,
  SCANS,
  START,
} from '../support/data/parting.ts';
import { NO_COMPANIONS, pluck } from '../support/data/rows.ts';
import { square, trackCells } from '../support/data/track-cells.ts';
import stored from './track/assignment-totals.json' with { type: 'json' };

type TrackStep = ReturnType<typeof advanceTracks>;
type TrackScan = Parameters<typeof advanceTracks>[1];

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

function scan(minute: number, cells: readonly TrackCell[], pattern_motions: readonly (Vector | null)[] = []) {
  return { scan_time: START + minute * MS_PER_MIN, cells, pattern_motions };
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

function near(t: ExecutionContext, value: number | null | undefined, expected: number, slack: number) {
  t.true(Math.abs((value ?? Number.NaN) - expected) <= slack, `${value}, expected ${expected} +- ${slack}`);
}

test('a storm that moves one pixel south and one east per scan is one track', (t) => {
  const steps = follow(...[0, 1, 2, 3, 4].map((k) => discs({ row: 20 + k, col: 20 + k })));
  t.is(trackIds(steps).size, 1);
  const last = points(steps).at(-1);
  t.like(last, { state: 'tracked', scan_count: 5, duration_min: 8, motion_source: 'track' });
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
  const moving = [0, 1, 2, 3].map((k) => discs({ row: 20, col: 20 + 2 * k }));
  const steps = follow(...moving, discs(), discs({ row: 20, col: 30 }));
  t.is(trackIds(steps).size, 1);
  t.deepEqual(statesOf(steps, steps[0]?.trackOfCell[0]).slice(-2), ['coasted', 'tracked']);
  const coasted = points(steps)[4] as TrackPointShape;
  const expected = discs({ row: 20, col: 28 })[0] as TrackCell;
  near(t, Math.hypot(...Object.values(offsetKm(coasted, expected))), 0, 0.6);
  t.like(coasted, { cell_index: null, duration_min: 6 });
  t.is(points(steps)[5]?.duration_min, 10);
});

test('a storm that is missing in three scans ends in the third, and what appears there later is another track', (t) => {
  const storm = discs({ row: 20, col: 20 });
  const steps = follow(storm, storm, [], [], [], storm);
  t.deepEqual(statesOf(steps, steps[0]?.trackOfCell[0]), ['tracked', 'tracked', 'coasted', 'coasted', 'ended']);
  t.is(steps[4]?.live.tracks.length, 0);
  t.not(steps[5]?.trackOfCell[0], steps[0]?.trackOfCell[0]);
});

for (const minutes of [2, 5])
  test(`a storm that dips below the threshold for two scans of ${minutes} minutes keeps its id, and coasts meanwhile`, (t) => {
    const at = (k: number) => discs({ row: 20, col: 20 + k * minutes });
    const steps = follow(...[0, 1, 2, 3, 4, 5, 6, 7].map((k) => scan(k * minutes, k === 4 || k === 5 ? [] : at(k))));
    const states = statesOf(steps, steps[0]?.trackOfCell[0]);
    t.is(states.join(' '), 'tracked tracked tracked tracked coasted coasted tracked tracked');
    t.is(trackIds(steps).size, 1);
  });

test('a storm that dips for two scans does not go on in a cell that rises beside its way', (t) => {
  const steps = follow(
    ...[0, 1, 2, 3].map((k) => discs({ row: 40, col: 20 + k })),
    ...[[], []],
    ...[6, 7].map((k) => discs({ row: 47, col: 20 + k })),
  );
  t.is(trackIds(steps).size, 2);
  t.is(statesOf(steps, steps[0]?.trackOfCell[0]).at(-1), 'ended');
});

test('a gap of ten minutes in the scans is coasted through', (t) => {
  const moving = [0, 1, 2, 3].map((k) => discs({ row: 20, col: 20 + k }));
  t.is(trackIds(follow(...moving, scan(16, discs({ row: 20, col: 28 })))).size, 1);
});

test('a longer gap ends every track where it may have coasted to at most', (t) => {
  const moving = [0, 1, 2, 3].map((k) => discs({ row: 20, col: 20 + k }));
  const steps = follow(...moving, scan(17, discs({ row: 20, col: 28 })), scan(600, []));
  t.is(trackIds(steps).size, 2);
  const ended = points(steps).filter((point) => point.state === 'ended');
  t.deepEqual([ended.length, ended[0]?.duration_min], [2, 6]);
  const [last] = moving[3] as [TrackCell];
  near(t, offsetKm(last, ended[0] as TrackPointShape).east, 4.3, 1); // ten minutes at 0.86 km per two minutes
});

test('two storms that run into each other leave one, and the other says into which it merged', (t) => {
  const steps = follow(
    ...[0, 1, 2, 3, 4].map((k) => discs({ row: 50, col: 40 + 2 * k, radius: 5 }, { row: 50, col: 60 - 2 * k })),
    ...Array.from({ length: 12 }, () => discs({ row: 50, col: 50, radius: 6 })),
  );
  const [large = '', small = ''] = steps[0]?.trackOfCell ?? [];
  t.is(trackIds(steps).size, 2);
  t.is(statesOf(steps, large).at(-1), 'tracked');
  const merged = points(steps).filter((point) => point.state === 'merged');
  t.deepEqual(pluck(merged, 'track_id'), [small]);
  t.deepEqual(pluck(merged, 'merged_into'), [large]);
  t.is(statesOf(steps, small).at(-1), 'merged');
});

test('a storm that breaks in two goes on in the stronger part; the other starts with its parent and its motion', (t) => {
  const steps = follow(
    ...[0, 1, 2].map((k) => discs({ row: 40, col: 20 + 2 * k, radius: 4 }, { row: 46, col: 20 + 2 * k, radius: 3 })),
    ...[3, 4].map((k) => discs({ row: 40, col: 20 + 2 * k, radius: 4 }, { row: 48, col: 20 + 2 * k, radius: 2.5 })),
  );
  t.deepEqual(pluck(pluck(steps, 'trackOfCell'), 'length'), [1, 1, 1, 2, 2]);
  const parent = steps[0]?.trackOfCell[0] as string;
  t.is(steps[3]?.trackOfCell[0], parent);
  const child = steps[3]?.points.find((point) => point.track_id !== parent);
  t.like(child, { parent_track_id: parent, scan_count: 1, first_detected: START + 6 * MS_PER_MIN });
  t.is(steps[4]?.trackOfCell[1] ?? '', child?.track_id ?? '-');
  const born = steps[3]?.live.tracks.find((track) => track.track_id === child?.track_id);
  near(t, (born?.motion.east_km_min ?? 0) * 2, 1.7, 0.3);
});

for (const seen_last of [1, 2, 3, 4])
  test(`four scans lost while a storm splits, the last one ${2 * seen_last} minutes before: one branch keeps the id, the other names it`, (t) => {
    for (const kmh of [20, 30, 42])
      for (const towards_deg of [0, 45, 90, 135]) {
        const drift = { kmh: 30, towards_deg: 70 };
        const parting: Parting = { patches: [disc(7, 40), disc(5, 40)], apart: { kmh, towards_deg }, drift };
        const isLost = (since_break: number) => since_break > -seen_last && since_break <= 4 - seen_last;
        t.deepEqual(faults(parting, isLost), [], `${kmh} km/h towards ${towards_deg}`);
      }
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
    t.deepEqual(pluck(step.points, 'state'), ['tracked', 'tracked']);
    t.deepEqual(pluck(step.points, 'cell_index'), [0, 0]);
    t.deepEqual(step.trackOfCell, [east]); // larger area x size, though the smaller part
    t.is(step.points.find((point) => point.track_id === east)?.estimated_size_mm, 90);
    t.is(step.points.find((point) => point.track_id === west)?.estimated_size_mm, 40);
  }
});

test('storms that touch while they race south stay two tracks: their masks move with them', (t) => {
  const flow = { east: 0, north: -133 / 60 }; // four pixels in two minutes
  const race = [0, 1, 2, 3, 4, 5].map((k) => {
    const row = 20 + 4 * k;
    const touching = k > 1 && k < 5 ? [{ row, col: 34, radius: 1.5 }] : [];
    return scan(2 * k, discs({ row, col: 30, radius: 2.5 }, { row, col: 38, radius: 2.5 }, ...touching), [flow, flow]);
  });
  const steps = follow(...race);
  t.deepEqual(pluck(pluck(steps, 'trackOfCell'), 'length'), [2, 2, 1, 1, 1, 2]);
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
  const flow = { east: 130 / 60, north: 0 };
  const run = [0, 1, 2, 3, 4].map((k) => scan(2 * k, discs({ row: 20, col: 20 + 5 * k, radius: 2 }), [flow]));
  t.is(trackIds(follow(...run)).size, 1);
});

for (const [source, hint, shift] of [
  ['grid_shift', { speed_kmh: 50, direction_deg: 60 }, { speed_kmh: 20, direction_deg: 10 }],
  ['probsevere', { speed_kmh: 50, direction_deg: 60 }, null],
  ['none', null, null],
] as const)
  test(`a first scan without neighbours publishes the motion of ${source}`, (t) => {
    const [cell] = discs({ row: 20, col: 20 });
    const given = scan(0, [{ ...(cell as TrackCell), motion_hint: hint }], [shift && velocityOf(shift)]);
    const [point] = advanceTracks(noLiveTracks, given).points;
    t.is(point?.motion_source, source);
    const expected = shift ?? hint;
    if (expected) {
      near(t, point?.speed_kmh, expected.speed_kmh, 1e-9);
      near(t, point?.direction_deg, expected.direction_deg, 1e-9);
    } else t.deepEqual([point?.speed_kmh, point?.direction_deg], [null, null]);
  });

test('from its third scan on a storm is published between its own motion and that of the pattern, nearer to its own', (t) => {
  const run = (pattern: Vector | null) =>
    follow(...[0, 1, 2, 3, 4, 5].map((k) => scan(2 * k, discs({ row: 20, col: 20 + 2 * k }), [pattern])));
  const [alone, drawn] = [null, { east: 0.3, north: 0 }].map((pattern) => run(pattern).at(-1)?.points[0]);
  t.is(drawn?.motion_source, 'track');
  const [own_kmh, drawn_kmh] = [alone?.speed_kmh ?? 0, drawn?.speed_kmh ?? 0];
  t.true(drawn_kmh > (own_kmh + 18) / 2 && drawn_kmh < own_kmh - 2, `${drawn_kmh} of ${own_kmh} km/h`);
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
  t.deepEqual(pluck(points(steps), 'size_growth_rate_mm_per_min'), [null, null, null, 2, 2, 2, 2]);
  const [steady, growing] = [Array<string>(4).fill('steady'), Array<string>(3).fill('rapidly_intensifying')];
  t.deepEqual(pluck(points(steps), 'trend') as string[], [...steady, ...growing]);
  t.like(points(steps).at(-1), { estimated_size_mm: 30, peak_estimated_size_mm: 40 });
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
    Array.from({ length: 5 }, () => velocityOf({ speed_kmh: 40, direction_deg: 120 })),
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

test('the order in which a scan lists its cells does not change which cells belong together', (t) => {
  const groups = (scans: readonly TrackScan[]) => {
    const members = follow(...scans).flatMap((step, k) =>
      scans[k].cells.map(({ lat, lon }, i) => ({ track_id: step.trackOfCell[i], at: `${k} ${lat} ${lon}` })),
    );
    const byTrack = Map.groupBy(members, ({ track_id }) => track_id);
    return [...byTrack.values()].map((cells) => pluck(cells, 'at').sort().join(', ')).sort();
  };
  const turned = EVENING.map((given) => ({
    ...given,
    cells: given.cells.toReversed().map((cell, cell_index) => ({ ...cell, cell_index })),
  }));
  t.deepEqual(groups(turned), groups(EVENING));
});

test('a scan that is not after the last one is refused by name', (t) => {
  const { live } = advanceTracks(noLiveTracks, scan(2, discs({ row: 20, col: 20 })));
  for (const minute of [2, 0])
    t.throws(() => advanceTracks(live, scan(minute, [])), {
      instanceOf: PipelineError,
      message: /^track 20260501T20\d{4}Z: the scan before is 20260501T200239Z, expected an earlier one$/,
    });
});

test('only live tracks are carried on, and after three quarters of an hour they do not grow with the evening', (t) => {
  const moving = Array.from({ length: 40 }, (_, k) => discs({ row: 50, col: 20 + k }));
  const bytes = follow(...moving).map((step) => JSON.stringify(step.live).length);
  t.true(Math.max(...bytes.slice(25)) < 1.1 * bytes[25]);
});

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
          t.deepEqual(faults({ patches, apart: { kmh, towards_deg }, drift }), [], `${kmh} km/h to ${towards_deg}`);
    });

test('the branch that goes on keeps growth, age and the motion of the whole', (t) => {
  const patches = [disc(5, 40), disc(5, 40)] as const;
  const parting: Parting = { patches, apart: { kmh: 33, towards_deg: 0 }, drift: { kmh: 45, towards_deg: 90 } };
  const followed = followDrawn(Array.from({ length: SCANS }, (_, scan) => drawnFrame(parting, scan)));
  const broken = followed.findIndex(({ cells }) => cells.length > 1);
  const [whole, branch] = [followed[broken - 1], followed[broken]].map((at) =>
    at?.step.points.find(({ track_id }) => track_id === followed[0]?.step.trackOfCell[0]),
  );
  const scan_count = (whole?.scan_count ?? 0) + 1;
  t.like(branch, { scan_count, first_detected: DRAWN_START, size_growth_rate_mm_per_min: 0 });
  near(t, branch?.speed_kmh, whole?.speed_kmh ?? 0, 0.1);
});

const SCAN = Date.parse('2024-02-28T23:59:39Z');

test('an id is the UTC date of the first scan and a base36 hash', (t) => {
  t.regex(trackId(SCAN, 0), /^20240228-[0-9a-z]{1,13}$/);
  t.regex(trackId(SCAN + 60_000, 0), /^20240229-/);
});

test('two beginnings of a day never share an id: scans, cells and parts of a cell', (t) => {
  const ids = new Set<string>();
  for (let scan = 0; scan < 100; scan++)
    for (let cell = 0; cell < 50; cell++)
      for (let part = 0; part < 4; part++) ids.add(trackId(SCAN - scan * 120_000, cell, part));
  t.is(ids.size, 100 * 50 * 4);
});

const TREND_START = Date.parse('2026-05-01T20:00:00Z');

/** Sizes two minutes apart. */
function every2Minutes(sizes: readonly number[]) {
  return sizes.map((size_mm, i) => ({ scan_time: TREND_START + 2 * i * MS_PER_MIN, size_mm }));
}

/** The words published along a series of sizes, by the rules of a track. */
function words(sizes: readonly number[]): Trend[] {
  let state = STEADY;
  const all = every2Minutes(sizes);
  return all.map(({ scan_time, size_mm }, i) => {
    const growth = growthRate(recentSizes(all.slice(0, i + 1), scan_time));
    state = nextTrend(state, trendWord(growth, size_mm));
    return state.word;
  });
}

/** Uniform numbers in -1..1 from a fixed generator. */
function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

const ramp = (slope: number) => [0, 1, 2, 3, 4, 5].map((i) => 30 + slope * 2 * i);

for (const [what, sizes, rate] of [
  ...[-2, -0.3, 0, 0.25, 1.5].map((slope) => [`a ramp of ${slope} mm/min`, ramp(slope), slope] as const),
  ['a ramp of 0.5 mm/min with one wild scan', [20, 21, 22, 80, 24, 25], 0.5],
  ['four scans', [10, 20, 30, 40], 5],
] as const)
  test(`${what} give a growth rate of ${rate} mm/min`, (t) =>
    t.true(Math.abs((growthRate(every2Minutes(sizes)) as number) - rate) < 1e-12));

test('there is no growth rate before four scans', (t) => t.is(growthRate(every2Minutes([10, 20, 30])), null));

test('growth looks back ten minutes, the tenth included', (t) => {
  const sizes = every2Minutes([1, 2, 3, 4, 5, 6, 7]);
  t.deepEqual(pluck(recentSizes(sizes, TREND_START + 12 * MS_PER_MIN), 'size_mm'), [2, 3, 4, 5, 6, 7]);
});

for (const [growth, size_mm, word] of [
  [-1, 40, 'rapidly_weakening'],
  [-0.999, 40, 'weakening'],
  [-0.25, 40, 'weakening'],
  [-0.249, 40, 'steady'],
  [0.249, 40, 'steady'],
  [0.25, 40, 'intensifying'],
  [0.999, 40, 'intensifying'],
  [1, 19, 'rapidly_intensifying'],
  [1, 18.9, 'intensifying'],
  [null, 40, 'steady'],
] as const)
  test(`growth ${growth} mm/min at ${size_mm} mm calls for ${word}`, (t) => t.is(trendWord(growth, size_mm), word));

test('the word changes only when two scans in a row call for the same new one', (t) => {
  const once = nextTrend(STEADY, 'weakening');
  t.is(once.word, 'steady');
  t.is(nextTrend(once, 'weakening').word, 'weakening');
  t.is(nextTrend(once, 'intensifying').word, 'steady');
  t.is(nextTrend(nextTrend(once, 'steady'), 'weakening').word, 'steady');
});

for (const [amplitude, share] of [
  [1.5, 0.97],
  [2, 0.93],
] as const)
  test(`30 mm with +-${amplitude} mm of noise stays steady in ${share * 100} % of scans`, (t) => {
    const next = noise(7);
    const run = words(Array.from({ length: 5000 }, () => 30 + amplitude * next()));
    t.true(run.filter((word) => word === 'steady').length >= share * run.length);
  });

const BEFORE = 5;
const ROW = 1500;
const COL = 3500;

/** Cells of the scans before and after a change, drifting two pixels east a scan. */
function scans(before: (col: number) => TrackCell, after: (col: number) => TrackCell): TrackCell[][] {
  return Array.from({ length: 2 * BEFORE }, (_, k) => [(k < BEFORE ? before : after)(COL + 2 * k)]);
}

const long = (col: number) => square(ROW, col, 12, 30);
const eastEnd = (col: number) => square(ROW, col + 18, 12, 12);
const beside = (col: number) => square(ROW, col + 16, 12, 30);

for (const [what, before, after, tracks] of [
  ['whose western half falls below the threshold', long, eastEnd, 1],
  ['to which a western half rises above the threshold', eastEnd, long, 1],
  ['of which a scrap of less than a fifth is left', long, (col: number) => square(ROW, col + 25, 12, 5), 2],
  ['after which one of like size rises over less than half of it', long, beside, 2],
] as const)
  test(`a storm ${what} in one scan makes ${tracks} tracks`, (t) =>
    t.is(new Set(followDrawn(scans(before, after)).flatMap(({ step }) => step.trackOfCell)).size, tracks));

test('a change of shape is no motion: speed and direction stay, and the scan says so', (t) => {
  const followed = followDrawn(scans(long, eastEnd));
  const points = followed.map(({ step }) => step.points[0]);
  const [last, changed] = [points[BEFORE - 1], points[BEFORE]];
  near(t, changed?.speed_kmh, last?.speed_kmh ?? 0, 0.01);
  t.deepEqual([...(followed[BEFORE]?.step.reshaped ?? [])], [changed?.track_id]);
  t.is(followed[BEFORE - 1]?.step.reshaped.size, 0);
});

test('of two pieces in the place of a storm the one with the larger overlap is the storm', (t) => {
  const frames = scans(long, eastEnd).map((cells, k) =>
    k < BEFORE ? cells : [...cells, square(ROW + 40, COL, 12, 30)],
  );
  const followed = followDrawn(frames);
  t.is(followed[BEFORE]?.step.trackOfCell[0], followed[0]?.step.trackOfCell[0]);
  t.is(followed[BEFORE]?.step.points.length, 2);
});

const CROSSING_SIDE = 200;
const CROSSING_STORM = disc(5, 40);
const SPEED_KM_MIN = 0.75;
const DURATION_MIN = 70;

/** Offset of a storm from the crossing, in pixels, some minutes before or after it. */
function offsetAt(towards_deg: number, minutes: number) {
  const radians = (towards_deg * Math.PI) / 180;
  return {
    south: Math.round((-SPEED_KM_MIN * minutes * Math.cos(radians)) / 1.11),
    east: Math.round((SPEED_KM_MIN * minutes * Math.sin(radians)) / 0.86),
  };
}

/** Track nearest to each of two equal storms on these ways, in the first and in the last scan, and the ids in between. */
function crossing(ways: readonly [number, number], step_min: number) {
  let live: LiveTracks = noLiveTracks;
  const ids = new Set<string>();
  const nearest: string[][] = [];
  let merged = 0;
  for (let minute = 0; minute <= DURATION_MIN; minute += step_min) {
    const values = Array.from({ length: CROSSING_SIDE }, () => new Array<number>(CROSSING_SIDE).fill(0));
    const middles = ways.map((way) => offsetAt(way, minute - DURATION_MIN / 2));
    for (const middle of middles)
      for (const { south, east, tenths } of CROSSING_STORM) {
        const line = values[CROSSING_SIDE / 2 + middle.south + south] as number[];
        const col = CROSSING_SIDE / 2 + middle.east + east;
        line[col] = Math.max(line[col], tenths);
      }
    const field = drawTenths(values);
    const cells = trackCells(field, findObjects(field, 1, 8));
    if (cells.length === 1) merged++;
    const step = advanceTracks(live, scan(minute, cells));
    live = step.live;
    for (const { track_id } of step.points) ids.add(track_id);
    const trackAt = ({ south, east }: ReturnType<typeof offsetAt>) => {
      const km = ({ centroid_lat, centroid_lon }: LiveTrack) => {
        const rows = (55 - centroid_lat) / 0.01 - 0.5 - 1500 - CROSSING_SIDE / 2 - south;
        const cols = (centroid_lon + 130) / 0.01 - 0.5 - 3500 - CROSSING_SIDE / 2 - east;
        return Math.hypot(rows * 1.11, cols * 0.86);
      };
      return live.tracks.toSorted((a, b) => km(a) - km(b))[0]?.track_id ?? '';
    };
    nearest.push(middles.map(trackAt));
  }
  return { ids, first: nearest[0], last: nearest.at(-1), merged };
}

for (const step_min of [2, 5])
  for (const angle of [180, 135, 90])
    test(`two equal storms that cross at ${angle} degrees go straight on, seen every ${step_min} minutes`, (t) => {
      for (const turned of [0, 25, 70]) {
        const { ids, first, last, merged } = crossing([turned, turned + angle], step_min);
        t.true(merged > 1, `${merged} scans with one object`);
        t.is(ids.size, 2, `turned by ${turned}`);
        t.is(new Set(last).size, 2);
        t.deepEqual(last, first, `turned by ${turned}`);
      }
    });

const EDGE_SIDE = 80;
const EDGE_STORM = disc(7, 40);

/** Speeds and ids of a storm that walks off the drawn grid, two pixels in two minutes to the south and east. */
function walkOff(south: number, east: number) {
  let live: LiveTracks = noLiveTracks;
  const ids = new Set<string>();
  const seen: { cut: boolean; speed_kmh: number | null; direction_deg: number | null }[] = [];
  for (let k = 0; k < 24; k++) {
    const values = Array.from({ length: EDGE_SIDE }, () => new Array<number>(EDGE_SIDE).fill(0));
    for (const pixel of EDGE_STORM) {
      const [row, col] = [EDGE_SIDE / 2 + south * 2 * k + pixel.south, EDGE_SIDE / 2 + east * 2 * k + pixel.east];
      if (row >= 0 && row < EDGE_SIDE && col >= 0 && col < EDGE_SIDE) (values[row] as number[])[col] = pixel.tenths;
    }
    const field = drawTenths(values);
    const cells = trackCells(field, findObjects(field, 1, 8));
    const cut = cutCells(cells, field.window, []);
    const step = advanceTracks(live, { ...scan(2 * k, cells), cut });
    live = step.live;
    for (const point of step.points) {
      ids.add(point.track_id);
      if (point.state === 'tracked') seen.push({ cut: cut.size > 0, ...point });
    }
  }
  return { ids, seen };
}

for (const [edge, south, east] of [
  ['north', -1, 0],
  ['south', 1, 0],
  ['west', 0, -1],
  ['east', 0, 1],
  ['south-east', 1, 1],
] as const)
  test(`a storm that walks off the ${edge} edge keeps its published speed and direction to its last scan`, (t) => {
    const { ids, seen } = walkOff(south, east);
    const before = seen.findLast(({ cut }) => !cut);
    const leaving = seen.filter(({ cut }) => cut);
    t.is(ids.size, 1);
    t.true(leaving.length >= 3, `${leaving.length} scans on the edge`);
    for (const { speed_kmh, direction_deg } of leaving) {
      near(t, (speed_kmh as number) / (before?.speed_kmh as number), 1, 0.05);
      const turn = Math.abs((direction_deg as number) - (before?.direction_deg as number));
      t.true(Math.min(turn, 360 - turn) < 3, `${before?.direction_deg} ${direction_deg}`);
    }
  });

test('a cell is cut by the edge of the grid and by pixels beside it that no radar covers, not by those farther away', (t) => {
  const window = { row0: 1000, col0: 2000, rows: 100, cols: 100 };
  const unseen = [{ row_first: 1040, row_last: 1049, col_first: 2040, col_last: 2049 }];
  const cells = [square(1000, 2020), square(1034, 2042), square(1033, 2042), square(1042, 2050), square(1042, 2051)];
  t.deepEqual([...cutCells(cells, window, unseen)], [0, 1, 3]);
});

const SEED = 3;
const EVENING_START = Date.parse('2026-05-01T20:00:00Z');
const NEAR_KM = 8;
/** A storm without a cell for longer than that is gone for its track, which misses two scans at most. */
const GONE_MS = 5 * 60_000;
/** Velocity of a storm: over so long, in which a mature track has seen it. */
const PAST_MIN = 8;

function meshOf({ window, index, values }: SimulatedScan): HailField {
  const hits = [...index.keys()].filter((k) => values.MESH[k] > 0);
  const rowStart = new Uint32Array(window.rows + 1);
  for (const k of hits) rowStart[Math.floor(index[k] / window.cols) + 1] += 1;
  for (let row = 0; row < window.rows; row++) rowStart[row + 1] += rowStart[row];
  const col = Uint16Array.from(hits, (k) => window.col0 + (index[k] % window.cols));
  const tenths = Uint16Array.from(hits, (k) => values.MESH[k]);
  return { window, rowStart, col, tenths, covered_px: 0, uncovered_px: 0 };
}

function scanInput(scan_time: number, mesh: HailField): ScanInput {
  const others = { companions: NO_COMPANIONS, probsevere: null, products: ['MESH'] };
  return { scan_time, simulated: true, mesh, uncovered: null, ...others };
}

/** Storms of the scenario at an instant. */
function truthAt(scenario: Scenario, time_ms: number): StormState[] {
  return stormsBetween(scenario, time_ms, time_ms)
    .map((storm) => stormAt(storm, time_ms))
    .filter(({ peak_mm }) => peak_mm > 0);
}

function distanceKm(storm: StormState, track: LiveTrack): number {
  const off = offsetKm(storm, { lat: track.centroid_lat, lon: track.centroid_lon });
  return Math.hypot(off.east, off.north);
}

/** Pairs of storms and tracks that are each other's nearest, within 8 km. */
function pairs(storms: readonly StormState[], tracks: readonly LiveTrack[]) {
  const nearest = <A, B>(from: A, all: readonly B[], km: (a: A, b: B) => number): B | undefined =>
    all.toSorted((p, q) => km(from, p) - km(from, q))[0];
  return storms.flatMap((storm) => {
    const track = nearest(storm, tracks, distanceKm);
    const back = track && nearest(track, storms, (a, b) => distanceKm(b, a));
    return track && back === storm && distanceKm(storm, track) < NEAR_KM ? [{ storm, track }] : [];
  });
}

test('two hours of simulated supercells: hardly an id switch, and velocities that agree with the truth', (t) => {
  const scenario = plainsScenario(SEED, WSR88D);
  let live: LiveTracks = noLiveTracks;
  let scans: ScanField[] = [];
  const trackOfStorm = new Map<string, { readonly track_id: string; readonly scan_time: number }>();
  let appearances = 0;
  let switches = 0;
  const errors_kmh: number[] = [];
  for (const scan_time of scanTimes(SEED, EVENING_START, EVENING_START + 2 * 3_600_000)) {
    const field = meshOf(simulateScan(scenario, scan_time));
    const cells = trackCells(field, findCells(scanInput(scan_time, field)));
    scans = [...scans.slice(-3), { scan_time, mesh: field }];
    live = advanceTracks(live, { scan_time, cells, pattern_motions: patternMotions(scans, cells) }).live;
    const seen = live.tracks.filter((track) => track.missed_scans === 0);
    const past = truthAt(scenario, scan_time - PAST_MIN * 60_000);
    const earlier = new Map(past.map((state) => [state.storm.storm_id, state]));
    for (const { storm, track } of pairs(truthAt(scenario, scan_time), seen)) {
      const was = trackOfStorm.get(storm.storm.storm_id);
      trackOfStorm.set(storm.storm.storm_id, { track_id: track.track_id, scan_time });
      appearances++;
      // A storm of several cores may have several tracks: its id is lost when the one that it had is gone.
      const isLost = was && !live.tracks.some(({ track_id }) => track_id === was.track_id);
      if (was && isLost && scan_time - was.scan_time <= GONE_MS) switches++;
      const from = earlier.get(storm.storm.storm_id);
      if (track.scan_count < 6 || from === undefined) continue;
      const way = offsetKm(from, storm);
      const { east_km_min, north_km_min } = track.motion;
      errors_kmh.push(60 * Math.hypot(east_km_min - way.east / PAST_MIN, north_km_min - way.north / PAST_MIN));
    }
  }
  t.true(appearances > 200, `${appearances} appearances`);
  t.true(switches <= 0.01 * appearances, `${switches} switches in ${appearances} appearances`);
  // The storm goes straight on; its cores do not, and they are what a tracker sees.
  t.true(median(errors_kmh) < 14, `median velocity error ${median(errors_kmh)} km/h`);
});

const HERE = { lat: 40, lon: -97 };

for (const [east, north, direction] of [
  [0, 1, 0],
  [1, 0, 90],
  [0, -1, 180],
  [-1, 0, 270],
  [1, 1, 45],
] as const)
  test(`${east} km/min east and ${north} north go towards ${direction} degrees`, (t) => {
    const heading = headingOf({ east, north });
    t.is(heading.direction_deg, direction);
    t.true(Math.abs(heading.speed_kmh - 60 * Math.hypot(east, north)) < 1e-9);
  });

test('no motion goes north whatever the sign of its zeros, so that memory out of JSON says the same', (t) => {
  for (const east of [0, -0]) for (const north of [0, -0]) t.is(headingOf({ east, north }).direction_deg, 0);
});

test('a direction just west of north stays below 360 degrees', (t) => {
  const { direction_deg } = headingOf({ east: -1e-18, north: 1 });
  t.true(direction_deg >= 0 && direction_deg < 360);
});

test('the median takes east and north apart and is not moved by one outlier', (t) => {
  const velocities = [
    { east: 1, north: 5 },
    { east: 2, north: 4 },
    { east: 90, north: 3 },
  ];
  const movers = velocities.map((velocity) => ({ ...HERE, velocity }));
  t.deepEqual(regionalVelocity(HERE, movers), { east: 2, north: 4 });
});

test('only movers within 100 km make the regional motion', (t) => {
  const near = { ...destination(HERE, 60, 99.9), velocity: { east: 1, north: 0 } };
  const far = { ...destination(HERE, 240, 100.1), velocity: { east: 0, north: 9 } };
  t.deepEqual(regionalVelocity(HERE, [far, near]), { east: 1, north: 0 });
  t.is(regionalVelocity(HERE, [far]), null);
});

const SIDE = 200;
const CENTRES = [
  [40, 50],
  [60, 150],
  [150, 60],
  [140, 140],
] as const;

/** Four storms of 60 mm, or a share of it, moved by pixels. */
function storms(south: number, east: number, share = 1): HailField {
  const rows = Array.from({ length: SIDE }, (_, r) =>
    Array.from({ length: SIDE }, (_, c) => {
      const mm = CENTRES.map(([y, x]) => 60 * share * Math.exp(-((r - y - south) ** 2 + (c - x - east) ** 2) / 18));
      const tenths = Math.round(10 * Math.max(...mm));
      return tenths >= 20 ? tenths : 0;
    }),
  );
  return drawTenths(rows);
}

const FIRST_STORM = { lat: rowLat(1540), lon: colLon(3550) };

/** Motion of the pattern around the first of the storms after some minutes. */
function motionBetween(before: HailField, after: HailField, minutes = 2) {
  const scans = [before, after].map((mesh, k) => ({ scan_time: START + k * minutes * MS_PER_MIN, mesh }));
  return patternMotions(scans, [FIRST_STORM])[0];
}

for (const [south, east] of [
  [0, 0],
  [1, 2],
  [-2, 1],
  [0.5, 1.5],
  [-1.3, -0.4],
] as const)
  test(`storms that moved ${south} pixels south and ${east} east in two minutes are found to have done so`, (t) => {
    const velocity = motionBetween(storms(0, 0), storms(south, east));
    const km = kmPerDegree(rowLat(1600));
    t.true(Math.abs((velocity?.north ?? Number.NaN) + (south * 0.01 * km.north) / 2) < 0.05);
    t.true(Math.abs((velocity?.east ?? Number.NaN) - (east * 0.01 * km.east) / 2) < 0.05);
  });

test('fields without resemblance, without pixels or too far apart in time say nothing', (t) => {
  const dry = draw('. . .');
  t.is(motionBetween(storms(0, 0), dry), null);
  t.is(motionBetween(dry, storms(0, 0)), null);
  t.is(motionBetween(storms(0, 0), storms(0, 1), 11), null);
});

test('a pattern that grew tells its motion from a likeness of 0.5 on', (t) => {
  // Of one shape, and k times as strong, the likeness is nearly 2k / (1 + k²): 0.53 and 0.46.
  t.truthy(motionBetween(storms(0, 0, 0.29), storms(0, 1)));
  t.is(motionBetween(storms(0, 0, 0.25), storms(0, 1)), null);
});

const KALMAN_HERE = { lat: 38, lon: -97 };
const AT_REST = { east: 0, north: 0 };

function sd(motion: Motion): number {
  return Math.sqrt(motion.pp);
}

test('acceleration noise alone spreads a known motion to 3.4, 9.5 and 17.4 km in 15, 30 and 45 minutes', (t) => {
  const known = firstMotion(KALMAN_HERE, 0, AT_REST, 0);
  const spread_km = [15, 30, 45].map((minutes) => Number(sd(predictMotion(known, minutes)).toFixed(1)));
  t.deepEqual(spread_km, [3.4, 9.5, 17.4]);
});

test('a measurement pulls by its share of the variances: equal ones meet half way', (t) => {
  const predicted = firstMotion(KALMAN_HERE, 1, AT_REST, 0.4);
  const updated = updateMotion(predicted, addOffset(KALMAN_HERE, { east: 2, north: 0 }), 1);
  t.true(Math.abs(offsetKm(KALMAN_HERE, updated).east - 1) < 1e-6);
  t.is(updated.pp, 0.5);
});

test('measurements along a straight line teach the velocity', (t) => {
  const velocity = { east: 0.9, north: 0.4 };
  let motion = firstMotion(KALMAN_HERE, 1, AT_REST, 1);
  for (let k = 1; k <= 10; k++) {
    const at = addOffset(KALMAN_HERE, { east: velocity.east * 2 * k, north: velocity.north * 2 * k });
    motion = updateMotion(predictMotion(motion, 2), at, 1);
  }
  t.true(Math.abs(motion.east_km_min - 0.9) < 0.05 && Math.abs(motion.north_km_min - 0.4) < 0.05);
  t.true(motion.vv < 0.1);
});

test('the Mahalanobis distance counts prediction and measurement alike', (t) => {
  const predicted = firstMotion(KALMAN_HERE, 3, AT_REST, 0.4);
  t.true(Math.abs(mahalanobis2(predicted, addOffset(KALMAN_HERE, { east: 0, north: 4 }), 1) - 4) < 1e-6);
});

const PLACES = [25, 33, 40, 49].map((lat) => ({ lat, lon: -97.3 }));

test('the length of an offset is within 10 m of the geodesic up to 100 km', (t) => {
  for (const from of PLACES)
    for (const bearing of [0, 37, 90, 145, 200, 271, 333])
      for (const km of [0.5, 5, 30, 100]) {
        const offset = offsetKm(from, destination(from, bearing, km));
        t.true(Math.abs(Math.hypot(offset.east, offset.north) - km) < 0.01, `${from.lat} N, ${bearing} deg, ${km} km`);
      }
});

const ALONE = 9;
const NO = Number.POSITIVE_INFINITY;

function solve(cost: readonly (readonly number[])[], alone = ALONE): number[] {
  return [...assign(Float64Array.from(cost.flat()), cost.length, cost[0]?.length ?? 0, alone)];
}

function totalOf(cost: readonly (readonly number[])[], columnOfRow: readonly number[]): number {
  return columnOfRow.reduce((sum, column, row) => sum + (column < 0 ? ALONE : cost[row]?.[column]), 0);
}

/** Cheapest total by trying every choice: the slow and obvious way. */
function cheapest(cost: readonly (readonly number[])[], row = 0, taken: readonly number[] = []): number {
  if (row === cost.length) return 0;
  const choices = (cost[row] as readonly number[]).flatMap((price, column) =>
    taken.includes(column) ? [] : [price + cheapest(cost, row + 1, [...taken, column])],
  );
  return Math.min(ALONE + cheapest(cost, row + 1, taken), ...choices);
}

const price = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.double({ min: 0, max: 20, noNaN: true }), fc.constant(NO));
const side = fc.integer({ min: 1, max: 5 });
const matrix = fc.tuple(side, side).chain(([rows, columns]) => {
  const row = fc.array(price, { minLength: columns, maxLength: columns });
  return fc.array(row, { minLength: rows, maxLength: rows });
});

test('equal costs go to the lowest column, row by row', (t) => {
  const row = [5, 5, 5];
  t.deepEqual(solve([row, row]), [0, 1]);
});

test('every column is used at most once, and the total equals that of trying everything', (t) => {
  const property = fc.property(matrix, (cost) => {
    const answer = solve(cost);
    const used = answer.filter((column) => column >= 0);
    t.is(new Set(used).size, used.length);
    t.true(Math.abs(totalOf(cost, answer) - cheapest(cost)) < 1e-9);
  });
  fc.assert(property, { numRuns: 300, seed: 1 });
});

test('1000 totals with ties, forbidden pairs and rectangles up to 60 x 60 equal those of scipy', (t) => {
  let state = 20190610;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 16;
  };
  const totals = Array.from({ length: 1000 }, (_, i) => {
    const columns = 1 + ((i * 7) % 60);
    const cost = Array.from({ length: 1 + (i % 60) }, () =>
      Array.from({ length: columns }, () => {
        const value = next();
        return value % 4 === 0 ? NO : value % 21;
      }),
    );
    return totalOf(cost, solve(cost));
  });
  t.deepEqual(totals, stored.totals);
});

function cellsOf(picture: string) {
  const field = draw(picture, { row0: 100, col0: 200 });
  return trackCells(field, findObjects(field, 1, 1));
}

const TWO = cellsOf(`
  . 1 1 . . . 2
  1 1 . . . 2 2
  1 . 1 . . . 2`);

test('a mask moved over another cell shares pixels with it, and none where it came from', (t) => {
  const [first] = TWO;
  const mask = first ? maskOf(first.rows, first.cols) : [];
  const owner = cellAtPixel(TWO);
  t.deepEqual([...sharedPixels(mask, 0, 0, owner)], [[0, 6]]);
  t.deepEqual([...sharedPixels(mask, 0, 5, owner)], [[1, 3]]);
  t.deepEqual([...sharedPixels(mask, 40, 0, owner)], []);
});

test('a mask moved over the edge of the lattice meets nothing on the other side', (t) => {
  const field = draw('1 1', { row0: 0, col0: 0 });
  const owner = cellAtPixel(trackCells(field, findObjects(field, 1, 1)));
  t.deepEqual([...sharedPixels([1, 6998, 2], -1, 2, owner)], []);
  t.deepEqual([...sharedPixels([0, 0, 2], 0, -1, owner)], [[0, 1]]);
});

const STILL = { east: 0, north: 0 };

/** What the tracks of these cells are two minutes later, without motion. */
function predictions(cells: readonly TrackCell[]): Prediction[] {
  const { tracks } = advanceTracks(noLiveTracks, { scan_time: 0, cells }).live;
  return tracks
    .toSorted((a, b) => a.centroid_lon - b.centroid_lon)
    .map((track) => ({ track, minutes: 2, motion: track.motion, rows_south: 0, cols_east: 0 }));
}

/** Parts of cells of which nothing has moved since the cells before. */
function parted(before: readonly TrackCell[], cells: readonly TrackCell[]): CellPart[] {
  const motions = cells.map(() => STILL);
  return partitionCells(cells, cellAtPixel(cells), predictions(before), motions);
}

const divided = (before: string, after: string) => parted(picture(before), picture(after));

const APART = `
  3 3 3 3 . . . 3 3 3
  3 3 3 3 . . . 3 3 3
  3 3 3 3 . . . 3 3 3`;
const JOINED = `
  3 3 3 3 2 2 2 3 3 3
  3 3 3 3 . . . 3 3 3
  3 3 3 3 . . . 3 3 3`;

test('a cell over the masks of two tracks is divided at the middle of what joins them', (t) => {
  const parts = divided(APART, JOINED);
  const found = parts.map(({ cell, part, held_by, rows }) => [cell, part, held_by, rows.length].join(' '));
  t.deepEqual(found, ['0 0 0 14', '0 1 1 10']);
  t.deepEqual([...(parts[0]?.cols ?? [])].slice(0, 6), [3500, 3501, 3502, 3503, 3504, 3505]);
});

test('a cell over one mask stays whole', (t) => {
  const [part, ...more] = divided('3 3 3 3', '3 3 3 3 3');
  t.deepEqual([more.length, part?.held_by, part?.rows.length], [0, null, 5]);
});

test('cores nearer than 5 km are one', (t) => {
  const parts = divided(
    `
    3 3 . 3 3
    3 3 . 3 3
    3 3 . 3 3`,
    `
    3 3 3 3 3
    3 3 . 3 3
    3 3 . 3 3`,
  );
  t.is(parts.length, 1);
});

test('a track whose part shrank to less than 30 % has been absorbed', (t) => {
  const parts = divided(
    APART,
    `
    3 3 3 3 3 3 3 3 3 .
    3 3 3 3 . . . . . .
    3 3 3 3 . . . . . .`,
  );
  t.deepEqual(pluck(parts, 'held_by'), [null]);
});

test('a part whose centre moved too far is free: no track holds it, the other keeps its own', (t) => {
  const [west, east] = divided(
    APART,
    `
    3 3 3 3 2 2 2 3 3 3 . . . . . . . . . .
    3 3 3 3 . . . 3 3 9 9 9 9 9 9 9 9 9 9 9
    3 3 3 3 . . . 3 3 9 9 9 9 9 9 9 9 9 9 9`,
  );
  t.is(west?.held_by, 0);
  t.like(east, { held_by: null, part: 1 });
});

test('parts have the centre, area and largest value of their own pixels', (t) => {
  const [west, east] = divided(APART, JOINED.replaceAll('3 3 3\n', '4 5 4\n'));
  t.deepEqual([west?.estimated_size_mm, east?.estimated_size_mm], [30, 50]);
  t.true((east?.centroid_lon ?? 0) - (west?.centroid_lon ?? 0) > 0.055);
  t.true(Math.abs((west?.area_km2 ?? 0) / 14 - (east?.area_km2 ?? 0) / 10) < 0.001);
});

test('whatever the picture, each pixel of a cell is in exactly one part', (t) => {
  const row = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 24, maxLength: 24 });
  const grid = fc.array(row, { minLength: 8, maxLength: 8 });
  const cellsOf = (digits: number[][], least: number) => {
    const field = drawTenths(digits.map((row) => row.map((digit) => (digit >= least ? 100 * digit : 0))));
    return trackCells(field, findObjects(field, 1, 1));
  };
  const property = fc.property(grid, (digits) => {
    const cells = cellsOf(digits, 1);
    const parts = parted(cellsOf(digits, 2), cells);
    const pixels = (list: readonly TrackCell[]) =>
      list.flatMap((part) => Array.from(part.rows, (row, i) => row * 7000 + part.cols[i])).sort((a, b) => a - b);
    t.deepEqual(pixels(parts), pixels(cells));
    t.deepEqual(pixels(parts).length, new Set(pixels(parts)).size);
  });
  fc.assert(property, { numRuns: 100, seed: 3 });
});

const TRAIL_HERE = { lat: 40, lon: -95 };

/** A square seen some minutes ago that seemed to move east by one kilometre a minute. */
function step(minutes_ago: number, at: Position = TRAIL_HERE): TrailStep {
  const { rows, cols } = square(1500, 3500, 10);
  const scan_time = START - minutes_ago * MS_PER_MIN;
  return { ...at, scan_time, velocity: { east: 1, north: 0 }, mask: maskOf(rows, cols) };
}

/** Share of that motion after the square was found at a column now, and as many squares as there are others, all in one region. */
function shareOf(found: number, others: readonly number[] = []): number {
  const judge = (col: number) => hindcasts([step(10)], START, cellAtPixel([square(1500, col, 10)]));
  return motionShare(TRAIL_HERE, [found, ...others].flatMap(judge));
}

for (const [title, found, others, share] of [
  ['all of a motion is published while it forecasts the storm better than no motion', 3512, [], 1], // 10 km are 12 columns
  ['all of a motion is published while both overlap with the storm alike', 3506, [], 1],
  ['a storm that stayed in place is published without motion', 3500, [], 0],
  ['a storm that crept is published with a part of its motion', 3503, [], 0.5],
  ['a storm that is found nowhere near is no reason to shrink its motion', 3600, [], 1],
  ['the storms around speak for a storm without a past', 3600, [3500, 3500], 0],
  ['the storms around count as much as the storm itself', 3512, [3500, 3500], 0],
  ['most storms of a region decide', 3512, [3512, 3500], 1],
] as const)
  test(title, (t) => t.is(shareOf(found, others), share));

test('nothing known within 100 km is no reason to shrink a motion', (t) => {
  const far = { ...TRAIL_HERE, lon: TRAIL_HERE.lon + 2 };
  const past = hindcasts([step(10, far)], START, cellAtPixel([square(1500, 3500, 10)]));
  t.is(motionShare(far, past), 0);
  t.is(motionShare(TRAIL_HERE, past), 1);
});

test('a trail keeps 45 minutes, with four minutes between its scans, also of storms that ended', (t) => {
  let trail: TrailStep[] = [];
  for (let minute = 0; minute <= 60; minute += 2) {
    const scan_time = START + minute * MS_PER_MIN;
    const storms = minute > 40 ? [] : [step(0), step(0)].map((one) => ({ ...one, scan_time }));
    trail = extendTrail(trail, scan_time, storms);
  }
  const minutes = trail.map(({ scan_time }) => (scan_time - START) / MS_PER_MIN);
  t.deepEqual(
    minutes,
    [16, 20, 24, 28, 32, 36, 40].flatMap((minute) => [minute, minute]),
  );
});
