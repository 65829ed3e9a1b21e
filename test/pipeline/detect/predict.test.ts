import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import fc from 'fast-check';
import weights from '../../../data/reference/hail-model.json' with { type: 'json' };
import { type CellShape, findCells, findObjects } from '../../../pipeline/detect/cells.ts';
import { detectionConfidence, type Evidence, findDetections } from '../../../pipeline/detect/detections.ts';
import { emptyDetectionHistory } from '../../../pipeline/detect/history.ts';
import {
  cellPredictors,
  cellProbability,
  detectionPredictors,
  FEATURES,
  type HailModel,
  hailProbability,
  modelProbability,
  type Predictors,
  predictedSize,
} from '../../../pipeline/detect/predict.ts';
import { matchObjects, type ObjectMatch } from '../../../pipeline/detect/probsevere.ts';
import { placeQuality } from '../../../pipeline/detect/quality.ts';
import type { HailField, ScanInput } from '../../../pipeline/grid.ts';
import { latRow, lonCol } from '../../../schemas/geo/lattice.ts';
import type { ProbSevereObject } from '../../../schemas/tables/radar.ts';
import { draw } from '../../support/data/draw.ts';
import { foundCells } from '../../support/data/found-cells.ts';
import { scanOfMesh } from '../../support/data/hail-mask.ts';

for (const [mesh_mm, size_mm] of [
  [10, 13.6],
  [19, 20.2],
  [25, 23.9],
  [38, 31],
  [50, 36.8],
  [63, 42.5],
  [75, 47.3],
  [100, 56.6],
] as const)
  test(`a MESH of ${mesh_mm} mm predicts a report of ${size_mm} mm`, (t) => t.is(predictedSize(mesh_mm), size_mm));

test('predicted sizes stay within 5 and 120 mm, and MESH counts up to 150 mm', (t) => {
  t.is(predictedSize(0.8), 5);
  t.is(predictedSize(680), predictedSize(150));
  t.true(predictedSize(680) <= 120);
});

const ALONE: Predictors = {
  mesh_mm: 25.4,
  posh_pct: null,
  echo_top_50_above_freezing_km: null,
  area_km2: null,
  growth_mm_per_min: null,
  duration_min: null,
};

const maybe = (min: number, max: number) => fc.option(fc.double({ min, max, noNaN: true }), { nil: null });
const others = fc.record({
  posh_pct: maybe(0, 100),
  echo_top_50_above_freezing_km: maybe(-5, 15),
  area_km2: maybe(1, 5000),
  growth_mm_per_min: maybe(-10, 10),
  duration_min: maybe(0, 500),
});

test('the probability never falls when MESH rises, whatever else is known or missing', (t) => {
  fc.assert(
    fc.property(
      others,
      fc.double({ min: 1, max: 150, noNaN: true }),
      fc.double({ min: 1, max: 150, noNaN: true }),
      (rest, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map(
          (mesh_mm) => hailProbability({ ...rest, mesh_mm }).probability,
        );
        t.true((low as number) <= (high as number));
        t.true((low as number) >= 0.005 && (high as number) <= 0.995);
      },
    ),
    { numRuns: 500 },
  );
});

test('with MESH alone the model stays within .16 of the one-variable law of ProbHail', (t) => {
  for (const mesh_mm of [10, 15, 19, 25.4, 30, 38, 50, 63]) {
    const law = 1 / (1 + Math.exp(0.26 - 3.63 * Math.log(mesh_mm / 25.4)));
    const { probability, out_of_range } = hailProbability({ ...ALONE, mesh_mm });
    t.true(Math.abs(probability - law) < 0.16, `${mesh_mm} mm: ${probability}, law ${law}`);
    t.false(out_of_range);
  }
});

test('a predictor outside what the model was fitted on is held at the edge and flagged', (t) => {
  const edge = hailProbability({ ...ALONE, area_km2: Math.exp(weights.terms.ln_area.high) });
  const far = hailProbability({ ...ALONE, area_km2: 1e6 });
  t.true(far.out_of_range);
  t.is(far.probability, edge.probability);
});

