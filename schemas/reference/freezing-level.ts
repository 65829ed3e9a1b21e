import table from '../../data/reference/freezing-level.json' with { type: 'json' };

/** Days with hail are warmer than the mean of their month by this, km: November to April, and the other months. */
const HAIL_DAY_WARMTH_KM = { winter: 0.4, summer: 0.2 } as const;

/**
 * Mean height of the 0 C level over the contiguous United States, km above sea level, good to about 0.5 km:
 * the fallback without a model or sounding. `month` is 1..12; latitudes outside 25-49 N take the nearest row.
 */
export function freezingLevelKm(lat: number, month: number): number {
  const { lats, km } = table;
  const last = lats.length - 1;
  const at = Math.min(Math.max(lat, lats[0]), lats[last]);
  const upper = Math.max(
    1,
    lats.findIndex((bound) => bound >= at),
  );
  const south = lats[upper - 1];
  const share = (at - south) / (lats[upper] - south);
  const low = km[upper - 1]?.[month - 1];
  const high = km[upper]?.[month - 1];
  if (low === undefined || high === undefined) throw new RangeError(`month is ${month}, expected 1 to 12`);
  return low + (high - low) * share;
}

/** The same on a day with hail, which is warmer than the mean day, km. */
export function hailDayFreezingLevelKm(lat: number, month: number): number {
  const winter = month <= 4 || month >= 11;
  return freezingLevelKm(lat, month) + (winter ? HAIL_DAY_WARMTH_KM.winter : HAIL_DAY_WARMTH_KM.summer);
}
