import test from 'ava';
import fc from 'fast-check';
import { blendDay, type Components } from '../../../pipeline/forecast/blend.ts';
import {
  dayProbabilityPct,
  diurnalShare,
  hourlyDisaggregation,
  hourProbability,
} from '../../../pipeline/forecast/diurnal-climatology.ts';
import type { HourColumns } from '../../../pipeline/forecast/hourly.ts';
import {
  coherentHours,
  contradiction,
  type DayHours,
  firstOutlookDate,
  type OutlookInput,
  outlookMaker,
  spcDay,
  spcPct,
} from '../../../pipeline/forecast/outlook.ts';
import { geohash } from '../../../schemas/geo/geohash.ts';
import { CONUS_CELLS } from '../../../schemas/geo/geohash4.ts';
import type { Provenance } from '../../../schemas/provenance.ts';
import type { SpcOutlook } from '../../../schemas/tables/feeds.ts';
import { Forecast, OUTLOOK_DAYS, Outlook } from '../../../schemas/tables/forecast.ts';
import { MS_PER_HOUR } from '../../../schemas/time.ts';

const pct = fc.integer({ min: 0, max: 1000 }).map((tenths) => tenths / 10);
const day = fc.integer({ min: 1, max: 7 });
type Blended = NonNullable<ReturnType<typeof blendDay>>;
const NONE: Components = { spc: null, hrrr: null, climatology: null };

test('a blend lies between the forecasts it is made of, whatever the climatology says', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(day, pct, pct, pct, (d, spc, hrrr, climatology) => {
        const blended = blendDay(d, { spc, hrrr, climatology });
        const parts = d <= 2 ? [spc, hrrr] : [spc];
        const p = blended?.probability_pct ?? Number.NaN;
        return p >= Math.min(...parts) && p <= Math.max(...parts);
      }),
    ),
  );
});

test('the climatology has no vote beside a forecast, and the same SPC area means the same on every day', (t) => {
  for (let d = 1; d <= 7; d++) {
    t.is(blendDay(d, { ...NONE, spc: 15, climatology: 0.3 })?.probability_pct, 15);
    t.is(blendDay(d, { ...NONE, spc: 15, climatology: 30 })?.probability_pct, 15);
    t.is(blendDay(d, { ...NONE, climatology: 4.2 })?.probability_pct, 4.2);
  }
});

test('a larger component never lowers the blend', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        day,
        fc.record({ spc: pct, hrrr: pct, climatology: pct }),
        fc.constantFrom('spc', 'hrrr', 'climatology'),
        pct,
        (d, low, name, other) => {
          const p = (components: Components) => blendDay(d, components)?.probability_pct ?? Number.NaN;
          const [less, more] = [Math.min(low[name], other), Math.max(low[name], other)];
          return p({ ...low, [name]: more }) >= p({ ...low, [name]: less });
        },
      ),
    ),
  );
});

test('two forecasts are weighted by their logits, and one alone stands for itself', (t) => {
  // Logits of 10 and 30 % weighted .5 and .35 of .85 on day 1, .5 and .2 of .7 on day 2.
  t.is(blendDay(1, { ...NONE, spc: 10, hrrr: 30 })?.probability_pct, 16.2);
  t.is(blendDay(2, { ...NONE, spc: 10, hrrr: 30 })?.probability_pct, 14);
  t.is(blendDay(1, { ...NONE, hrrr: 12.3 })?.probability_pct, 12.3);
});

test('the model has no weight from day 3 on: alone it makes no outlook', (t) => {
  t.is(blendDay(3, { ...NONE, hrrr: 40 }), null);
  t.is(blendDay(3, { ...NONE, hrrr: 40, climatology: 2 })?.primary_source, 'climatology');
  t.deepEqual(blendDay(3, { spc: 10, hrrr: 90, climatology: 2 }), blendDay(3, { spc: 10, hrrr: null, climatology: 2 }));
});

test('without any component there is no outlook', (t) => t.is(blendDay(1, NONE), null));