test('a predictor without weight changes nothing and is never out of range', (t) => {
  const idle = { weight: 0, mean: 0, scale: 1, low: 0, high: 0, missing: { base: 0, slope: 0, shift: 0 } };
  const model: HailModel = { ...weights, terms: { ...weights.terms, posh: idle } };
  t.deepEqual(modelProbability(model, { ...ALONE, posh_pct: 60 }), modelProbability(model, ALONE));
  t.false(modelProbability(model, { ...ALONE, posh_pct: 60 }).out_of_range);
});

test('a missing predictor is taken at its mean at such a MESH, and its shift is added', (t) => {
  const term = { weight: 0, mean: 0, scale: 1, low: -100, high: 100, missing: { base: 0, slope: 0, shift: 0 } };
  const model: HailModel = {
    version: 'test',
    intercept: 0,
    terms: {
      ...(Object.fromEntries(FEATURES.map((feature) => [feature, term])) as HailModel['terms']),
      echo_top_50_above_freezing: { ...term, weight: 1, missing: { base: 0.5, slope: 2, shift: -1.25 } },
    },
    curve: { score: [0, 10], probability: [0, 1] },
  };
  const expected = 0.5 + 2 * Math.log(25.4) - 1.25;
  t.is(modelProbability(model, ALONE).probability, Math.round(expected * 1000) / 10_000);
  t.is(modelProbability(model, { ...ALONE, echo_top_50_above_freezing_km: 3 }).probability, 0.3);
});

const match = (probability: number, capped: boolean): ObjectMatch => ({
  probsevere_id: '1',
  probability,
  capped,
  object: { model: 'probsevere-3' } as ProbSevereObject,
});

test('a cell with a ProbSevere object takes its probability and its model version', (t) => {
  t.deepEqual(cellProbability(ALONE, match(0.07, false)), {
    probability: 0.07,
    model_version: 'probsevere-3',
    out_of_range: false,
  });
});

test('a capped cell takes the smaller of its object and of the small model', (t) => {
  const own = hailProbability(ALONE);
  t.deepEqual(cellProbability(ALONE, match(0.99, true)), own);
  t.is(cellProbability(ALONE, match(0.01, true)).model_version, 'probsevere-3');
});

test('a cell without an object takes the small model, and the version says so', (t) => {
  const found = cellProbability(ALONE, null);
  t.deepEqual(found, hailProbability(ALONE));
  t.regex(found.model_version, /^hail-lr-\d/);
});

test('the weights are a small file with version, hash, seed and scores, and a curve of at most 30 knots', (t) => {
  t.true(statSync(fileURLToPath(new URL('../../../data/reference/hail-model.json', import.meta.url))).size < 10_000);
  t.regex(weights.training.training_sha256, /^[0-9a-f]{64}$/);
  t.is(weights.training.version, weights.version);
  t.true(Number.isInteger(weights.training.seed));
  t.true(weights.curve.score.length <= 30);
  for (const metrics of Object.values(weights.training.held_out)) t.true(metrics.ece <= 0.05);
});

const SCAN_TIME = Date.UTC(2026, 5, 1, 20, 12);
const pixels = (value: number) => Float32Array.of(value, value, value, value, value);
const INPUT: ScanInput = {
  scan_time: SCAN_TIME,
  simulated: false,
  mesh: draw('3 3 3 3 3'),
  companions: {
    posh_pct: pixels(60),
    vil_kg_m2: pixels(42),
    echo_top_18_km: pixels(12),
    echo_top_50_km: pixels(9),
    max_reflectivity_dbz: null,
  },
  uncovered: null,
  probsevere: null,
  products: ['MESH'],
};

