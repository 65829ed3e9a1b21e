import test from 'ava';
import { findObjects } from '../../../pipeline/detect/cells.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import { type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { disc } from '../../support/data/parting.ts';
import { trackCells } from '../../support/data/track-cells.ts';

const SIDE = 200;
const START = Date.parse('2026-05-01T20:00:39Z');
const STORM = disc(5, 40);
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
    const values = Array.from({ length: SIDE }, () => new Array<number>(SIDE).fill(0));
    const middles = ways.map((way) => offsetAt(way, minute - DURATION_MIN / 2));
    for (const middle of middles)
      for (const { south, east, tenths } of STORM) {
        const line = values[SIDE / 2 + middle.south + south] as number[];
        const col = SIDE / 2 + middle.east + east;
        line[col] = Math.max(line[col], tenths);
      }
    const field = drawTenths(values);
    const cells = trackCells(field, findObjects(field, 1, 8));
    if (cells.length === 1) merged++;
    const step = advanceTracks(live, {
      scan_time: START + minute * 60_000,
      cells,
      pattern_motion: null,
    });
    live = step.live;
    for (const { track_id } of step.points) ids.add(track_id);
    nearest.push(
      middles.map(({ south, east }) => {
        const km = ({ centroid_lat, centroid_lon }: { centroid_lat: number; centroid_lon: number }) =>
          Math.hypot(
            ((55 - centroid_lat) / 0.01 - 0.5 - 1500 - SIDE / 2 - south) * 1.11,
            ((centroid_lon + 130) / 0.01 - 0.5 - 3500 - SIDE / 2 - east) * 0.86,
          );
        const track = live.tracks.toSorted((a, b) => km(a) - km(b))[0];
        return track?.track_id ?? '';
      }),
    );
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
