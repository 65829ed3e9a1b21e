import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../schemas/time.ts';
import { conusScenario, type DayType, defaultScenario } from '../simulate/scenario.ts';
import {
  type AcceptanceRow,
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

/** Convective days that are measured; of each figure the median counts. */
const DAYS = ['2025-05-01T12:00:00Z', '2025-05-02T12:00:00Z', '2025-05-03T12:00:00Z'];
/** Evenings of the Plains that are measured together, one a day: more change no figure of theirs by a tenth. */
const EVENINGS = { first: '2025-05-01T20:00:00Z', count: 12, hours: 3 };
/** Years whose seasons are measured. */
const YEARS = { first: 2024, count: 3 };

/** Figures of one kind of simulated weather beside real ones. */
export interface AcceptancePart {
  readonly title: string;
  readonly rows: readonly AcceptanceRow[];
}

/** Measures simulated days and seasons of a seed beside real ones; nothing is written. */
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

/** Figures outside what is accepted. */
export function outside(parts: readonly AcceptancePart[]): number {
  return parts.flatMap(({ rows }) => rows).filter((row) => !isAccepted(row)).length;
}
