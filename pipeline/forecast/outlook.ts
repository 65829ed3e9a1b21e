import { CONUS_CELLS, type Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import { combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import { isInOutlookDomain } from '../../schemas/reference/outlook-domain.ts';
import type { SpcOutlook } from '../../schemas/tables/feeds.ts';
import { type Forecast, OUTLOOK_DAYS, type Outlook, type OutlookSource } from '../../schemas/tables/forecast.ts';
import { addDays, MS_PER_HOUR } from '../../schemas/time.ts';
import { blendDay } from './blend.ts';
import { coherentHours, type DayHours, publishedHour } from './coherence.ts';
import { dayProbabilityPct, daysInMonth, hourlyDisaggregation } from './diurnal-climatology.ts';
import { forecastRow, type HourColumns, modelProbability } from './hourly.ts';
import { type SpcDay, spcDay, spcPct } from './spc-areas.ts';

const DAY_HOURS = 24;
/** Share of the hours of a day that the model must cover to forecast it; of a running day, of the hours that are not over. */
const ENOUGH_SHARE = 0.5;
/** A storm raises the probability of its hour and of those before and after. */
const HOURS_PER_STORM = 3;

/** Published climatology. */
export interface Climatology {
  /** Probability of severe hail within 10 km in a month (1 to 12); null where unknown. */
  readonly monthly: (cell: Geohash4Cell, month: number) => number | null;
  readonly provenance: MixedProvenance;
}

export interface OutlookInput {
  /** Day 1 is the one that is running then. */
  readonly now_ms: number;
  /** Newest SPC outlook of each layer. */
  readonly spc: readonly SpcOutlook[];
  /** Hours of the model. */
  readonly hours: readonly HourColumns[];
  readonly climatology: Climatology | null;
}

/** First date of an outlook made at an instant: that of the last 12 UTC. */
export function firstOutlookDate(now: number): string {
  return new Date(now - 12 * MS_PER_HOUR).toISOString().slice(0, 10);
}

/** Makes the rows of cell k of CONUS, days and hours together, so that no hour contradicts its day. */
export function outlookMaker({ now_ms, spc, hours, climatology }: OutlookInput) {
  const first_date = firstOutlookDate(now_ms);
  const start = Date.parse(`${first_date}T12:00:00Z`);
  const places = hours.map(({ facts }) => placeOf(facts.valid_time, start));
  const days = Array.from({ length: OUTLOOK_DAYS }, (_, k): Day => {
    const date = addDays(first_date, k);
    const hours_over = k === 0 ? Math.floor((now_ms - start) / MS_PER_HOUR) : 0;
    const [month, days_in_month] = [Number(date.slice(5, 7)), daysInMonth(Date.parse(date))];
    return { day: k + 1, date, spc: spcDay(spc, date), hours_ahead: DAY_HOURS - hours_over, month, days_in_month };
  });
  const model = combineProvenances(hours.map(({ facts }) => facts.data_source));
  return (k: number) => {
    const cell = CONUS_CELLS[k];
    const has_spc = isInOutlookDomain(cell);
    const strips = days.map(() => new Array<number | null>(DAY_HOURS).fill(null));
    for (const [index, hour] of hours.entries()) {
      const place = places[index];
      if (place !== null) strips[place.day][place.hour] = modelProbability(hour, k);
    }
    const made = days.map((day, index) =>
      dayOf(cell, has_spc ? day : { ...day, spc: null }, strips[index], model, climatology),
    );
    return {
      /** The seven days; a day without any component has no row. */
      days: made.flatMap(({ row }) => (row === null ? [] : [row])),
      /** The hours of the forecast, shifted to agree with the days. */
      hours: hours.flatMap((hour, index): Forecast[] => {
        if (hour.covered[k] === 0) return [];
        const place = places[index];
        const p = place === null ? publishedHour(modelProbability(hour, k)) : made[place.day].hours[place.hour];
        return [forecastRow(hour, k, p)];
      }),
    };
  };
}

/** Day (from 0) and hour (from 0) of an outlook that an hour belongs to; null for one outside of the outlook. */
function placeOf(valid_time: number, start: number): { readonly day: number; readonly hour: number } | null {
  // The hour that ends at 13 UTC is the first of its day.
  const hour = Math.round((valid_time - start) / MS_PER_HOUR) - 1;
  if (hour < 0 || hour >= OUTLOOK_DAYS * DAY_HOURS) return null;
  return { day: Math.floor(hour / DAY_HOURS), hour: hour % DAY_HOURS };
}

interface Day {
  readonly day: number;
  readonly date: string;
  readonly month: number;
  readonly days_in_month: number;
  readonly hours_ahead: number;
  readonly spc: SpcDay | null;
}

/** The row of a day and its published hours, from the hours of the model, whose provenance is `model`. */
function dayOf(
  cell: Geohash4Cell,
  of: Day,
  hours: DayHours,
  model: MixedProvenance | null,
  climatology: Climatology | null,
) {
  const { day, date } = of;
  const monthly = climatology?.monthly(cell, of.month) ?? null;
  const climo_pct = tenths(monthly === null ? null : dayProbabilityPct(monthly, of.days_in_month));
  const components = {
    spc: tenths(of.spc === null ? null : spcPct(of.spc, day, cell)),
    hrrr: tenths(modelDayPct(hours, of.hours_ahead)),
    climatology: climo_pct,
  };
  const blended = blendDay(day, components);
  if (blended === null) return { row: null, hours: hours.map(publishedHour) };
  const { probability_pct, used, ...confidence } = blended;
  const published = coherentHours(probability_pct / 100, hours);
  const provenances: Readonly<Record<OutlookSource, MixedProvenance | null>> = {
    spc: of.spc?.provenance ?? null,
    hrrr: model,
    climatology: climatology?.provenance ?? null,
  };
  // The row shows the climatology next to the forecasts, and the primary source depends on it.
  const shown = climo_pct === null ? used : new Set<OutlookSource>([...used, 'climatology']);
  const known = [...shown].map((source) => provenances[source]).filter((provenance) => provenance !== null);
  const { geohash4, lat, lon } = cell;
  const row: Outlook = {
    forecast_date: date,
    day,
    geohash4,
    lat,
    lon,
    hail_probability_pct: probability_pct,
    ...confidence,
    spc_pct: used.includes('spc') ? components.spc : null,
    hrrr_pct: used.includes('hrrr') ? components.hrrr : null,
    climo_pct,
    hourly_pct: day === 1 ? hourlyText(hourlyDisaggregation(probability_pct, lon, published)) : null,
    data_source: combineProvenances(known) ?? 'mixed',
  };
  return { row, hours: published };
}

/** Hourly percentages as text. With four decimals the product of 24 complements is within .003 % of the day's. */
function hourlyText(hourly: readonly number[]): string {
  return hourly.map((pct) => String(Math.round(pct * 1e4) / 1e4)).join(' ');
}

function tenths(pct: number | null): number | null {
  return pct === null ? null : Math.round(10 * pct) / 10;
}

/**
 * Probability of hail on a day from those of its hours, percent; null when too few are known. Every storm counts in three hours,
 * so the product of the hours' complements is the third power of the day's; never below the likeliest hour.
 */
function modelDayPct(hours: DayHours, hours_ahead: number): number | null {
  const known = hours.filter((p) => p !== null);
  if (known.length < Math.max(1, ENOUGH_SHARE * hours_ahead)) return null;
  const none = known.reduce((product, p) => product * (1 - p), 1);
  return 100 * Math.max(1 - none ** (1 / HOURS_PER_STORM), ...known);
}