test('predictors of a cell are its companions, its area and what its track knows', (t) => {
  const [cell] = findCells(INPUT);
  if (!cell) return t.fail('no cell');
  const predictors = cellPredictors(cell, SCAN_TIME, { growth_mm_per_min: 0.5, duration_min: 12 });
  t.like(predictors, { mesh_mm: 30, posh_pct: 60, growth_mm_per_min: 0.5, duration_min: 12 });
  t.is(predictors.area_km2, cell.area_km2);
  // June at 40 N: 4.2 km, and 0.2 km more on a hail day.
  t.true(Math.abs((predictors.echo_top_50_above_freezing_km ?? 0) - (9 - 4.4)) < 0.02);
});

test('a detection outside every cell has the area of its component and no past', (t) => {
  const { detections, component_area_km2 } = findDetections(INPUT, foundCells(INPUT, []), emptyDetectionHistory, null);
  const [detection] = detections;
  const [area_km2] = component_area_km2;
  if (!detection || area_km2 === undefined) return t.fail('no detection');
  t.true(Math.abs(area_km2 - 5 * 0.949) < 0.02, `${area_km2} km2`); // five pixels at 40 N
  t.like(detectionPredictors(detection, area_km2), {
    mesh_mm: 30,
    posh_pct: 60,
    area_km2,
    growth_mm_per_min: null,
    duration_min: null,
  });
});

test('predictors of missing products are null', (t) => {
  const companions = { ...INPUT.companions, posh_pct: null, echo_top_50_km: null };
  const [cell] = findCells({ ...INPUT, companions });
  if (!cell) return t.fail('no cell');
  const predictors = cellPredictors(cell, SCAN_TIME, { growth_mm_per_min: null, duration_min: null });
  t.deepEqual([predictors.posh_pct, predictors.echo_top_50_above_freezing_km], [null, null]);
});

test('without POSH the melting level of the matched ProbSevere object goes into the confidence', (t) => {
  const confidence = (melting_level_km: number) => {
    const object = {
      valid_time: SCAN_TIME,
      probsevere_id: '1',
      lat: 40,
      lon: -95,
      prob_hail: 0.5,
      mesh_mm: 30,
      speed_kmh: null,
      direction_deg: null,
      melting_level_km,
      geometry: 'POLYGON ((-95.1 39.9, -94.8 39.9, -94.8 40.1, -95.1 40.1, -95.1 39.9))',
    } as ProbSevereObject;
    const input = { ...INPUT, companions: { ...INPUT.companions, posh_pct: null }, probsevere: [object] };
    return findDetections(input, foundCells(input), emptyDetectionHistory, null).cellConfidence[0];
  };
  t.true(confidence(2.5) > confidence(4.5));
});

test('the probability of a detection outside every cell is that of a cell of the same size, not of a large one', (t) => {
  const { detections, component_area_km2 } = findDetections(INPUT, foundCells(INPUT, []), emptyDetectionHistory, null);
  const [cell] = findCells(INPUT);
  const [detection] = detections;
  if (!detection || !cell) return t.fail('no detection');
  const alone = hailProbability(detectionPredictors(detection, component_area_km2[0])).probability;
  const past = { growth_mm_per_min: null, duration_min: null };
  t.is(alone, hailProbability(cellPredictors(cell, SCAN_TIME, past)).probability);
});

const PROBSEVERE_SCAN_TIME = Date.UTC(2026, 4, 1, 20, 12);

