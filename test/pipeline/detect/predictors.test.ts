import test from 'ava';
import { findCells } from '../../../pipeline/detect/cells.ts';
import { findDetections } from '../../../pipeline/detect/detections.ts';
import { emptyDetectionHistory } from '../../../pipeline/detect/history.ts';
import { hailProbability } from '../../../pipeline/detect/predict.ts';
import { cellPredictors, detectionPredictors } from '../../../pipeline/detect/predictors.ts';
import type { ScanInput } from '../../../pipeline/grid.ts';
import type { ProbSevereObject } from '../../../schemas/tables/probsevere.ts';
import { draw } from '../../support/data/draw.ts';
import { foundCells } from '../../support/data/found-cells.ts';

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
  t.like(predictors, { mesh_mm: 30, posh_pct: 60, vil_density_g_m3: 3.5, growth_mm_per_min: 0.5, duration_min: 12 });
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
    vil_density_g_m3: 3.5,
    area_km2,
    growth_mm_per_min: null,
    duration_min: null,
  });
});

test('predictors of missing products are null', (t) => {
  const companions = { ...INPUT.companions, echo_top_18_km: null, echo_top_50_km: null };
  const [cell] = findCells({ ...INPUT, companions });
  if (!cell) return t.fail('no cell');
  const predictors = cellPredictors(cell, SCAN_TIME, { growth_mm_per_min: null, duration_min: null });
  t.deepEqual([predictors.vil_density_g_m3, predictors.echo_top_50_above_freezing_km], [null, null]);
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
