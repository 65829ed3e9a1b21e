import { readdirSync, readFileSync } from 'node:fs';
import { readProbSevere } from '../../../pipeline/read/probsevere.ts';
import { advanceTracks } from '../../../pipeline/track/advance.ts';
import { type LiveTrack, type LiveTracks, noLiveTracks } from '../../../pipeline/track/live-tracks.ts';
import { kmPerDegree, median, offsetKm, type Vector } from '../../../pipeline/track/motion.ts';
import type { TrackCell } from '../../../pipeline/track/track-cell.ts';
import { fillPolygons } from '../../../schemas/geo/fill.ts';
import { colLon, LATTICE, pixelAreaKm2, rowLat } from '../../../schemas/geo/lattice.ts';
import type { Position } from '../../../schemas/geo/position.ts';
import { multiPolygonFromWkt } from '../../../schemas/geo/wkt.ts';
import { type EventDay, Events } from '../../../schemas/resources/event-day.ts';
import { MS_PER_MIN } from '../../../schemas/time.ts';
import { faults, follow, type Patch } from '../../support/data/parting.ts';
import { publishDays, REAL_DATE, REAL_NOW_MS, realDay } from '../../support/data/published-days.ts';
import {
  COUNTRY,
  type CoreFrame,
  coresIn,
  type ObjectFrame,
  overlap,
  PLAINS,
  realFrames,
  trackFrames,
  velocityNow,
  wholeObjects,
} from '../../support/data/real-frames.ts';
import { pluck } from '../../support/data/rows.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { scratch } from '../../support/data/world.ts';
import { serviceFor } from '../../support/service/service.ts';

/** A cell as a patch around the middle of its pixels. */
function texture({ rows, cols, tenths }: TrackCell): Patch {
  const middle = (values: Uint16Array) => Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);
  const [row0, col0] = [middle(rows), middle(cols)];
  return Array.from(tenths, (value, i) => ({ south: rows[i] - row0, east: cols[i] - col0, tenths: value }));
}

/** A patch as the only cell of a scan, its middle at a pixel. */
function patchCell(patch: Patch, row: number, col: number): TrackCell {
  const pixels = patch
    .map(({ south, east, tenths }) => ({ row: row + south, col: col + east, tenths }))
    .sort((a, b) => a.row - b.row || a.col - b.col);
  const weight = pixels.reduce((sum, pixel) => sum + pixel.tenths, 0);
  const lat = pixels.reduce((sum, pixel) => sum + pixel.tenths * rowLat(pixel.row), 0) / weight;
  const lon = pixels.reduce((sum, pixel) => sum + pixel.tenths * colLon(pixel.col), 0) / weight;
  return {
    cell_index: 0,
    ...{ lat, lon, centroid_lat: lat, centroid_lon: lon },
    area_km2: pixels.reduce((sum, pixel) => sum + pixelAreaKm2(pixel.row), 0),
    estimated_size_mm: Math.max(...pixels.map(({ tenths }) => tenths)) / 10,
    rows: Uint16Array.from(pixels, (pixel) => pixel.row),
    cols: Uint16Array.from(pixels, (pixel) => pixel.col),
    tenths: Uint16Array.from(pixels, ({ tenths }) => tenths),
    motion_hint: null,
  };
}

/** Twenty real frames of rain rate, decoded once for all tests. */
const frames = realFrames('mrms-sequence');

/** A position of a track at a scan in which it had a cell. */
interface Point extends Position {
  readonly track_id: string;
  readonly scan_time: number;
  /** Scans of the track so far, this one included. */
  readonly scan_count: number;
  readonly velocity: Vector | null;
  /** The object changed its shape in this scan: the displacement of its centroid is no motion. */
  readonly is_reshaped: boolean;
}

