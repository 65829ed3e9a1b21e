import test from 'ava';
import { conusScenario } from '../../../pipeline/simulate/scenario.ts';
import {
  formatRows,
  isAccepted,
  marginalRows,
  medianRows,
  outbreakRows,
} from '../../../pipeline/train/acceptance-table.ts';
import { measureEvening } from '../../../pipeline/train/evening-statistics.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';

const NOON = Date.parse('2025-05-01T12:00:00Z');
const DAY = 24 * 3_600_000;
const [EVENING, SIX_HOURS] = [Date.parse('2025-05-01T20:00:00Z'), 6 * 3_600_000];

for (const [day_type, rowsOf] of [
  ['marginal', marginalRows],
  ['outbreak', outbreakRows],
] as const) {
  test(`an evening of a simulated ${day_type} day looks like hail to an expert`, (t) => {
    const rows = rowsOf(measureEvening(conusScenario(1, day_type, WSR88D), EVENING, EVENING + SIX_HOURS));
    t.log(`\n${formatRows(rows)}`);
    t.deepEqual(
      rows.filter((row) => !isAccepted(row)).map((row) => `${row.what}: ${row.simulated}`),
      [],
    );
  });

  for (const seed of [1, 5, 9])
    test(`three ${day_type} days of seed ${seed} lie within what is accepted, by their median`, (t) => {
      const scenario = conusScenario(seed, day_type, WSR88D);
      const days = [0, 1, 2].map((n) => rowsOf(measureEvening(scenario, NOON + n * DAY, NOON + (n + 1) * DAY)));
      const rows = medianRows(days);
      t.log(`\n${formatRows(rows)}`);
      t.deepEqual(
        rows.filter((row) => !isAccepted(row)).map((row) => `${row.what}: ${row.simulated}`),
        [],
      );
    });
}
