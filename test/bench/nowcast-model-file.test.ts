import { readFileSync } from 'node:fs';
import test from 'ava';
import { type NowcastCase, nowcastModelText } from '../../pipeline/train/nowcast-fit.ts';
import { weighed } from '../../schemas/nowcast/probability.ts';
import { NOWCAST_MODEL } from '../../schemas/reference/nowcast-model.ts';
import { sharedTest } from '../support/data/shared-data.ts';
import type { RainFrame } from './nowcast-frames.ts';
import { fitModel } from './nowcast-model-file.ts';

/** A hundred cases over ten blocks, near hail and far from it, of which a share near it is struck at both shorter leads. */
function casesOf(share: number): NowcastCase[] {
  return Array.from({ length: 100 }, (_, n) => {
    const km = n % 2 === 0 ? 0.5 : 12;
    const struck = km < 1 && (n * 0.6180339887) % 1 < share;
    return {
      block: String(n % 10),
      distance_km: km,
      raw: { t15: 0.3, t30: 0.3, t45: 0.3 },
      course: { now_km: km, path_km: { t15: km, t30: km, t45: km } },
      now: km < 1,
      struck: { t15: struck, t30: struck, t45: null },
    };
  });
}

const RATES = {
  window: { row0: 0, col0: 0, rows: 0, cols: 0 },
  rowStart: new Uint32Array(1),
  col: new Uint16Array(0),
  tenths: new Uint16Array(0),
  covered_px: 0,
  uncovered_px: 0,
};
const FRAMES: RainFrame[] = ['00:00', '00:38'].map((clock) => ({
  scan_time: Date.parse(`2019-06-10T${clock}:00Z`),
  rates: RATES,
}));

test('the coefficient file is what the bench writes of it', (t) => {
  t.is(
    nowcastModelText(NOWCAST_MODEL),
    readFileSync(new URL('../../data/reference/nowcast-model.json', import.meta.url), 'utf8'),
  );
});

sharedTest(
  'weights for observed data come from real cases alone, those for simulated data from simulated alone',
  (t) => {
    const cases = casesOf(0.4);
    const said = cases.map(() => ({ t15: 0.2, t30: 0.2, t45: 0.2 }));
    const real = { name: 'real hail', standIn: 'hail', cases, said } as const;
    const { model, is_survival_new } = fitModel(FRAMES, real, casesOf(0.9), '2 simulated evenings');
    const near = cases[0] as NowcastCase;
    t.true(Math.abs(weighed(near, model.observed.leads).t15 - 0.4) < 0.1);
    t.true(Math.abs(weighed(near, model.simulated.leads).t15 - 0.9) < 0.1);
    t.deepEqual(model.observed.material, {
      source: '38 minutes (2019-06-10) of MRMS rain rates in which the hail cap marks hail',
      cases: 100,
      blocks: 10,
    });
    t.is(model.simulated.material.source, '2 simulated evenings');
    t.is(model.skill_over_advection.t45, null);
    t.true((model.skill_over_advection.t15?.low ?? 0) < 0, 'a constant forecast has no skill over advection');
    t.false(is_survival_new);
  },
);
