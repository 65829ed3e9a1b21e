import test from 'ava';
import { findCells } from '../../../pipeline/detect/cells.ts';
import type { HailField, ScanInput } from '../../../pipeline/grid.ts';
import { scanTimes } from '../../../pipeline/simulate/evening.ts';
import { type SimulatedScan, simulateScan } from '../../../pipeline/simulate/fields.ts';
import { type StormState, stormAt, stormsBetween } from '../../../pipeline/simulate/storms.ts';
import { plainsScenario, type Scenario } from '../../../pipeline/simulate/weather.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import { type LiveTrack, type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { median, offsetKm } from '../../../pipeline/track/motion.ts';
import { patternMotion } from '../../../pipeline/track/pattern-motion.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { trackCells } from '../../support/data/track-cells.ts';

const SEED = 3;
const START = Date.parse('2026-05-01T20:00:00Z');
const NEAR_KM = 8;
/** A storm without a cell for longer than that is gone for its track, which misses two scans at most. */
const GONE_MS = 5 * 60_000;
/** Velocity of a storm: over so long, in which a mature track has seen it. */
const PAST_MIN = 8;

function meshOf({ window, index, values }: SimulatedScan): HailField {
  const hits = [...index.keys()].filter((k) => values.MESH[k] > 0);
  const rowStart = new Uint32Array(window.rows + 1);
  for (const k of hits) {
    const row = Math.floor(index[k] / window.cols);
    rowStart[row + 1] = rowStart[row + 1] + 1;
  }
  for (let row = 0; row < window.rows; row++) rowStart[row + 1] = rowStart[row + 1] + rowStart[row];
  return {
    window,
    rowStart,
    col: Uint16Array.from(hits, (k) => window.col0 + (index[k] % window.cols)),
    tenths: Uint16Array.from(hits, (k) => values.MESH[k]),
    covered_px: 0,
    uncovered_px: 0,
  };
}

function scanInput(scan_time: number, mesh: HailField): ScanInput {
  const companions = {
    posh_pct: null,
    vil_kg_m2: null,
    echo_top_18_km: null,
    echo_top_50_km: null,
    max_reflectivity_dbz: null,
  };
  return { scan_time, simulated: true, mesh, uncovered: null, companions, probsevere: null, products: ['MESH'] };
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
  let before: { readonly field: HailField; readonly scan_time: number } | null = null;
  const trackOfStorm = new Map<string, { readonly track_id: string; readonly scan_time: number }>();
  let appearances = 0;
  let switches = 0;
  const errors_kmh: number[] = [];
  for (const scan_time of scanTimes(SEED, START, START + 2 * 3_600_000)) {
    const field = meshOf(simulateScan(scenario, scan_time));
    const cells = trackCells(field, findCells(scanInput(scan_time, field)));
    const pattern_motion = before && patternMotion(before.field, field, (scan_time - before.scan_time) / 60_000);
    live = advanceTracks(live, { scan_time, cells, pattern_motion }).live;
    before = { field, scan_time };
    const seen = live.tracks.filter((track) => track.missed_scans === 0);
    const earlier = new Map(
      truthAt(scenario, scan_time - PAST_MIN * 60_000).map((state) => [state.storm.storm_id, state]),
    );
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
  t.log(
    `${switches} switches in ${appearances} appearances, median velocity error ${median(errors_kmh).toFixed(1)} km/h`,
  );
});
