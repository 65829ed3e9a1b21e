import test from 'ava';
import { measureEvening } from '../../../pipeline/simulate/acceptance.ts';
import { formatRows, isAccepted, marginalRows, outbreakRows } from '../../../pipeline/simulate/acceptance-table.ts';
import { conusScenario } from '../../../pipeline/simulate/scenario.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';

const NOON = Date.parse('2025-05-01T12:00:00Z');
const DAY = 24 * 3_600_000;

for (const [day_type, rowsOf] of [
  ['marginal', marginalRows],
  ['outbreak', outbreakRows],
] as const)
  for (const seed of [1, 2, 3, 7])
    test(`a whole ${day_type} day of seed ${seed} lies within what is accepted`, (t) => {
      const rows = rowsOf(measureEvening(conusScenario(seed, day_type, WSR88D), NOON, NOON + DAY));
      t.log(`\n${formatRows(rows)}`);
      t.deepEqual(
        rows.filter((row) => !isAccepted(row)).map((row) => `${row.what}: ${row.simulated}`),
        [],
      );
    });