/** Tracks of frames; where tracks share an object, `parts` has the part of each, `whole` the object once, for the strongest. */
function track(given: readonly CoreFrame[]) {
  const steps = trackFrames(given);
  const [parts, whole]: [Point[], Point[]] = [[], []];
  const partFrames: ObjectFrame[] = [];
  for (const { frame, step, owners } of steps) {
    const { scan_time, cells } = frame;
    const seen = step.live.tracks.filter(({ last_seen }) => last_seen === scan_time);
    const pointOf = (one: LiveTrack, lat: number, lon: number): Point => {
      const { track_id, scan_count } = one;
      const is_reshaped = step.reshaped.has(track_id);
      return { track_id, scan_time, lat, lon, scan_count, velocity: velocityNow(one), is_reshaped };
    };
    parts.push(...seen.map((one) => pointOf(one, one.centroid_lat, one.centroid_lon)));
    whole.push(...cells.map((cell, k) => pointOf(owners[k] as LiveTrack, cell.centroid_lat, cell.centroid_lon)));
    partFrames.push({ scan_time, objects: seen.map((one) => ({ mask: one.mask, velocity: velocityNow(one) })) });
  }
  const wholeFrames = wholeObjects(steps, ({ owners }, k) => velocityNow(owners[k] as LiveTrack));
  return { parts, whole, partFrames, wholeFrames };
}

/** Scores after Lakshmanan & Smith 2010: tracks of 10 minutes and more; straightness and steps of those of six positions and more. */
function scoresOf(points: readonly Point[]) {
  const tracks = [...Map.groupBy(points, ({ track_id }) => track_id).values()];
  const minutes = tracks.map((one) => ((one.at(-1)?.scan_time ?? 0) - (one[0]?.scan_time ?? 0)) / MS_PER_MIN);
  const long = minutes.filter((duration) => duration >= 10);
  const scored = tracks.filter((one) => one.length >= 6);
  const steps = scored.map(largestStepKm).sort((a, b) => a - b);
  return {
    long_tracks: long.length,
    long_median_min: median(long),
    straightness_km: median(scored.map(straightLineRmseKm)),
    step_median_km: median(steps),
    step_p90_km: steps[Math.ceil(0.9 * (steps.length - 1))] as number,
  };
}

/** Orthogonal distances from the best straight line, root mean square, km. */
function straightLineRmseKm(points: readonly Position[]): number {
  const mean = (of: (point: Position) => number) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [lat, lon] = [mean((point) => point.lat), mean((point) => point.lon)];
  const km = kmPerDegree(lat);
  const x = (point: Position) => (point.lon - lon) * km.east;
  const y = (point: Position) => (point.lat - lat) * km.north;
  const [xx, xy, yy] = [mean((p) => x(p) ** 2), mean((p) => x(p) * y(p)), mean((p) => y(p) ** 2)];
  return Math.sqrt(Math.max(0, (xx + yy) / 2 - Math.hypot((xx - yy) / 2, xy)));
}

/** Largest distance in a frame of 2 minutes, km, without changes of shape. */
function largestStepKm(points: readonly Point[]): number {
  const steps = points.slice(1).map((point, k) => {
    const before = points[k] as Point;
    const { east, north } = offsetKm(before, point);
    return point.is_reshaped ? 0 : (2 * MS_PER_MIN * Math.hypot(east, north)) / (point.scan_time - before.scan_time);
  });
  return Math.max(...steps);
}

sharedTest('20 real frames of rain cores: more, longer, straighter tracks than TINT and tobac at once', (t) => {
  const cores = coresIn(frames, PLAINS);
  const { parts, whole } = track(cores);
  const { long_tracks, long_median_min, straightness_km, step_median_km, step_p90_km } = scoresOf(parts);
  t.is(cores.length, 20);
  t.true(long_tracks > 17, `${long_tracks} tracks`);
  t.true(long_median_min > 16, `median ${long_median_min} min`);
  t.true(straightness_km < 1.1, `straightness ${straightness_km} km`);
  t.true(step_median_km < 2.6, `largest step ${step_median_km} km`);
  t.true(step_p90_km < 4, `p90 of it ${step_p90_km} km`);
  const objects = scoresOf(whole);
  t.true(objects.straightness_km < 0.84, `whole objects ${objects.straightness_km} km`);
  t.true(objects.long_tracks > 17, `${objects.long_tracks} tracks of whole objects`);
  const counts = [0, 9, 19].map((k) => whole.filter(({ scan_time }) => scan_time === cores[k]?.scan_time).length);
  t.deepEqual(counts, [17, 16, 15]);
});

