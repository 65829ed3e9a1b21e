import test from 'ava';
import fc from 'fast-check';
import { type ShipInput, ship } from '../../../pipeline/forecast/ship.ts';

function parameter([
  cape_j_kg,
  mixing_ratio_g_kg,
  lapse_rate_c_km,
  temperature_500_c,
  shear_ms,
  freezing_level_m,
]: readonly [number, number, number, number, number, number]): number {
  return ship({ cape_j_kg, mixing_ratio_g_kg, lapse_rate_c_km, temperature_500_c, shear_ms, freezing_level_m });
}

for (const [input, expected] of [
  [[3000, 14, 7.8, -12, 25, 3800], 2.273],
  [[1000, 10, 6.5, -15, 30, 2200], 0.486],
  [[2500, 15, 7, -10, 20, 4200], 1.133],
  [[500, 12, 5.5, -8, 10, 4500], 0.023],
  [[4500, 16, 8.5, -14, 30, 3900], 4.682],
] as const)
  test(`the significant hail parameter of ${input.join(', ')} is ${expected}`, (t) => {
    t.is(Math.round(parameter(input) * 1000) / 1000, expected);
  });

const AIR: ShipInput = {
  cape_j_kg: 2000,
  mixing_ratio_g_kg: 12,
  lapse_rate_c_km: 7,
  temperature_500_c: -12,
  shear_ms: 20,
  freezing_level_m: 3500,
};

test('moisture, shear and a warm 500 hPa level count within their bounds only', (t) => {
  t.is(ship({ ...AIR, mixing_ratio_g_kg: 5 }), ship({ ...AIR, mixing_ratio_g_kg: 11 }));
  t.is(ship({ ...AIR, mixing_ratio_g_kg: 20 }), ship({ ...AIR, mixing_ratio_g_kg: 13.6 }));
  t.is(ship({ ...AIR, shear_ms: 2 }), ship({ ...AIR, shear_ms: 7 }));
  t.is(ship({ ...AIR, shear_ms: 60 }), ship({ ...AIR, shear_ms: 27 }));
  t.is(ship({ ...AIR, temperature_500_c: 3 }), ship({ ...AIR, temperature_500_c: -5.5 }));
});

test('negative CAPE, a rising temperature or a frozen ground give 0, never less', (t) => {
  t.is(ship({ ...AIR, cape_j_kg: -50 }), 0);
  t.is(ship({ ...AIR, lapse_rate_c_km: -1 }), 0);
  t.is(ship({ ...AIR, freezing_level_m: -200 }), 0);
});

for (const name of ['cape_j_kg', 'mixing_ratio_g_kg', 'lapse_rate_c_km', 'shear_ms', 'freezing_level_m'] as const)
  test(`more ${name} never lowers the significant hail parameter`, (t) => {
    t.notThrows(() =>
      fc.assert(
        fc.property(
          fc.double({ min: 0, max: 6000, noNaN: true }),
          fc.double({ min: 0, max: 500, noNaN: true }),
          (low, more) => {
            return ship({ ...AIR, [name]: low + more }) >= ship({ ...AIR, [name]: low });
          },
        ),
      ),
    );
  });

test('an unknown input makes the parameter unknown', (t) => {
  for (const name of Object.keys(AIR)) t.is(ship({ ...AIR, [name]: Number.NaN }), Number.NaN, name);
});
