import test from 'ava';
import fc from 'fast-check';
import { EarlierForecast, EarlierRisk, EarlierStorms } from '../../../api/legacy/resources.ts';
import { simulatedForecast, simulatedRisk, simulatedStorms } from '../../../api/legacy/simulated-data.ts';
import { LOOKBACK_MIN } from '../../../schemas/resources/hail-cell.ts';
import { MS_PER_DAY, MS_PER_HOUR } from '../../../schemas/time.ts';

const instant = fc.integer({ min: Date.parse('2020-01-01T00:00:00Z'), max: Date.parse('2030-01-01T00:00:00Z') });
const place = fc.record({
  lat: fc.double({ min: -90, max: 90, noNaN: true }),
  lng: fc.double({ min: -180, max: 180, noNaN: true }),
});

test('the simulated forecast begins with the hour that is running, and its hours follow one another', (t) =>
  t.notThrows(() =>
    fc.assert(
      fc.property(place, instant, fc.integer({ min: 1, max: 48 }), (at, now_ms, hours) => {
        const forecast = EarlierForecast.parse(simulatedForecast({ ...at, hours }, now_ms));
        const times = forecast.map(({ time }) => Date.parse(time));
        return (
          times.length === hours &&
          times.every(
            (time, k) =>
              time % MS_PER_HOUR === 0 &&
              time > now_ms + (k - 1) * MS_PER_HOUR &&
              time <= now_ms + (k + 1) * MS_PER_HOUR,
          ) &&
          times[0] > now_ms
        );
      }),
    ),
  ));

test('what the simulated forecast says of an hour does not change while the hour comes nearer', (t) => {
  const at = { lat: 35.2, lng: -97 };
  const now_ms = Date.parse('2026-05-01T20:14:07Z');
  const later = new Map(
    simulatedForecast({ ...at, hours: 48 }, now_ms + 30 * MS_PER_HOUR).map((hour) => [hour.time, hour]),
  );
  const both = simulatedForecast({ ...at, hours: 48 }, now_ms).filter(({ time }) => later.has(time));
  t.is(both.length, 18);
  for (const { time, probability, max_size_mm } of both) t.like(later.get(time), { probability, max_size_mm });
});

test('simulated storms were seen within the look-back, and are the same ones all day', (t) =>
  t.notThrows(() =>
    fc.assert(
      fc.property(place, instant, fc.integer({ min: 0, max: MS_PER_DAY - 1 }), (at, now_ms, after_ms) => {
        const storms = EarlierStorms.parse(simulatedStorms({ ...at, radius_km: 150 }, now_ms));
        const day_ms = now_ms - (now_ms % MS_PER_DAY);
        const without = (ms: number) =>
          simulatedStorms({ ...at, radius_km: 150 }, ms).map(({ detected_at: _, ...storm }) => storm);
        return (
          storms.every(({ detected_at }) => {
            const age_ms = now_ms - Date.parse(detected_at);
            return age_ms >= 0 && age_ms <= LOOKBACK_MIN * 60_000;
          }) && JSON.stringify(without(day_ms + after_ms)) === JSON.stringify(without(now_ms))
        );
      }),
    ),
  ));

test('a higher simulated score never goes with fewer hail days, and no hail days with no event', (t) => {
  const now_ms = Date.parse('2026-05-01T20:14:07Z');
  const risks = Array.from({ length: 500 }, (_, k) => EarlierRisk.parse(simulatedRisk(`loc_${k}`, now_ms)));
  const sorted = risks.toSorted((a, b) => (a.risk_score ?? 0) - (b.risk_score ?? 0));
  for (const [k, { annual_hail_days }] of sorted.entries())
    t.true(k === 0 || (annual_hail_days ?? -1) >= (sorted[k - 1].annual_hail_days ?? -1));
  t.true(sorted[0].annual_hail_days === 0 && sorted[0].last_event === null);
  t.true((sorted.at(-1)?.annual_hail_days ?? 0) > 3);
  for (const { last_event, annual_hail_days } of risks) {
    if (last_event === null) continue;
    const days = (Date.parse('2026-05-01') - Date.parse(last_event.date)) / MS_PER_DAY;
    t.true(days >= 1 && days <= 365 / (annual_hail_days ?? 0) + 1, `${days} ${annual_hail_days}`);
  }
});