sharedTest('objects moved forward by their tracks overlap what came better than with TINT or tobac', (t) => {
  const { partFrames, wholeFrames } = track(coresIn(frames, PLAINS));
  for (const [lead_min, best_peer] of [
    [4, 0.464],
    [8, 0.317],
    [14, 0.202],
    [20, 0.151],
  ] as const)
    for (const all of [partFrames, wholeFrames])
      t.true(overlap(all, lead_min) > best_peer + 0.03, `${lead_min} min: ${overlap(all, lead_min)}`);
});

sharedTest('by their tracks real cores overlap what came as well as unmoved and as by the pattern around them', (t) => {
  const alps = realFrames('mch-sequence');
  for (const [title, given, leads] of [
    ['United States 2019', coresIn(frames, COUNTRY), [4, 10, 20]],
    ['Switzerland 2015', coresIn(alps, COUNTRY), [5, 10]],
    ['Switzerland 2015 from 30 mm/h on', coresIn(alps, COUNTRY, { min_tenths: 300 }), [10, 20]],
  ] as const) {
    const steps = trackFrames(given);
    const [tracks, pattern, none] = [
      wholeObjects(steps, ({ owners }, k) => velocityNow(owners[k] as LiveTrack)),
      wholeObjects(steps, ({ pattern_motions }, k) => pattern_motions[k] as Vector | null),
      wholeObjects(steps, () => null),
    ].map((objects) => leads.map((lead_min) => overlap(objects, lead_min))) as [number[], number[], number[]];
    for (const [k, lead_min] of leads.entries())
      t.true(
        (tracks[k] as number) > Math.max(pattern[k] as number, none[k] as number) - 0.006,
        `${title}, ${lead_min} min`,
      );
  }
});

/** Lead of the motion errors, and half of a scan interval of about 2 minutes, plus jitter. */
const LEAD_MIN = 14;
const LEAD_TOLERANCE_MIN = 1.5;
const MATURE_SCANS = 6;

/** Motion over the lead, and forecast minus observed, km/h; storms that end before it or change their shape are left out. */
function motionErrors(storms: readonly Point[]) {
  return [...Map.groupBy(storms, ({ track_id }) => track_id).values()].flatMap((one) =>
    one.flatMap((now) => {
      const off = ({ scan_time }: Point) => Math.abs((scan_time - now.scan_time) / MS_PER_MIN - LEAD_MIN);
      const [later] = one.filter((other) => off(other) <= LEAD_TOLERANCE_MIN).sort((a, b) => off(a) - off(b));
      if (now.velocity === null || now.scan_count < MATURE_SCANS || later === undefined) return [];
      const way = one.filter(({ scan_time }) => scan_time > now.scan_time && scan_time <= later.scan_time);
      if (way.some(({ is_reshaped }) => is_reshaped)) return [];
      const per_h = (60 * MS_PER_MIN) / (later.scan_time - now.scan_time);
      const { east, north } = offsetKm(now, later);
      const error = Math.hypot(60 * now.velocity.east - per_h * east, 60 * now.velocity.north - per_h * north);
      return [{ error, came: per_h * Math.hypot(east, north) }];
    }),
  );
}

sharedTest('motion of real rain of 50 mm/h and more is off by 16.5 km/h over 14 minutes, slow storms included', (t) => {
  const errors = motionErrors(track(coresIn(frames, COUNTRY, { min_pixels: 4 })).parts);
  const rootMeanSquare = (values: number[]) =>
    Math.sqrt(values.reduce((sum, value) => sum + value ** 2, 0) / values.length);
  const [off, unmoved] = [rootMeanSquare(pluck(errors, 'error')), rootMeanSquare(pluck(errors, 'came'))];
  t.true(errors.length >= 150, `${errors.length} cases`);
  t.true(Math.abs(off - 16.5) < 0.5, `${off} km/h`);
  t.true(unmoved > 1.5 * off, `${unmoved} km/h without any motion`);
});