test('the component that departs furthest from the usual, times its weight, is the primary source', (t) => {
  t.is(blendDay(1, { spc: 15, hrrr: 5, climatology: 2 })?.primary_source, 'spc');
  t.is(blendDay(1, { spc: 2, hrrr: 30, climatology: 2 })?.primary_source, 'hrrr');
  t.is(blendDay(1, { spc: 5, hrrr: 5, climatology: 5 })?.primary_source, 'spc');
  t.is(blendDay(5, { ...NONE, climatology: 4 })?.primary_source, 'climatology');
});

const scoreOf = (d: number, components: Partial<Components>) =>
  blendDay(d, { ...NONE, ...components })?.confidence_score ?? Number.NaN;

for (const [what, components, expected] of [
  ['SPC and the model agree', { spc: 30, hrrr: 30 }, [0.9, 0.8]],
  ['they lie one contour apart', { spc: 30, hrrr: 15 }, [0.9, 0.8]],
  ['they lie two contours apart', { spc: 30, hrrr: 5 }, [0.675, 0.6]],
  ['they lie three contours apart', { spc: 45, hrrr: 5 }, [0.45, 0.4]],
  ['they contradict each other', { spc: 60, hrrr: 0 }, [0.45, 0.4]],
  ['SPC speaks alone', { spc: 30 }, [0.675, 0.6, 0.525, 0.375, 0.3, 0.225, 0.188]],
  ['the model speaks alone', { hrrr: 30 }, [0.675, 0.6]],
  ['no forecast speaks', { climatology: 3 }, [0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]],
] as const)
  test(`where ${what} the confidence of the days is ${expected.join(', ')}`, (t) => {
    for (const climatology of [null, 0.1, 3, 60]) {
      const known = { climatology, ...components };
      t.deepEqual(
        expected.map((_, k) => scoreOf(k + 1, known)),
        [...expected],
      );
    }
  });

test('SPC alone is worth the same at every probability: 30 % is no reason to doubt it', (t) => {
  for (let d = 1; d <= 7; d++)
    t.is(new Set([1, 5, 15, 30, 45, 60].map((spc) => scoreOf(d, { spc, climatology: 2 }))).size, 1);
});

test('confidence is between 0 and 1, never higher on a later day, and above that of the climatology on days 1 to 6', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        pct,
        fc.option(pct, { nil: null }),
        pct,
        (d, spc, hrrr, climatology) => {
          const score = scoreOf(d, { spc, hrrr, climatology });
          const later = scoreOf(d + 1, { spc, hrrr, climatology });
          // On day 3 the model is left out: SPC is alone, and may be trusted more than beside a model that contradicts it.
          return score > 0.2 && score <= 0.9 && (score >= later || (d === 2 && hrrr !== null));
        },
      ),
    ),
  );
});

test('confidence and its word never fall as the two forecasts come closer, on any day', (t) => {
  const half_percents = Array.from({ length: 201 }, (_, k) => k / 2);
  const falls: string[] = [];
  for (let d = 1; d <= OUTLOOK_DAYS; d++)
    for (const fixed of half_percents)
      for (const moving of ['spc', 'hrrr'] as const) {
        const others = { ...NONE, climatology: 5, spc: fixed, hrrr: fixed };
        const scores = half_percents.map((pct) => {
          const { confidence_score: score, confidence_state } = blendDay(d, { ...others, [moving]: pct }) as Blended;
          if (confidence_state !== (score < 0.4 ? 'low' : score < 0.65 ? 'medium' : 'high'))
            falls.push(`day ${d}: ${score} is ${confidence_state}`);
          return score;
        });
        const best = half_percents.indexOf(fixed);
        for (let k = 1; k < scores.length; k++)
          if (k <= best ? scores[k] < scores[k - 1] : scores[k] > scores[k - 1])
            falls.push(`day ${d}: ${moving} at ${half_percents[k]} beside ${fixed}`);
      }
  t.deepEqual(falls, []);
});

test('the complements of the 24 hours multiply to that of the day', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 99.9, noNaN: true }),
        fc.double({ min: -125, max: -66, noNaN: true }),
        fc.array(fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }), {
          minLength: 24,
          maxLength: 24,
        }),
        (day, lon, told) => {
          // A day is no likelier than all of its hours together.
          const most = told.includes(null)
            ? 99.9
            : 100 * (1 - told.reduce((none: number, p) => none * (1 - (p ?? 0)), 1));
          const whole = Math.min(day, most, 99.9);
          const strip = hourlyDisaggregation(whole, lon, told);
          const none = strip.reduce((product, hour) => product * (1 - hour / 100), 1);
          return (
            strip.length === 24 &&
            strip.every((hour) => hour >= 0 && hour < 100) &&
            Math.abs(100 * (1 - none) - whole) < 1e-6
          );
        },
      ),
    ),
  );
});

