import { bbox } from '@turf/bbox';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { CONUS_CELLS, type Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { multiPolygonFromWkt } from '../../schemas/geo/wkt.ts';
import { DAY_HOURS, type DayHours, dayOfHours, hoursOver, outlookDate, usualRest } from '../../schemas/outlook-day.ts';
import { combineProvenances, type MixedProvenance, type Provenance } from '../../schemas/provenance.ts';
import { isInOutlookDomain } from '../../schemas/reference/outlook-domain.ts';
import type { SpcOutlook } from '../../schemas/tables/feeds.ts';
import { type Forecast, OUTLOOK_DAYS, type Outlook, type OutlookSource } from '../../schemas/tables/forecast.ts';
import { addDays, MS_PER_HOUR } from '../../schemas/time.ts';
import { blendDay } from './blend.ts';
import { dayProbabilityPct, daysInMonth } from './diurnal-climatology.ts';
import { forecastRow, type HourColumns, modelProbability } from './hourly.ts';

/** Share of the hours of a day that the model must cover to forecast it; of a running day, of the hours that are not over. */
const ENOUGH_SHARE = 0.5;

/** Published climatology. */
export interface Climatology {
  /** Probability of severe hail within 10 km in a month (1 to 12); null where unknown. */
  readonly monthly: (cell: Geohash4Cell, month: number) => number | null;
  readonly provenance: MixedProvenance;
}

interface OutlookInput {
  /** Day 1 is the one that is running then. */
  readonly now_ms: number;
  /** Newest SPC outlook of each layer. */
  readonly spc: readonly SpcOutlook[];
  /** Hours of the model. */
  readonly hours: readonly HourColumns[];
  readonly climatology: Climatology | null;
}

/** Makes the rows of cell k of CONUS, days and hours together, so that no hour contradicts its day. */
export function outlookMaker({ now_ms, spc, hours, climatology }: OutlookInput) {
  const first_date = outlookDate(now_ms);
  const start = Date.parse(`${first_date}T12:00:00Z`);
  const places = hours.map(({ facts }) => placeOf(facts.valid_time, start));
  const days = Array.from({ length: OUTLOOK_DAYS }, (_, k): Day => {
    const date = addDays(first_date, k);
    const [month, days_in_month] = [Number(date.slice(5, 7)), daysInMonth(Date.parse(date))];
    return { day: k + 1, date, spc: spcDay(spc, date), hours_over: hoursOver(date, now_ms), month, days_in_month };
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
  readonly hours_over: number;
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
    hrrr: tenths(modelDayPct(hours.slice(of.hours_over))),
    climatology: climo_pct,
  };
  const blended = blendDay(day, components);
  if (blended === null) return { row: null, hours: hours.map(publishedHour) };
  const { probability_pct, used, ...confidence } = blended;
  const published = coherentHours(probability_pct / 100, cell.lon, of.hours_over, hours);
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
    data_source: combineProvenances(known) ?? 'mixed',
  };
  return { row, hours: published };
}

function tenths(pct: number | null): number | null {
  return pct === null ? null : Math.round(10 * pct) / 10;
}

/** Probability of hail on a day from those of its hours that are ahead, percent; null when too few are known. */
function modelDayPct(ahead: DayHours): number | null {
  const known = ahead.filter((p) => p !== null);
  return known.length < Math.max(1, ENOUGH_SHARE * ahead.length) ? null : 100 * dayOfHours(known);
}

/** Mean share of hail in severe weather of all kinds, by season. */
const HAIL_SHARE = { spring: 0.55, summer: 0.45, otherwise: 0.3 } as const;
const SPRING = [3, 4, 5];
const SUMMER = [6, 7, 8];

/** Probability outside all areas on days 1 to 3, percent; unknown on later days. */
const QUIET_PCT: readonly number[] = [1, 1.5, 1.5];

/** Hail in the convective outlook of one date. */
interface SpcDay {
  /** False when an area was rejected: the probability outside the others is then unknown. */
  readonly is_complete: boolean;
  /** Probability areas, the largest probability first. */
  readonly areas: readonly SpcArea[];
  /** 1 for hail itself; the share of hail in a combined value. */
  readonly share: number;
  readonly provenance: Provenance;
}

interface SpcArea {
  readonly pct: number;
  readonly contains: (at: Position) => boolean;
}

/**
 * The outlook of one date: the layer of hail, else that of all hazards, from the shortest lead that has either. Null when
 * none was issued.
 */
export function spcDay(rows: readonly SpcOutlook[], forecast_date: string): SpcDay | null {
  const layers = rows.filter((row) => row.forecast_date === forecast_date && row.part !== 'significant');
  const days = [...new Set(layers.map(({ day }) => day))].sort((a, b) => a - b);
  for (const day of days)
    for (const hazard of ['hail', 'any_severe'] as const) {
      const layer = layers.filter((row) => row.day === day && row.hazard === hazard);
      const [first] = layer;
      if (first === undefined) continue;
      return {
        is_complete: layer.every(({ is_complete }) => is_complete),
        areas: layer.flatMap(areaOf).sort((a, b) => b.pct - a.pct),
        share: hazard === 'hail' ? 1 : hailShare(forecast_date),
        provenance: first.data_source,
      };
    }
  return null;
}

function hailShare(date: string): number {
  const month = Number(date.slice(5, 7));
  if (SPRING.includes(month)) return HAIL_SHARE.spring;
  return SUMMER.includes(month) ? HAIL_SHARE.summer : HAIL_SHARE.otherwise;
}

function areaOf({ probability_pct, geometry }: SpcOutlook): SpcArea[] {
  if (probability_pct === null || geometry === null) return [];
  const area = { type: 'MultiPolygon' as const, coordinates: multiPolygonFromWkt(geometry) as number[][][][] };
  // With its box, an area is searched only for places within that.
  const boxed = { ...area, bbox: bbox(area) };
  return [{ pct: probability_pct, contains: ({ lat, lon }) => booleanPointInPolygon([lon, lat], boxed) }];
}

/**
 * Probability at a place, percent: that of the highest area that contains it; outside all areas a quiet value on days 1 to 3.
 * Null where unknown: outside all areas on later days, and on any day with a rejected area.
 */
export function spcPct(outlook: SpcDay, day: number, at: Position): number | null {
  const area = outlook.areas.find(({ contains }) => contains(at));
  if (area !== undefined) return area.pct * outlook.share;
  return outlook.is_complete ? (QUIET_PCT[day - 1] ?? null) : null;
}

/** Decimals of published probabilities of hours. Those of days are percents with one decimal: both are multiples of .001. */
const DECIMALS = 3;
/** Bounds of a probability before its odds are taken. The model's hours have four decimals: its zero is less than half of the last. */
const CERTAINTY = { low: 0.00005, high: 0.99995 } as const;
/** Largest shift in log-odds: it takes a probability of `CERTAINTY.low` beyond `CERTAINTY.high`. */
const MOST_SHIFT = 30;
/** Halvings that bring the shift below the precision of floating point. */
const ROUNDS = 55;

/**
 * Hours of a day as they are published: as the model has them where they agree with the day, else all shifted by the same
 * log-odds, no further than it takes. `day` is a multiple of .001; hours that are over are null.
 */
export function coherentHours(day: number, lon: number, hours_over: number, hours: DayHours): (number | null)[] {
  const rest = usualRest(day, lon, hours_over);
  const faultOf = (published: DayHours) => contradiction(day, rest, published.slice(hours_over));
  const own = hours.map(publishedHour);
  const fault = faultOf(own);
  if (fault === null) return own;
  const odds = hours.map((p) => (p === null ? null : oddsOf(p)));
  const shifted = (shift: number) => {
    const factor = Math.exp(shift);
    // 1 − 1/(1 + x) and not x/(1 + x): each of its steps keeps the order of two hours that differ in the last bit.
    return odds.map((o) => publishedHour(o === null ? null : 1 - 1 / (1 + o * factor)));
  };
  // Between `kept`, a shift that goes far enough, and `short`, one that does not, the rounded hours change one step at a time.
  let kept = fault === 'hour_above_day' ? -MOST_SHIFT : MOST_SHIFT;
  let short = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const middle = (kept + short) / 2;
    if (faultOf(shifted(middle)) === fault) short = middle;
    else kept = middle;
  }
  return shifted(kept);
}

/** Probability of an hour with the decimals that are published; null where it is not known. */
function publishedHour(p: number | null): number | null {
  return p === null ? null : Math.round(p * 10 ** DECIMALS) / 10 ** DECIMALS;
}

function oddsOf(p: number): number {
  const bounded = Math.min(CERTAINTY.high, Math.max(CERTAINTY.low, p));
  return bounded / (1 - bounded);
}

/**
 * How the hours ahead contradict the probability of their day (0 to 1), null when they agree with it: no hour is likelier than the
 * day, and what usually remains of the day (`rest`) is no likelier than all of them if they were independent. The second applies
 * only where all are known: hail may come in the others.
 */
export function contradiction(day: number, rest: number, ahead: DayHours): 'hour_above_day' | 'day_above_hours' | null {
  const known = ahead.filter((p) => p !== null);
  if (known.some((p) => exceeds(p, day))) return 'hour_above_day';
  const none = known.reduce((product, p) => product * (1 - p), 1);
  return known.length === ahead.length && exceeds(rest, 1 - none) ? 'day_above_hours' : null;
}

/** True when one probability is larger than another by more than errors of floating point. */
function exceeds(a: number, b: number): boolean {
  return a > b + 1e-9;
}
