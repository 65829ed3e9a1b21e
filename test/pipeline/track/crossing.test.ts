import test from 'ava';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { advanceTracks, type TrackStep } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { offsetKm } from '../../../pipeline/track/local-plane.ts';
import { colLon, rowLat } from '../../../schemas/geo/lattice.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { trackCells } from '../../support/data/track-cells.ts';

const FRAMES = 30;
const SIDE = 300;
const ROW0 = 1500;
const COL0 = 3500;

/** Place in the first frame, motion in pixels per frame, amplitude and width of a synthetic storm. */
interface Storm {
  readonly row: number;
  readonly col: number;
  readonly south: number;
  readonly east: number;
  readonly amplitude: number;
  readonly sigma: number;
}

/** The storms on which tobac finds 116 of 120 features, 4 cells and no id switch. */
const STORMS: readonly Storm[] = [
  { row: 60, col: 40, south: 1.2, east: 0.3, amplitude: 40, sigma: 4 },
  { row: 80, col: 200, south: -0.9, east: 0.5, amplitude: 55, sigma: 5 },
  { row: 200, col: 60, south: 1.0, east: -0.2, amplitude: 30, sigma: 3.5 },
  { row: 150, col: 150, south: 0.8, east: 0.8, amplitude: 65, sigma: 6 },
];

/** Two storms whose paths cross, the second passing behind the first by four frames. */
const CROSSING: readonly Storm[] = [
  { row: 100, col: 100, south: 1.5, east: 1.5, amplitude: 50, sigma: 3 },
  { row: 130, col: 88, south: -1.2, east: 1.6, amplitude: 50, sigma: 3 },
];

/** Standard normal numbers from a fixed generator (Box-Muller). */
function gauss(seed: number): () => number {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

function frame(storms: readonly Storm[], k: number, noise: () => number) {
  const life = Math.sin((Math.PI * (k + 3)) / 36);
  const values = Array.from({ length: SIDE }, () => new Array<number>(SIDE).fill(0));
  for (const { row, col, south, east, amplitude, sigma } of storms)
    for (let r = 0; r < SIDE; r++)
      for (let c = 0; c < SIDE; c++) {
        const d2 = (r - row - south * k) ** 2 + (c - col - east * k) ** 2;
        const mm = d2 < 25 * sigma ** 2 ? amplitude * life * Math.exp(-d2 / (2 * sigma ** 2)) : 0;
        const line = values[r] as number[];
        line[c] = Math.max(line[c], mm);
      }
  const tenths = values.map((line) => line.map((mm) => (mm > 2 ? Math.max(0, Math.round(10 * (mm + noise()))) : 0)));
  return drawTenths(tenths, { row0: ROW0, col0: COL0 });
}

/** Follows the storms at 10 mm; for each storm, the track nearest to it in each frame, null beyond 5 km. */
function follow(storms: readonly Storm[]): { steps: TrackStep[]; trackOfStorm: (string | null)[][] } {
  const noise = gauss(1);
  let live: LiveTracks = noLiveTracks;
  const steps: TrackStep[] = [];
  const trackOfStorm: (string | null)[][] = storms.map(() => []);
  for (let k = 0; k < FRAMES; k++) {
    const field = frame(storms, k, noise);
    const cells = trackCells(field, findObjects(field, 100, 8));
    const step = advanceTracks(live, { scan_time: 1_760_000_000_000 + 120_000 * k, cells, pattern_motion: null });
    live = step.live;
    steps.push(step);
    const tracked = live.tracks.filter((track) => track.missed_scans === 0);
    storms.forEach(({ row, col, south, east }, i) => {
      const truth = { lat: rowLat(ROW0 + row + south * k), lon: colLon(COL0 + col + east * k) };
      const distances = tracked.map((track) => {
        const off = offsetKm(truth, { lat: track.centroid_lat, lon: track.centroid_lon });
        return { track_id: track.track_id, km: Math.hypot(off.east, off.north) };
      });
      const nearest = distances.sort((a, b) => a.km - b.km)[0];
      trackOfStorm[i]?.push(nearest && nearest.km < 5 ? nearest.track_id : null);
    });
  }
  return { steps, trackOfStorm };
}

test('four storms over an hour are four tracks, without an id switch, and nearly every appearance is found', (t) => {
  const { steps, trackOfStorm } = follow(STORMS);
  const ids = new Set(steps.flatMap((step) => step.points.map((point) => point.track_id)));
  t.is(ids.size, 4);
  const found = trackOfStorm.map((tracks) => tracks.filter((track_id) => track_id !== null));
  t.deepEqual(
    found.map((tracks) => new Set(tracks).size),
    [1, 1, 1, 1],
  );
  t.true(found.flat().length >= 114, `${found.flat().length} of 120`);
});

test('velocities of mature tracks are within 5 km/h of the truth in the median', (t) => {
  const { steps, trackOfStorm } = follow(STORMS);
  const errors = STORMS.flatMap(({ south, east }, i) =>
    steps.slice(10).flatMap((step, k) => {
      const point = step.points.find((p) => p.track_id === trackOfStorm[i]?.[k + 10] && p.state === 'tracked');
      if (point?.speed_kmh == null || point.direction_deg == null) return [];
      const radians = (point.direction_deg * Math.PI) / 180;
      const km = offsetKm(
        { lat: point.lat, lon: point.lon },
        { lat: point.lat - 0.01 * south, lon: point.lon + 0.01 * east },
      );
      const north_error = point.speed_kmh * Math.cos(radians) - 30 * km.north;
      return [Math.hypot(point.speed_kmh * Math.sin(radians) - 30 * km.east, north_error)];
    }),
  );
  t.true(errors.length > 70);
  t.true(errors.sort((a, b) => a - b)[errors.length >> 1] < 5);
});

test('two storms whose paths cross keep their ids', (t) => {
  const { trackOfStorm } = follow(CROSSING);
  const [first, second] = trackOfStorm.map((tracks) => new Set(tracks.filter((track_id) => track_id !== null)));
  t.is(first?.size, 1);
  t.is(second?.size, 1);
  t.notDeepEqual(first, second);
});