test('without a model the strip peaks in the late afternoon, with one where the model has its storms', (t) => {
  const utc = (strip: readonly number[]) => (12 + strip.indexOf(Math.max(...strip))) % 24;
  t.is(utc(hourlyDisaggregation(10, -97.5, new Array(24).fill(null))), 23);
  const night = new Array(24).fill(0).map((_, k) => (k === 18 ? 0.6 : 0.001));
  t.is(utc(hourlyDisaggregation(10, -97.5, night)), 6);
});

test('the shares of the hours of a day sum to 1, and 12 to 15 UTC have least at 97.5 W', (t) => {
  const shares = Array.from({ length: 24 }, (_, hour) => diurnalShare(hour, -97.5));
  t.true(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1) < 1e-6);
  const least = shares.indexOf(Math.min(...shares));
  t.true(least >= 11 && least <= 15, `${least}`);
});

test('the usual chance of a day grows with that of its month, and its hours lie within it', (t) => {
  t.is(dayProbabilityPct(0, 31), 0);
  t.true(dayProbabilityPct(0.2, 31) > dayProbabilityPct(0.1, 31));
  const hours = Array.from({ length: 24 }, (_, h) => hourProbability(0.3, Date.UTC(2026, 4, 1, h + 1), -97.5));
  const union = 1 - hours.reduce((product, p) => product * (1 - p), 1);
  t.true(Math.abs(100 * union - dayProbabilityPct(0.3, 31)) < 1e-6);
});

test('the days of a month together are never less likely than hail within 10 km in the month, but for rounding', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.995, noNaN: true }), fc.integer({ min: 28, max: 31 }), (month, days) => {
        const together = 1 - (1 - dayProbabilityPct(month, days) / 100) ** days;
        return together >= month - 1e-9;
      }),
    ),
  );
});

test('the chance of a day from a model is at least that of its likeliest hour, and needs half of its hours', (t) => {
  const quiet: number[] = new Array(24).fill(0);
  const modelDayPct = (hours: readonly (number | null)[]) =>
    rowsAt(
      '9y6e',
      hours.map((p, hour) => modelRow(hour, p)),
    )[0]?.hrrr_pct ?? null;
  t.is(modelDayPct(quiet), 0);
  t.is(modelDayPct(quiet.map((_, k) => (k === 5 ? 0.3 : 0))), 30);
  t.true((modelDayPct(quiet.map((_, k) => (k < 12 ? 0.3 : 0))) ?? 0) > 70);
  t.is(modelDayPct(quiet.map((_, k) => (k < 13 ? null : 0.3))), null);
  t.not(modelDayPct(quiet.map((_, k) => (k < 12 ? null : 0.3))), null);
});

const SQUARE = (west: number, south: number, east: number, north: number) =>
  `MULTIPOLYGON (((${west} ${south}, ${east} ${south}, ${east} ${north}, ${west} ${north}, ${west} ${south})))`;

function layer(row: Partial<SpcOutlook>): SpcOutlook {
  return {
    forecast_date: '2026-05-01',
    day: 1,
    hazard: 'hail',
    part: 'all',
    label: '0.15',
    probability_pct: 15,
    issue_time: 0,
    valid_time: 0,
    expire_time: 0,
    fetched_at: 0,
    is_complete: true,
    geometry: SQUARE(-100, 34, -96, 38),
    data_source: 'observed',
    ...row,
  };
}

const INSIDE = { lat: 36, lon: -98 };
const OUTSIDE = { lat: 45, lon: -80 };

function valueAt(rows: readonly SpcOutlook[], at = INSIDE, d = 1, date = '2026-05-01') {
  const found = spcDay(rows, date);
  return found === null ? 'not issued' : spcPct(found, d, at);
}