/** Object with a rectangular polygon in lattice rows and columns, edges on whole hundredths. */
function object(
  id: string,
  [row0, col0, row1, col1]: readonly [number, number, number, number],
  more: Partial<ProbSevereObject> = {},
): ProbSevereObject {
  const [north, west, south, east] = [55 - row0 / 100, -130 + col0 / 100, 55 - row1 / 100, -130 + col1 / 100];
  const ring = [west, east, east, west, west].map((lon, n) => `${lon} ${[south, south, north, north, south][n]}`);
  return {
    storm_date: '2026-05-01',
    scan_time: PROBSEVERE_SCAN_TIME,
    valid_time: PROBSEVERE_SCAN_TIME,
    probsevere_id: id,
    lat: (north + south) / 2,
    lon: (west + east) / 2,
    prob_hail: 0.4,
    prob_wind: null,
    prob_tornado: null,
    mesh_mm: 30,
    vil_density_g_m3: null,
    mucape_j_kg: null,
    effective_shear_kt: null,
    melting_level_km: 3.5,
    flash_rate_per_min: null,
    size_px: null,
    speed_kmh: null,
    direction_deg: null,
    flag_distrusted: false,
    flag_stale: false,
    model: 'probsevere-2',
    geometry: `POLYGON ((${ring.join(', ')}))`,
    ...more,
  };
}

const FIELD = draw('3 3 3 3 3 3 . . . . . . . . . . . . . . 2 2 2 2 2');
const cellsOf = (field: HailField): CellShape[] => findObjects(field, 50, 1);
const ids = (objects: readonly ProbSevereObject[], field = FIELD) =>
  matchObjects(field, cellsOf(field), objects, PROBSEVERE_SCAN_TIME).map((match) => match?.probsevere_id ?? null);

test('a cell belongs to the object that holds it, with its probability', (t) => {
  const matches = matchObjects(FIELD, cellsOf(FIELD), [object('7', [1499, 3499, 1502, 3507])], PROBSEVERE_SCAN_TIME);
  t.like(matches[0], { probsevere_id: '7', probability: 0.4, capped: false });
  t.is(matches[0]?.object.melting_level_km, 3.5);
  t.is(matches[1], null);
});

test('the object with the largest share of the pixels wins, whatever their order', (t) => {
  // Polygons grow by one pixel: columns 3500-3501 and one more against 3503-3505 and one more.
  const small = object('small', [1500, 3500, 1501, 3502]);
  const large = object('large', [1500, 3503, 1501, 3506]);
  t.is(ids([small, large])[0], 'large');
  t.is(ids([large, small])[0], 'large');
});

test('pixels just outside the ring count: rings run through the outer pixels', (t) => {
  // The ring ends half a pixel short of the cell's first column.
  t.is(ids([object('1', [1490, 3490, 1510, 3500])])[0], '1');
});

test('several cells may share one object', (t) => {
  t.deepEqual(ids([object('1', [1490, 3490, 1510, 3530])]), ['1', '1']);
});

test('a cell outside every object takes the nearest one whose edge is within 5 km', (t) => {
  // 1.11 km a row: the edges are 3.9 and 5.0 km south of the row's centre, then 6.1 km.
  const at = (id: string, row: number) => object(id, [row, 3495, row + 10, 3510]);
  t.is(ids([at('far', 1505), at('near', 1504)])[0], 'near');
  t.is(ids([at('far', 1506)])[0], null);
});

test('an object is moved by its own motion to the time of the scan', (t) => {
  // 60 km/h towards the north for three minutes are 3 km, 2.7 rows.
  const moving = object('1', [1507, 3495, 1517, 3510], {
    valid_time: PROBSEVERE_SCAN_TIME - 3 * 60_000,
    speed_kmh: 60,
    direction_deg: 0,
  });
  t.is(ids([moving])[0], '1');
  t.is(ids([{ ...moving, direction_deg: 180 }])[0], null);
  t.is(ids([{ ...moving, speed_kmh: null }])[0], null);
});

test('objects more than 5 minutes from the scan are not used', (t) => {
  const at = (minutes: number) =>
    ids([object('1', [1490, 3490, 1510, 3510], { valid_time: PROBSEVERE_SCAN_TIME - minutes * 60_000 })])[0];
  t.deepEqual([at(5), at(5.1), at(-5), at(-5.1)], ['1', null, '1', null]);
});