/** Large rain cores of the first real frame. */
const largeCores: readonly Patch[] = coresIn(frames.slice(0, 1), COUNTRY)
  .flatMap(({ cells }) => cells)
  .filter(({ rows }) => rows.length >= 60 && rows.length <= 250)
  .map(texture);

/** The half of a core that lies furthest to the east: what is left when its western half decays. */
function eastHalf(core: Patch): Patch {
  const middle = median(core.map(({ east }) => east));
  return core.filter(({ east }) => east >= middle);
}

const CHANGE = 8;

/** Tracks of one core, scan by scan in a shape of its own, that turns right by 5 degrees a scan at 45 km/h. */
function idsOnABend(before: Patch, after: Patch): Set<string> {
  let [row, col] = [1500, 3500];
  const scans: TrackCell[][] = [];
  for (let scan = 0; scan < 2 * CHANGE; scan++) {
    scans.push([patchCell(scan < CHANGE ? before : after, Math.round(row), Math.round(col))]);
    const towards = ((45 + 5 * scan) * Math.PI) / 180;
    row -= (1.5 * Math.cos(towards)) / 1.11;
    col += (1.5 * Math.sin(towards)) / 0.86;
  }
  return new Set(follow(scans).flatMap(({ step }) => step.trackOfCell));
}

sharedTest(
  'nine in ten real cores on a bend that lose or gain their western half between two scans stay one track',
  (t) => {
    t.true(largeCores.length >= 6, `${largeCores.length} cores`);
    for (const changed of [
      largeCores.filter((core) => idsOnABend(core, eastHalf(core)).size === 1),
      largeCores.filter((core) => idsOnABend(eastHalf(core), core).size === 1),
    ])
      t.true(changed.length >= 0.9 * largeCores.length, `${changed.length} of ${largeCores.length}`);
  },
);

sharedTest('a real core that vanishes while another rises a diameter beside it is two tracks', (t) => {
  const width = (patch: Patch) =>
    Math.max(...patch.map(({ east }) => east)) - Math.min(...patch.map(({ east }) => east));
  for (const [k, core] of largeCores.entries()) {
    const other = largeCores[(k + 1) % largeCores.length] as Patch;
    const away = Math.ceil((width(core) + width(other)) / 2);
    const beside = other.map((pixel) => ({ ...pixel, east: pixel.east + away }));
    t.is(idsOnABend(core, beside).size, 2, `core ${k}`);
  }
});

sharedTest(
  'nine in ten pairs of real rain cores that part at +-20 to +-42 km/h are the old track and its child',
  (t) => {
    const pairs = largeCores
      .slice(0, 6)
      .flatMap((core, i) => largeCores.slice(i, 6).map((other) => [core, other] as const));
    const results = pairs.flatMap((patches, i) =>
      [20, 30, 42].map((kmh) =>
        faults({ patches, apart: { kmh, towards_deg: 30 * i }, drift: { kmh: 40, towards_deg: 70 } }),
      ),
    );
    const right = results.filter((found) => found.length === 0).length;
    t.true(right >= 0.9 * results.length, `${right} of ${results.length}`);
  },
);

sharedTest('no track of 20 real frames ends in a track that was born when it vanished, nor in its own child', (t) => {
  const scans = coresIn(frames, COUNTRY).map(({ cells }) => [...cells]);
  const points = follow(scans).flatMap(({ step }) => step.points);
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
});