test('the highest area that holds a place counts', (t) => {
  const inner = layer({ label: '0.30', probability_pct: 30, geometry: SQUARE(-99, 35, -97, 37) });
  t.is(valueAt([layer({}), inner]), 30);
  t.is(valueAt([inner, layer({})], { lat: 34.5, lon: -98 }), 15);
});

test('outside all areas days 1 to 3 have a quiet value, and later days say nothing', (t) => {
  t.is(valueAt([layer({})], OUTSIDE, 1), 1);
  t.is(valueAt([layer({})], OUTSIDE, 2), 1.5);
  t.is(valueAt([layer({})], OUTSIDE, 3), 1.5);
  for (const d of [4, 5, 6, 7]) t.is(valueAt([layer({})], OUTSIDE, d), null);
});

test('a forecast issued without any area is quiet, one that was not issued is unknown', (t) => {
  t.is(valueAt([layer({ label: null, probability_pct: null, geometry: null })]), 1);
  t.is(valueAt([]), 'not issued');
  t.is(valueAt([layer({})], INSIDE, 2, '2026-05-02'), 'not issued');
});

test('areas of significant hail alone are no forecast of a probability', (t) => {
  t.is(valueAt([layer({ part: 'significant', label: null, probability_pct: null, geometry: null })]), 'not issued');
});

test('where an area was refused, outside of the others nothing is known', (t) => {
  t.is(valueAt([layer({ is_complete: false })], OUTSIDE), null);
  t.is(valueAt([layer({ is_complete: false })], INSIDE), 15);
});

for (const [date, share] of [
  ['2026-05-04', 0.55],
  ['2026-07-04', 0.45],
  ['2026-11-04', 0.3],
] as const)
  test(`of a combined value on ${date} hail has a share of ${share}`, (t) => {
    t.is(valueAt([layer({ hazard: 'any_severe', day: 4, forecast_date: date })], INSIDE, 4, date), 15 * share);
  });

test('hail itself comes before a combined value, and the shortest lead before an older forecast of the date', (t) => {
  t.is(valueAt([layer({ hazard: 'any_severe', probability_pct: 60 }), layer({})]), 15);
  t.is(valueAt([layer({ day: 2, probability_pct: 45 }), layer({})]), 15);
  t.is(valueAt([layer({ day: 2, probability_pct: 45 })]), 45);
});

const START = Date.parse('2026-05-01T12:00:00Z');

/** An hour of the model at one cell. */
function modelRow(
  hour: number,
  probability: number | null,
  data_source: Provenance = 'observed',
  cell = '9y6e',
): HourColumns {
  const valid_time = START + (hour + 1) * MS_PER_HOUR;
  const facts = { model: 'hrrr', run_time: START, runs: '', valid_time, data_source } as const;
  const at = CONUS_CELLS.findIndex(({ geohash4 }) => geohash4 === cell);
  const column = (value: number) => new Float64Array(CONUS_CELLS.length).fill(Number.NaN).fill(value, at, at + 1);
  const covered = new Uint8Array(CONUS_CELLS.length).fill(1, at, at + 1);
  return { facts, covered, probability: column(probability ?? Number.NaN), size_mm: column(30), ship: column(0.5) };
}

/** Rows of a cell, its model hours given. */
function cellAt(geohash4: string, rows: readonly HourColumns[], input: Partial<OutlookInput> = {}) {
  const index = CONUS_CELLS.findIndex((cell) => cell.geohash4 === geohash4);
  const whole = {
    now_ms: START,
    spc: [],
    hours: rows.toSorted((a, b) => a.facts.valid_time - b.facts.valid_time),
    climatology: null,
    ...input,
  };
  return outlookMaker(whole)(index);
}

const rowsAt = (geohash4: string, rows: readonly HourColumns[], input: Partial<OutlookInput> = {}): Outlook[] =>
  cellAt(geohash4, rows, input).days;

const CLIMATOLOGY = { monthly: () => 0.2, provenance: 'observed' } as const;
const DAY_OF_HOURS = Array.from({ length: 24 }, (_, hour) => modelRow(hour, hour === 10 ? 0.4 : 0.01, 'simulated'));

/** The published hours of a cell, by their place from 12 UTC on. */
const publishedAt = (rows: readonly HourColumns[], input: Partial<OutlookInput> = {}, geohash4 = '9y6e') =>
  cellAt(geohash4, rows, input).hours;

