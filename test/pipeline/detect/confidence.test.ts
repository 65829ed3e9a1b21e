import test from 'ava';
import { detectionConfidence, type Evidence } from '../../../pipeline/detect/confidence.ts';

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
