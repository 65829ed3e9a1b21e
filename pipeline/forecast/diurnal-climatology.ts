/** Hour of local solar time at which hail is likeliest, how sharp its peak is, and the share that is spread over the whole day. */
const PEAK_H = 17.5;
const SHARPNESS = 1.6;
const FLOOR = 0.1;
/** Modified Bessel function I0(1.6): makes the peak integrate to 1. */
const MEAN_OF_EXP = 1.7499806397;

/**
 * Storm days within 40 km for one within 10 km. The reach of a swath of 60 x 8 km, from which a day is seen, grows with the
 * radius r as (60 + 2r)(8 + 2r): (140 x 88) / (80 x 28).
 */
const DAYS_WITHIN_40_FOR_10_KM = 5.5;

const HOURS = 24;

/** Share of a day's hail in the UTC hour that begins at `utc_hour`, at a longitude; the shares of 24 hours sum to 1. */
export function diurnalShare(utc_hour: number, lon: number): number {
  const solar_h = utc_hour + 0.5 + lon / 15;
  const peak = Math.exp(SHARPNESS * Math.cos(((solar_h - PEAK_H) * Math.PI) / 12)) / MEAN_OF_EXP;
  return (FLOOR + (1 - FLOOR) * peak) / HOURS;
}

/** Expected days with severe hail within 40 km, per day, from the chance of one within 10 km in a month. */
function severeDays(month_probability: number, days_in_month: number): number {
  return (-Math.log(1 - Math.min(0.999, month_probability)) / days_in_month) * DAYS_WITHIN_40_FOR_10_KM;
}

/** Usual chance of severe hail within 40 km on a day of a month, percent, from that within 10 km in the whole month. */
export function usualDayPct(month_probability: number, days_in_month: number): number {
  return 100 * (1 - Math.exp(-severeDays(month_probability, days_in_month)));
}

/** The same for the hour that ends at `valid_time`, 0 to 1. */
export function usualHour(month_probability: number, days_in_month: number, valid_time: number, lon: number): number {
  const utc_hour = new Date(valid_time - 3_600_000).getUTCHours();
  return 1 - Math.exp(-severeDays(month_probability, days_in_month) * diurnalShare(utc_hour, lon));
}