const asProbability = (pct: number | null = null) => Math.round(10 * (pct ?? Number.NaN)) / 1000;

test('hours are shifted to agree with the day of all components, and keep what the model said', (t) => {
  const quiet = layer({ label: null, probability_pct: null, geometry: null });
  const [day] = rowsAt('9y6e', DAY_OF_HOURS, { spc: [quiet] });
  const hours = publishedAt(DAY_OF_HOURS, { spc: [quiet] });
  t.is(hours[10]?.model_probability, 0.4);
  t.is(hours[10]?.hail_probability, asProbability(day?.hail_probability_pct));
  t.true((day?.hail_probability_pct ?? 100) < 10);
  for (const row of hours) t.notThrows(() => Forecast.parse(row));
});

test('size, category and score follow from the shifted hour', (t) => {
  const quiet = layer({ label: null, probability_pct: null, geometry: null });
  const likely = layer({ label: '0.60', probability_pct: 60 });
  const slight = DAY_OF_HOURS.map((_, k) => modelRow(k, k < 12 ? 0.019 : 0, 'simulated'));
  const [low] = publishedAt(slight, { spc: [quiet] });
  const [high] = publishedAt(slight, { spc: [likely] });
  t.like(low, { model_size_mm: 30, estimated_size_mm: null, risk_category: 'minimal' });
  t.like(high, { model_size_mm: 30, estimated_size_mm: 30 });
  t.true((high?.risk_score ?? 0) > (low?.risk_score ?? 0));
});

test('late on a running day the model speaks with the hours that are left, and where they are too few others do', (t) => {
  const now_ms = START + 20 * MS_PER_HOUR;
  const left = [20, 21, 22, 23].map((hour) => modelRow(hour, 0.3, 'simulated'));
  const quiet = layer({ label: null, probability_pct: null, geometry: null });
  const [day] = rowsAt('9y6e', left, { now_ms, spc: [quiet] });
  t.true((day?.hrrr_pct ?? 0) >= 30);
  t.true((day?.hail_probability_pct ?? 0) > 4);
  t.is(rowsAt('9y6e', left.slice(3), { now_ms, spc: [quiet] })[0]?.hrrr_pct, null);
});

test('hours are bounded by a day of SPC or of the climatology alone, and by none where no day is known', (t) => {
  const first = [0, 1, 2].map((hour) => modelRow(hour, 0.3, 'simulated'));
  const quiet = layer({ label: null, probability_pct: null, geometry: null });
  t.is(publishedAt(first, { spc: [quiet] })[0]?.hail_probability, 0.01);
  const [day] = rowsAt('9y6e', first, { climatology: CLIMATOLOGY });
  t.is(day?.primary_source, 'climatology');
  t.is(publishedAt(first, { climatology: CLIMATOLOGY })[0]?.hail_probability, asProbability(day?.climo_pct));
  t.is(publishedAt(first)[0]?.hail_probability, 0.3);
  const monterrey = geohash(25.7, -100.3, 4);
  const there = [0, 1, 2].map((hour) => modelRow(hour, 0.3, 'simulated', monterrey));
  t.is(publishedAt(there, { spc: [quiet] }, monterrey)[0]?.hail_probability, 0.3);
});

test('an hour that is not known stays so, and hours outside the seven days are left alone', (t) => {
  const rows = [modelRow(0, null), modelRow(-3, 0.12345), modelRow(24 * 7, 0.5)];
  const likely = layer({ label: '0.60', probability_pct: 60 });
  t.deepEqual(
    publishedAt(rows, { spc: [likely] }).map(({ hail_probability }) => hail_probability),
    [0.123, null, 0.5],
  );
});

