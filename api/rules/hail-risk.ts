import { geohash } from '../../schemas/geo/geohash.ts';
import type { Position } from '../../schemas/geo/position.ts';
import type { HailRisk } from '../../schemas/resources/risk.ts';
import { MONTHS, RISK_RADIUS_KM } from '../../schemas/risk.ts';
import type { ClimatologyCell } from '../../schemas/tables/derived.ts';
import { timestamp } from '../../schemas/time.ts';
import { rounded, roundedPosition } from './rounded.ts';

const WHAT_IT_IS = `Probability of at least one day with such hail within ${RISK_RADIUS_KM} km of the centre of the cell, from radar estimates of size.`;
const NOT_PUBLISHED =
  'No climatology is published yet: nothing is known, which is not a statement that there is no hail.';
const OUTSIDE = 'The point lies outside of the 48 states that the climatology covers: nothing is known of hail there.';
const SIMULATED = 'SIMULATED: counted on simulated storms, not on observed ones.';
/** From this share of built-in rates on, the note says that the rates are mostly built in. */
const MOSTLY_PRIOR = 0.5;

/** Geohash of four characters that a point lies in. */
export function cellOf({ lat, lon }: Position): string {
  return geohash(lat, lon, 4);
}

/** The climatological risk at a point from the row of its cell; `data_as_of` is null while no climatology is published. */
export function hailRisk(position: Position, cell: ClimatologyCell | null, data_as_of: number | null): HailRisk {
  const location = { ...roundedPosition(position), geohash4: cellOf(position) };
  const as_of = timestamp(data_as_of);
  if (cell === null) {
    const note = data_as_of === null ? NOT_PUBLISHED : OUTSIDE;
    return { location, covered: false, annual: null, monthly: [], basis: null, note, data_as_of: as_of };
  }
  return {
    location,
    covered: true,
    annual: {
      any: rounded(cell.annual_any, 3),
      severe: rounded(cell.annual_severe, 3),
      significant: rounded(cell.annual_significant, 3),
      giant: rounded(cell.annual_giant, 3),
      score: cell.annual_score,
      risk_tier: cell.risk_tier,
      peak_month: cell.peak_month,
      years_of_data: cell.years_of_data,
    },
    monthly: MONTHS.map((month, index) => ({
      month: index + 1,
      probability: { any: rounded(cell[`any_${month}`], 3), severe: rounded(cell[`severe_${month}`], 3) },
      score: cell[`score_${month}`],
    })),
    basis: {
      source: cell.data_source,
      storm_dates: cell.storm_dates,
      first_date: cell.first_date,
      last_date: cell.last_date,
      prior_share: rounded(cell.prior_share, 3),
    },
    note: riskNote(cell),
    data_as_of: as_of,
  };
}

function riskNote({ data_source, prior_share, storm_dates, years_of_data }: ClimatologyCell): string {
  const dates = `${storm_dates} storm date${storm_dates === 1 ? '' : 's'}`;
  const years = years_of_data === 0 ? 'less than one year' : `${years_of_data} year${years_of_data === 1 ? '' : 's'}`;
  const built_in = ` With ${dates}, ${years} with nearly all scans, these are mostly built-in rates for the region and not what was counted here.`;
  return `${data_source === 'simulated' ? `${SIMULATED} ` : ''}${WHAT_IT_IS}${prior_share >= MOSTLY_PRIOR ? built_in : ''}`;
}
