import test from 'ava';
import { pointConfidence } from '../../../api/rules/point-confidence.ts';

/** Size, detections, corroborated, hdqi and the published confidence of methodology 1.0.0. */
for (const [size_mm, n_detections, corroborated, hdqi, confidence] of [
  [10, 1, false, 0.5, 0.114],
  [19, 1, false, 0.7, 0.296],
  [19, 3, true, 0.7, 0.624],
  [25, 5, false, 0.7, 0.462],
  [38, 3, false, 0.7, 0.602],
  [38, 10, false, 0.8, 0.679],
  [38, 20, false, 0.8, 0.713],
  [50, 3, false, 0.8, 0.718],
  [50, 10, false, 0.8, 0.766],
  [50, 10, true, 0.8, 0.916],
  [75, 20, true, 0.9, 0.964],
] as const)
  test(`${n_detections} detections up to ${size_mm} mm, ${corroborated ? 'reported' : 'unreported'}, at hdqi ${hdqi} give ${confidence}`, (t) => {
    t.is(Math.round(1000 * pointConfidence({ size_mm, n_detections, corroborated, hdqi })) / 1000, confidence);
  });

test('without a detection, and at the extremes, it stays within 0.02 and 0.98', (t) => {
  t.is(pointConfidence({ size_mm: 0, n_detections: 0, corroborated: false, hdqi: 1 }), 0.02);
  t.is(pointConfidence({ size_mm: 0.1, n_detections: 1, corroborated: false, hdqi: 0 }), 0.02);
  t.is(pointConfidence({ size_mm: 150, n_detections: 5000, corroborated: true, hdqi: 1 }), 0.98);
});