test('a cell has seven days with their components, the first with its hours', (t) => {
  const rows = rowsAt('9y6e', DAY_OF_HOURS, { spc: [layer({})], climatology: CLIMATOLOGY });
  t.deepEqual(
    rows.map((row) => row.day),
    [1, 2, 3, 4, 5, 6, 7],
  );
  t.deepEqual(
    rows.map((row) => row.forecast_date),
    ['01', '02', '03', '04', '05', '06', '07'].map((d) => `2026-05-${d}`),
  );
  const [first, second] = rows;
  t.deepEqual([first?.spc_pct, first?.hrrr_pct], [15, 40]);
  t.deepEqual([second?.spc_pct, second?.hrrr_pct, second?.hourly_pct], [null, null, null]);
  const hours = (first?.hourly_pct ?? '').split(' ').map(Number);
  t.is(hours.length, 24);
  const none = hours.reduce((product, hour) => product * (1 - hour / 100), 1);
  t.true(Math.abs(100 * (1 - none) - (first?.hail_probability_pct ?? 0)) < 0.01);
  t.is(hours.indexOf(Math.max(...hours)), 10);
  for (const row of rows) t.notThrows(() => Outlook.parse(row));
});

test('on days 4 to 7 a place outside all areas has the climatology, and no part of the outlook', (t) => {
  const empty = { label: null, probability_pct: null, geometry: null, hazard: 'any_severe' } as const;
  const spc = [4, 5, 6, 7].map((d) => layer({ ...empty, day: d, forecast_date: `2026-05-0${d}` }));
  const rows = rowsAt('9y6e', [], { spc, climatology: CLIMATOLOGY }).slice(3);
  t.is(rows.length, 4);
  for (const row of rows)
    t.like(row, {
      spc_pct: null,
      hail_probability_pct: row.climo_pct,
      primary_source: 'climatology',
      confidence_score: 0.2,
      confidence_state: 'low',
    });
});

test('a row tells who made what it is blended from, and nobody else', (t) => {
  const [first, second] = rowsAt('9y6e', DAY_OF_HOURS, { spc: [layer({})], climatology: CLIMATOLOGY });
  t.is(first?.data_source, 'mixed');
  t.is(second?.data_source, 'observed');
  const simulated = { ...CLIMATOLOGY, provenance: 'simulated' } as const;
  t.is(rowsAt('9y6e', DAY_OF_HOURS, { climatology: simulated })[0]?.data_source, 'simulated');
});

test('without any source there are no rows, and a day that only the model would speak for has none either', (t) => {
  t.deepEqual(rowsAt('9y6e', []), []);
  t.deepEqual(
    rowsAt('9y6e', DAY_OF_HOURS).map((row) => row.day),
    [1],
  );
});

test('where convective outlooks are not made for, their silence says nothing', (t) => {
  const empty = layer({ label: null, probability_pct: null, geometry: null });
  const monterrey = geohash(25.7, -100.3, 4);
  t.deepEqual(rowsAt(monterrey, [], { spc: [empty] }), []);
  t.is(rowsAt('9y6e', [], { spc: [empty] })[0]?.spc_pct, 1);
});

test('day 1 is the day that began at the last 12 UTC', (t) => {
  t.is(firstOutlookDate(Date.parse('2026-05-01T11:59:59Z')), '2026-04-30');
  t.is(firstOutlookDate(Date.parse('2026-05-01T12:00:00Z')), '2026-05-01');
});

const DAY = 24;
const HOUR = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 0.02, noNaN: true }));
const WHOLE = fc.array(HOUR, { minLength: DAY, maxLength: DAY });
const PARTIAL = fc.array(fc.option(HOUR, { nil: null }), { minLength: DAY, maxLength: DAY });
/** A day as it is published: a percent with one decimal. */
const PERCENT = fc.integer({ min: 0, max: 1000 }).map((tenths) => tenths / 10);

const rounded = (hours: DayHours) => hours.map((p) => (p === null ? null : Math.round(1000 * p) / 1000));
const hoursOf = (first: readonly (number | null)[], rest: number | null = 0.01) =>
  Array.from({ length: DAY }, (_, k) => first[k] ?? rest);
const holds = <Values>(property: fc.IProperty<Values>) => fc.assert(property, { numRuns: 1000 });

test('no hour is likelier than its day, and no whole day likelier than its hours together, after the shift', (t) => {
  t.notThrows(() =>
    holds(
      fc.property(PERCENT, fc.oneof(WHOLE, PARTIAL), (pct, hours) => {
        const shifted = coherentHours(pct / 100, hours);
        const told = shifted.filter((p) => p !== null);
        const none = told.reduce((product, p) => product * (1 - p), 1);
        return told.every((p) => p <= pct / 100 + 1e-9) && (told.length < DAY || 100 * (1 - none) >= pct - 1e-6);
      }),
    ),
  );
});

