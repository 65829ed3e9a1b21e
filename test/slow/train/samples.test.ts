import test from 'ava';
import { conusScenario } from '../../../pipeline/simulate/scenario.ts';
import { eveningSamples } from '../../../pipeline/train/samples.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';

test('a simulated evening gives storm cells with all predictors and targets that rise with MESH', (t) => {
  const scenario = conusScenario(5, 'outbreak', WSR88D);
  const samples = eveningSamples(scenario, Date.UTC(2025, 3, 15, 20));
  t.true(samples.length >= 10);
  t.deepEqual(eveningSamples(scenario, Date.UTC(2025, 3, 15, 20)), samples);
  for (const { group, target, predictors } of samples) {
    t.is(group, 'outbreak-5');
    t.true(target >= 0 && target <= 1);
    t.true(predictors.mesh_mm >= 15);
    t.true((predictors.area_km2 ?? 0) >= 4 && (predictors.duration_min ?? -1) >= 0);
    t.true((predictors.posh_pct ?? -1) >= 0);
    // By the law of the ground the size now is the least the next hour can bring.
    const z = (1.18 + 0.62 * Math.log(predictors.mesh_mm) - Math.log(25.4)) / 0.28;
    t.true(z < 0 || target >= 0.499);
  }
});
