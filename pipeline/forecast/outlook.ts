import { CONUS_CELLS, type Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import { combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import { isInOutlookDomain } from '../../schemas/reference/outlook-domain.ts';
import type { Forecast } from '../../schemas/tables/forecast.ts';
import { OUTLOOK_DAYS, type Outlook, type OutlookSource } from '../../schemas/tables/outlook.ts';
import type { SpcOutlook } from '../../schemas/tables/spc-outlooks.ts';
import { addDays, MS_PER_HOUR } from '../../schemas/time.ts';
import { type BlendedDay, blendDay, usedSources } from './blend.ts';
import { dayProbabilityPct, hourlyDisaggregation } from './diurnal-climatology.ts';
import { type SpcDay, spcDay, spcPct } from './spc-areas.ts';

const DAY_HOURS = 24;
/** Hours of a day that the model must cover to forecast it. */
const ENOUGH_HOURS = 12;
/** A storm raises the probability of its hour and of those before and after. */
const HOURS_PER_STORM = 3;

/** Published climatology. */
export interface Climatology {
  /** Probability of severe hail within 10 km in a month (1 to 12); null where unknown. */
  readonly monthly: (cell: Geohash4Cell, month: number) => number | null;
  readonly provenance: MixedProvenance;
}

/** Columns of the hourly forecast that the outlook uses. */
export type ForecastHour = Pick<Forecast, 'geohash4' | 'valid_time' | 'hail_probability' | 'data_source'>;

export interface OutlookInput {
  /** Date of the 12 UTC at which day 1 began. */
  readonly first_date: string;
  /** Newest SPC outlook of each layer. */
  readonly spc: readonly SpcOutlook[];
  /** Rows of the hourly forecast. */
  readonly forecast: Iterable<ForecastHour>;
  readonly climatology: Climatology | null;
}

/** First date of an outlook made at an instant: that of the last 12 UTC. */
export function firstOutlookDate(now: number): string {
  return new Date(now - 12 * MS_PER_HOUR).toISOString().slice(0, 10);
}

/** Rows of the seven days for every cell of CONUS, cell by cell. A day without any component has no row. */
export function* outlookRows({ first_date, spc, forecast, climatology }: OutlookInput): Generator<Outlook[]> {
  const days = Array.from({ length: OUTLOOK_DAYS }, (_, k) => {
    const date = addDays(first_date, k);
    return { day: k + 1, date, spc: spcDay(spc, date), ...calendarOf(date) };
  });
  const start = Date.parse(`${first_date}T12:00:00Z`);
  const model = modelHours(forecast, start);
  for (const cell of CONUS_CELLS) {
    const isForecast = isInOutlookDomain(cell);
    yield days.flatMap((day) => {
      const row = rowOf(cell, isForecast ? day : { ...day, spc: null }, model, climatology);
      return row === null ? [] : [row];
    });
  }
}

interface Day {
  readonly day: number;
  readonly date: string;
  readonly month: number;
  readonly days_in_month: number;
  readonly spc: SpcDay | null;
}

/** Month of a date, and its number of days. */
function calendarOf(date: string): { month: number; days_in_month: number } {
  const [year, month] = date.split('-').map(Number);
  return { month, days_in_month: new Date(Date.UTC(year, month, 0)).getUTCDate() };
}

function rowOf(cell: Geohash4Cell, of: Day, model: ModelHours, climatology: Climatology | null): Outlook | null {
  const { day, date } = of;
  const monthly = climatology?.monthly(cell, of.month) ?? null;
  const climo_pct = monthly === null ? null : tenths(dayProbabilityPct(monthly, of.days_in_month));
  const hours = model.of(cell, day);
  const hrrr_pct = modelDayPct(hours);
  const raw_spc = of.spc === null ? null : spcPct(of.spc, day, cell);
  const components = {
    spc: raw_spc === null ? null : tenths(raw_spc),
    hrrr: hrrr_pct === null ? null : tenths(hrrr_pct),
    climatology: climo_pct,
  };
  const blended = blendDay(day, components);
  if (blended === null) return null;
  const used = usedSources(day, components);
  const provenances: Readonly<Record<OutlookSource, MixedProvenance | null>> = {
    spc: of.spc?.provenance ?? null,
    hrrr: model.provenance,
    climatology: climatology?.provenance ?? null,
  };
  // The row shows the climatology next to the forecasts, and the primary source depends on it.
  const shown = climo_pct === null ? used : new Set<OutlookSource>([...used, 'climatology']);
  const known = [...shown].map((source) => provenances[source]).filter((provenance) => provenance !== null);
  const { geohash4, lat, lon } = cell;
  return {
    forecast_date: date,
    day,
    geohash4,
    lat,
    lon,
    ...fieldsOf(blended),
    spc_pct: used.includes('spc') ? components.spc : null,
    hrrr_pct: used.includes('hrrr') ? components.hrrr : null,
    climo_pct,
    hourly_pct: day === 1 ? hourlyText(hourlyDisaggregation(blended.probability_pct, lon, hours)) : null,
    data_source: combineProvenances(known) ?? 'mixed',
  };
}

function fieldsOf({ probability_pct, ...confidence }: BlendedDay) {
  return { hail_probability_pct: probability_pct, ...confidence };
}

/** Hourly percentages as text. With four decimals the product of 24 complements is within .003 % of the day's. */
function hourlyText(hourly: readonly number[]): string {
  return hourly.map((pct) => String(Math.round(pct * 1e4) / 1e4)).join(' ');
}

function tenths(pct: number): number {
  return Math.round(10 * pct) / 10;
}

/**
 * Probability of hail on a day from those of its hours, percent; null when too few are known. Every storm counts in three hours,
 * so the product of the hours' complements is the third power of the day's; never below the likeliest hour.
 */
function modelDayPct(hours: readonly (number | null)[]): number | null {
  const known = hours.filter((p) => p !== null);
  if (known.length < ENOUGH_HOURS) return null;
  const none = known.reduce((product, p) => product * (1 - p), 1);
  return 100 * Math.max(1 - none ** (1 / HOURS_PER_STORM), ...known);
}

interface ModelHours {
  /** Probabilities of the 24 hours of a day at a cell; null for unknown hours. */
  readonly of: (cell: Geohash4Cell, day: number) => readonly (number | null)[];
  readonly provenance: MixedProvenance | null;
}

const NO_HOURS: readonly (number | null)[] = new Array(DAY_HOURS).fill(null);

/** Hours of the forecast by cell and day. `start` is the start of day 1. */
function modelHours(rows: Iterable<ForecastHour>, start: number): ModelHours {
  const cells = new Map<string, (number | null)[][]>();
  const provenances = new Set<MixedProvenance>();
  for (const { geohash4, valid_time, hail_probability, data_source } of rows) {
    // The hour that ends at 13 UTC is the first of its day.
    const hour = Math.round((valid_time - start) / MS_PER_HOUR) - 1;
    if (hour < 0 || hour >= OUTLOOK_DAYS * DAY_HOURS) continue;
    const days = cells.get(geohash4) ?? [];
    const day = Math.floor(hour / DAY_HOURS);
    days[day] ??= [...NO_HOURS];
    days[day][hour % DAY_HOURS] = hail_probability;
    cells.set(geohash4, days);
    provenances.add(data_source);
  }
  return {
    of: ({ geohash4 }, day) => cells.get(geohash4)?.[day - 1] ?? NO_HOURS,
    provenance: combineProvenances(provenances),
  };
}