test('hours that agree with their day stay as the model has them, with three decimals', (t) => {
  t.notThrows(() =>
    holds(
      fc.property(PERCENT, PARTIAL, (pct, hours) => {
        const own = rounded(hours);
        if (contradiction(pct / 100, own) !== null) return true;
        return coherentHours(pct / 100, hours).every((p, k) => p === own[k]);
      }),
    ),
  );
});

test('the shift keeps the order of the hours, and what is not known stays unknown', (t) => {
  t.notThrows(() =>
    holds(
      fc.property(PERCENT, PARTIAL, (pct, hours) => {
        const shifted = coherentHours(pct / 100, hours);
        return hours.every((p, k) => {
          const s = shifted[k] ?? null;
          if (p === null || s === null) return p === null && s === null;
          return hours.every((other, j) => other === null || other > p || (shifted[j] ?? 0) <= s);
        });
      }),
    ),
  );
});

test('two hours that differ in the last bit of a floating-point number keep their order', (t) => {
  const hours = hoursOf([0.01999999999999996, 0.019999999999999962], 0);
  const shifted = coherentHours(0.991, hours);
  t.true((shifted[0] ?? 1) <= (shifted[1] ?? 0), `${shifted[0]} and ${shifted[1]}`);
});

test('hours are shifted no further than it takes: the likeliest hour comes to the day itself', (t) => {
  const shifted = coherentHours(0.171, hoursOf([0.05, 0.312, 0.2]));
  t.is(shifted[1], 0.171);
  // Log-odds of 31.2 % fall by .788 to those of 17.1 %; 20 % with them.
  t.is(shifted[2], 0.102);
});

test('hours that are together less likely than their day are lifted until they reach it', (t) => {
  const shifted = coherentHours(0.3, hoursOf([0.05]));
  const together = 1 - shifted.reduce((none: number, p) => none * (1 - (p ?? 0)), 1);
  t.true(together >= 0.3 && together < 0.32, `${together}`);
  t.true((shifted[0] ?? 0) > 0.05 && (shifted[1] ?? 0) > 0.01);
});

test('hours of which the model has nothing are lifted, too, when experts expect a day with hail', (t) => {
  const shifted = coherentHours(0.01, hoursOf([], 0));
  t.is(contradiction(0.01, shifted), null);
  t.is(new Set(shifted).size, 1);
});

test('a day of which not all hours are known bounds its hours from above alone: the hail may come in the others', (t) => {
  const some = hoursOf([0.05, 0.02], null);
  t.deepEqual(coherentHours(0.6, some), some);
  t.is(coherentHours(0.01, some)[0], 0.01);
  t.deepEqual(coherentHours(0.6, hoursOf([], null)), hoursOf([], null));
});

test('a contradiction is an hour above its day, or a day above its hours together', (t) => {
  t.is(contradiction(0.171, hoursOf([0.05, 0.312])), 'hour_above_day');
  t.is(contradiction(0.9, hoursOf([])), 'day_above_hours');
  t.is(contradiction(0.1, hoursOf([0.1])), null);
});

test('a day that is dealt out over its hours gives none more than the forecast says, nor more than the day', (t) => {
  t.notThrows(() =>
    holds(
      fc.property(
        PERCENT,
        fc.double({ min: -125, max: -66, noNaN: true }),
        fc.oneof(WHOLE, PARTIAL),
        (pct, lon, hours) => {
          const shifted = coherentHours(pct / 100, hours);
          const strip = hourlyDisaggregation(pct, lon, shifted).map((p) => Math.round(1e4 * p) / 1e4);
          return strip.every((p, k) => p <= pct + 1e-9 && p <= 100 * (shifted[k] ?? 1) + 1e-9);
        },
      ),
    ),
  );
});

test('the likeliest hour of a whole day is the same in the forecast and in the day that is dealt out', (t) => {
  const shifted = coherentHours(0.2, hoursOf([0.01, 0.02, 0.05, 0.3, 0.25]));
  const strip = hourlyDisaggregation(20, -97.5, shifted);
  t.is(strip.indexOf(Math.max(...strip)), 3);
});
