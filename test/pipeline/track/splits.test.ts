import test from 'ava';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { advanceTracks, type TrackStep } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { strength } from '../../../pipeline/track/match.ts';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { readFrames, trackingOptions } from '../../bench/tracking.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { trackCells } from '../../support/data/track-cells.ts';

const MINUTES = 2;
const START = Date.parse('2026-05-01T20:00:39Z');
const SIDE = 180;
const ROW0 = 1500;
const COL0 = 3500;
const KM_PER_ROW = 1.11;
const KM_PER_COL = 0.86; // at 39 N

/** A rigid texture: tenths at offsets in pixels from its middle. */
type Patch = readonly { readonly south: number; readonly east: number; readonly tenths: number }[];

/** Towards where, degrees from north clockwise, and how fast. */
interface Way {
  readonly kmh: number;
  readonly towards_deg: number;
}

/** Two patches on top of each other that part in opposite directions, while both drift. */
interface Parting {
  readonly patches: readonly [Patch, Patch];
  readonly apart: Way;
  readonly drift: Way;
}

/** Scans before the patches begin to part, and scans in all. */
const TOGETHER = 4;
const SCANS = 22;

function disc(radius: number, mm: number): Patch {
  const reach = Math.ceil(radius);
  const side = Array.from({ length: 2 * reach + 1 }, (_, i) => i - reach);
  return side.flatMap((south) =>
    side
      .filter((east) => Math.hypot(south, east) <= radius)
      .map((east) => ({ south, east, tenths: Math.round(10 * mm * (1 - 0.5 * (Math.hypot(south, east) / radius))) })),
  );
}

/** Pixels to the south and east that a way covers in some minutes. */
function pixels({ kmh, towards_deg }: Way, minutes: number): { south: number; east: number } {
  const km = (kmh / 60) * minutes;
  const radians = (towards_deg * Math.PI) / 180;
  return { south: (-km * Math.cos(radians)) / KM_PER_ROW, east: (km * Math.sin(radians)) / KM_PER_COL };
}

/** Middles of the two patches in a scan, in pixels of the frame. */
function middles({ apart, drift }: Parting, scan: number) {
  const drifted = pixels(drift, MINUTES * (scan - SCANS / 2));
  const parted = pixels(apart, MINUTES * Math.max(0, scan - TOGETHER));
  return [1, -1].map((side) => ({
    row: Math.round(SIDE / 2 + drifted.south + side * parted.south),
    col: Math.round(SIDE / 2 + drifted.east + side * parted.east),
  }));
}

function frame(parting: Parting, scan: number): TrackCell[] {
  const values = Array.from({ length: SIDE }, () => new Array<number>(SIDE).fill(0));
  middles(parting, scan).forEach(({ row, col }, index) => {
    for (const { south, east, tenths } of parting.patches[index] as Patch) {
      const line = values[row + south] as number[];
      line[col + east] = Math.max(line[col + east], tenths);
    }
  });
  const field = drawTenths(values, { row0: ROW0, col0: COL0 });
  return trackCells(field, findObjects(field, 1, 8));
}

interface Followed {
  readonly cells: readonly TrackCell[];
  readonly step: TrackStep;
}

function follow(frames: readonly (readonly TrackCell[])[]): Followed[] {
  let live: LiveTracks = noLiveTracks;
  return frames.map((cells, k) => {
    const step = advanceTracks(live, { scan_time: START + k * MINUTES * 60_000, cells, grid_shift: null });
    live = step.live;
    return { cells, step };
  });
}

/** What is wrong with the tracks of two patches that part; empty when all is right. */
function faults(parting: Parting): string[] {
  const followed = follow(Array.from({ length: SCANS }, (_, scan) => frame(parting, scan)));
  const whole = followed[0]?.step.trackOfCell[0] as string;
  const points = followed.flatMap(({ step }) => step.points);
  const found: string[] = [];
  const broken = followed.findIndex(({ cells }) => cells.length > 1);
  if (broken === -1) return ['the patches never part'];
  const { cells, step } = followed[broken] as Followed;
  const stronger = cells.reduce((best, cell, i) => (strength(cell) > strength(cells[best] as TrackCell) ? i : best), 0);
  if (step.trackOfCell[stronger] !== whole) found.push(`the stronger branch starts anew`);
  const ids = new Set(points.map(({ track_id }) => track_id));
  if (ids.size !== 2) found.push(`${ids.size} tracks`);
  for (const { track_id, state, parent_track_id, merged_into } of points) {
    if (track_id !== whole && parent_track_id !== whole) found.push(`${track_id} has parent ${parent_track_id}`);
    if (state !== 'tracked') found.push(`${track_id} ${state} ${merged_into}`);
  }
  return [...new Set(found)];
}

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

/** A real core as a patch around the middle of its pixels. */
function texture({ rows, cols, tenths }: TrackCell): Patch {
  const middle = (values: Uint16Array) => Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
  const [row0, col0] = [middle(rows), middle(cols)];
  return Array.from(tenths, (value, i) => ({
    south: rows[i] - row0,
    east: cols[i] - col0,
    tenths: value,
  }));
}

async function realCells(): Promise<TrackCell[][]> {
  const frames = await readFrames(
    trackingOptions([
      ...['--from', sharedData('mrms-sequence'), '--product', 'PrecipRate', '--threshold', '50'],
      ...['--min-pixels', '8', '--bbox', '-125,22,-67,50'],
    ]),
  );
  return frames.map(({ field }) => trackCells(field, findObjects(field, 1, 8)));
}

sharedTest(
  'nine in ten pairs of real rain cores that part at +-20 to +-42 km/h are the old track and its child',
  async (t) => {
    const [first = []] = await realCells();
    const cores = first.filter(({ rows }) => rows.length >= 60 && rows.length <= 250).map(texture);
    t.true(cores.length >= 6, `${cores.length} cores`);
    const pairs = cores.slice(0, 6).flatMap((core, i) => cores.slice(i, 6).map((other) => [core, other] as const));
    const results = pairs.flatMap((patches, i) =>
      [20, 30, 42].map((kmh) =>
        faults({ patches, apart: { kmh, towards_deg: 30 * i }, drift: { kmh: 40, towards_deg: 70 } }),
      ),
    );
    const right = results.filter((found) => found.length === 0).length;
    t.log(`${right} of ${results.length}`);
    t.true(right >= 0.9 * results.length, `${right} of ${results.length}`);
  },
);

sharedTest(
  'no track of 20 real frames ends in a track that was born when it vanished, nor in its own child',
  async (t) => {
    const points = follow(await realCells()).flatMap(({ step }) => step.points);
    const tracked = Map.groupBy(
      points.filter(({ state }) => state === 'tracked'),
      ({ track_id }) => track_id,
    );
    const merged = points.filter(({ state }) => state === 'merged');
    t.true(merged.length > 10, `${merged.length} mergers`);
    for (const { track_id, merged_into } of merged) {
      const [survivor] = tracked.get(merged_into as string) ?? [];
      const last = tracked.get(track_id)?.at(-1);
      t.true((survivor?.first_detected ?? Infinity) <= (last?.scan_time ?? 0), `${track_id} into ${merged_into}`);
      t.not(survivor?.parent_track_id, track_id);
    }
  },
);

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
