import { Command } from 'commander';
import { wholeOption } from '../../../pipeline/commands/arguments.ts';
import { conusScenario, type DayType, defaultScenario } from '../../../pipeline/simulate/scenario.ts';
import { counted, EXIT } from '../../../schemas/command-line.ts';
import { WSR88D } from '../../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../../schemas/time.ts';
import {
  type AcceptanceRow,
  formatRows,
  isAccepted,
  marginalRows,
  medianRows,
  outbreakRows,
  plainsRows,
  seasonRows,
} from './acceptance-table.ts';
import { type EveningStatistics, measureEvening } from './evening-statistics.ts';
import { measureStorms } from './evening-storms.ts';
import { measureSeasons } from './season-statistics.ts';

/** Start of the measured convective days; each figure is the median over them. */
const DAYS = ['2025-05-01T12:00:00Z', '2025-05-02T12:00:00Z', '2025-05-03T12:00:00Z'];
/** Evenings of the Plains, one a day, measured together: further evenings change each figure by less than 10 %. */
const EVENINGS = { first: '2025-05-01T20:00:00Z', count: 12, hours: 3 };
/** Years of the season statistics. */
const YEARS = { first: 2024, count: 3 };

/** Statistics of one kind of simulated weather, with the accepted ranges and the real values. */
export interface AcceptancePart {
  readonly title: string;
  readonly rows: readonly AcceptanceRow[];
}

/** Statistics of the simulated days and seasons of a seed, with the real values; nothing is written. */
export function measureAcceptance(seed: number): AcceptancePart[] {
  const days = (day_type: DayType, rowsOf: (day: EveningStatistics) => AcceptanceRow[]) =>
    medianRows(
      DAYS.map((day) => {
        const from_ms = Date.parse(day);
        return rowsOf(measureEvening(conusScenario(seed, day_type, WSR88D), from_ms, from_ms + MS_PER_DAY));
      }),
    );
  const scenario = defaultScenario(seed, WSR88D);
  return [
    { title: `Marginal days, full CONUS, median of ${DAYS.length}`, rows: days('marginal', marginalRows) },
    { title: `Outbreak days, full CONUS, median of ${DAYS.length}`, rows: days('outbreak', outbreakRows) },
    {
      title: `Severe evenings, Plains, ${EVENINGS.count} of ${EVENINGS.hours} hours`,
      rows: plainsRows(
        measureStorms(
          Array.from({ length: EVENINGS.count }, (_, n) => {
            const from_ms = Date.parse(EVENINGS.first) + n * MS_PER_DAY;
            return { scenario, from_ms, to_ms: from_ms + EVENINGS.hours * MS_PER_HOUR };
          }),
        ),
      ),
    },
    {
      title: `Seasons, ${YEARS.count} years`,
      rows: seasonRows(measureSeasons(conusScenario(seed, 'climate', WSR88D), YEARS.first, YEARS.count)),
    },
  ];
}

/**
 * Prints the statistics of simulated weather next to the real ones: `npm run bench -- simulator --seed 3`. Exit code 5 when a
 * figure is outside its accepted range.
 */
export async function simulator(args: string[]): Promise<void> {
  const command = new Command('simulator')
    .option('--seed <number>', 'seed of the weather', '1')
    .option('--json', 'print one JSON object', false);
  command.parse(args, { from: 'user' });
  const { seed: text, json } = command.opts<{ seed: string; json: boolean }>();
  const seed = wholeOption('--seed', text, 2 ** 32 - 1);
  const parts = measureAcceptance(seed);
  const outside = parts.flatMap(({ rows }) => rows).filter((row) => !isAccepted(row)).length;
  if (json) {
    const rows = parts.flatMap(({ title, rows }) =>
      rows.map((row) => ({ part: title, ...row, accepted: isAccepted(row) })),
    );
    console.log(JSON.stringify({ seed, rows, outside }));
  } else {
    for (const { title, rows } of parts) console.log(`${title}\n${formatRows(rows)}\n`);
    console.log(
      outside === 0 ? 'All within what is accepted.' : `${counted(outside, 'figure')} outside what is accepted.`,
    );
  }
  if (outside > 0) process.exitCode = EXIT.check_found;
}