/** Objects of the ProbSevere files of an evening in order of time, as cells with NOAA's number; NOAA's motion is left out. */
function stormObjects(day: string) {
  const names = readdirSync(sharedData('probsevere')).filter((name) => name.includes(day));
  return names.sort().map((name) => {
    const { valid_time, objects } = readProbSevere(readFileSync(sharedData('probsevere', name)), name);
    const cells = objects.flatMap(({ geometry, mesh_mm, probsevere_id }) => {
      const pixels = pixelsIn(geometry).map((pixel) => ({
        ...pixel,
        tenths: Math.max(3, Math.round(10 * (mesh_mm ?? 0))),
      }));
      return pixels.length === 0 ? [] : [{ ...patchCell(pixels, 0, 0), probsevere_id }];
    });
    return { scan_time: valid_time, cells: cells.map((cell, cell_index) => ({ ...cell, cell_index })) };
  });
}

function pixelsIn(wkt: string) {
  const runs = fillPolygons(multiPolygonFromWkt(wkt), { row0: 0, col0: 0, rows: LATTICE.rows, cols: LATTICE.cols });
  return [...runs.row].flatMap((row, k) => {
    const [start, end] = [runs.start[k] as number, runs.end[k] as number];
    return Array.from({ length: end - start }, (_, n) => ({ south: row, east: start + n }));
  });
}

for (const [day, expected] of [
  ['20211011', 622],
  ['20220720', 904],
] as const)
  sharedTest(`NOAA's storm objects of ${day} that change their shape keep their track, and take no other's`, (t) => {
    const count = { links: 0, cut: 0, joined: 0, joined_otherwise: 0 };
    let live: LiveTracks = noLiveTracks;
    let trackOf = new Map<string, string>();
    for (const { scan_time, cells } of stormObjects(day)) {
      const step = advanceTracks(live, { scan_time, cells });
      const numberOf = new Map([...trackOf].map(([number, id]) => [id, number]));
      const now = new Map(cells.map(({ probsevere_id }, k) => [probsevere_id, step.trackOfCell[k] as string]));
      for (const [number, id] of now) {
        const before = trackOf.get(number);
        if (before !== undefined) count.links++;
        if (before !== undefined && before !== id) count.cut++;
        if (numberOf.has(id)) count.joined++;
        if (numberOf.has(id) && numberOf.get(id) !== number) count.joined_otherwise++;
      }
      live = step.live;
      trackOf = now;
    }
    t.is(count.links, expected);
    t.true(count.cut <= 0.06 * count.links, `${count.cut} of ${count.links} links cut`);
    t.true(count.joined_otherwise <= 0.015 * count.joined, `${count.joined_otherwise} of ${count.joined}`);
  });
sharedTest('GET /v1/events of the real day has the hulls measured independently', async (t) => {
  const data_root = await scratch(t);
  await publishDays(data_root, [realDay()], 'observed', REAL_NOW_MS);
  const service = await serviceFor(t, { data_root, now_ms: REAL_NOW_MS });
  const ask = async (query: string) => Events.parse(await service.json(`/v1/events?${query}`));
  const day = `date_start=${REAL_DATE}&date_end=${REAL_DATE}`;
  const [whole] = (await ask(day)).events as [EventDay];
  t.like(whole, { max_size_mm: 82.8, affected_area_km2: 2_850_762.7 });
  const [illinois] = (await ask(`${day}&bbox=-91.52,36.97,-87.01,42.51`)).events as [EventDay];
  t.like(illinois, { max_size_mm: 50.1, n_detections: 2235, affected_area_km2: 98_399.8 });
  const [michigan] = (await ask(`${day}&bbox=-90.42,41.69,-82.12,48.31`)).events as [EventDay];
  t.like(michigan, { max_size_mm: 44.1, n_detections: 1254, affected_area_km2: 99_828 });
  const [ohio] = (await ask(`${day}&bbox=-84.83,38.4,-80.51,41.98`)).events as [EventDay];
  t.like(ohio, { max_size_mm: 31.9, n_detections: 2 });
  t.true(ohio.affected_area_km2 >= 1.9 && ohio.affected_area_km2 < 3.9, 'two pixels that touch at a corner');
  t.deepEqual(service.failures, []);
});