test('a cell below half of the MESH of its object is capped', (t) => {
  const capped = (mesh_mm: number | null) =>
    matchObjects(FIELD, cellsOf(FIELD), [object('1', [1490, 3490, 1510, 3510], { mesh_mm })], PROBSEVERE_SCAN_TIME)[0]
      ?.capped;
  t.deepEqual([capped(60), capped(60.3), capped(null)], [false, true, false]);
});

test('without objects no cell has one', (t) => {
  t.deepEqual(ids([]), [null, null]);
  t.deepEqual(matchObjects(FIELD, [], [object('1', [1490, 3490, 1510, 3510])], PROBSEVERE_SCAN_TIME), []);
});

test('storm cells match like plain objects', (t) => {
  const input = scanOfMesh(PROBSEVERE_SCAN_TIME, FIELD, false);
  const cells = findCells(input);
  t.is(
    matchObjects(FIELD, cells, [object('9', [1490, 3518, 1510, 3530])], PROBSEVERE_SCAN_TIME)[1]?.probsevere_id,
    '9',
  );
});

const JUNE = Date.UTC(2026, 5, 15);
const at = (lat: number, lon: number, time_ms = JUNE) => placeQuality(latRow(lat), lonCol(lon), time_ms, null);

test('pixels of one 0.1 degree block share their quality', (t) => {
  t.is(at(35.5, -97.3), at(35.45, -97.25));
  t.not(at(35.5, -97.3), at(35.5, -97.45));
});

test('60 km from the radar of Oklahoma City detection is better than far out at sea', (t) => {
  t.true(at(35.33, -96.6).hdqi > 0.8);
  t.is(at(31, -125).hdqi, 0);
});

test('the freezing level follows the month, on a hail day', (t) => {
  t.true(Math.abs(at(39.95, -95, Date.UTC(2026, 0, 1)).freezing_level_km - (1.5 + 0.011 + 0.4)) < 0.02);
  t.true(Math.abs(at(39.95, -95, JUNE).freezing_level_km - (4.2 + 0.2)) < 0.02);
});

test('over high ground the freezing level is close to the ground: about 2.5 km at Denver in June', (t) => {
  const { freezing_above_ground_km } = at(39.8, -104.6);
  t.true(freezing_above_ground_km > 2.4 && freezing_above_ground_km < 2.9, `${freezing_above_ground_km}`);
});

for (const [mesh_mm, scan_count, posh_pct, hdqi, confidence] of [
  [10, 1, 10, 0.7, 0.104],
  [19, 1, 30, 0.7, 0.216],
  [25, 3, 50, 0.7, 0.385],
  [38, 5, 80, 0.8, 0.66],
  [63, 5, 100, 0.9, 0.81],
] as const)
  test(`${mesh_mm} mm in ${scan_count} scans with POSH ${posh_pct} and quality ${hdqi} has confidence ${confidence}`, (t) => {
    const found = detectionConfidence({ mesh_mm, scan_count, posh_pct, hdqi, small: false, spike: false });
    t.is(Math.round(found * 1000) / 1000, confidence);
  });

const EVIDENCE: Evidence = { mesh_mm: 25, scan_count: 2, posh_pct: 50, hdqi: 0.7, small: false, spike: false };

for (const more of [{ mesh_mm: 26 }, { scan_count: 3 }, { posh_pct: 60 }, { hdqi: 0.8 }] as const)
  test(`confidence rises with ${Object.keys(more)[0]}`, (t) => {
    t.true(detectionConfidence({ ...EVIDENCE, ...more }) > detectionConfidence(EVIDENCE));
  });

test('scans beyond the fifth add nothing', (t) => {
  t.is(detectionConfidence({ ...EVIDENCE, scan_count: 9 }), detectionConfidence({ ...EVIDENCE, scan_count: 5 }));
});

test('a small echo has odds lower by the factor e', (t) => {
  const odds = (p: number) => p / (1 - p);
  const plain = odds(detectionConfidence(EVIDENCE));
  t.true(Math.abs(plain / odds(detectionConfidence({ ...EVIDENCE, small: true })) - Math.E) < 1e-9);
});
