import test, { type ExecutionContext } from 'ava';
import type { CellHour } from '../../pipeline/forecast/model-cells.ts';
import { contradiction } from '../../pipeline/forecast/outlook.ts';
import { publishForecast, publishModelHours } from '../../pipeline/forecast/publish-forecast.ts';
import { silent } from '../../pipeline/log.ts';
import { CONUS_CELLS, type Geohash4Cell } from '../../schemas/geo/geohash4.ts';
import { hoursOver, usualRest } from '../../schemas/outlook-day.ts';
import { HailForecast } from '../../schemas/resources/forecast.ts';
import { HailOutlook, type OutlookDay } from '../../schemas/resources/outlook.ts';
import { MS_PER_HOUR } from '../../schemas/time.ts';
import { climatologyRow, publishClimatologyRows } from '../support/data/climatology.ts';
import { layerFile, publishFeeds, ringOf } from '../support/data/feeds.ts';
import { onRoot, scratch } from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';
import { serviceFor } from '../support/service/service.ts';

/** Two hours of the day that runs are left, then a whole day, then two hours of the third. */
const NOW_MS = Date.parse('2026-05-01T10:00:00Z');
const LEADS = Array.from({ length: 29 }, (_, k) => k + 1);
const DAY_HOURS = 24;

const isNear = ({ lat, lon }: Geohash4Cell) => lat > 33 && lat < 41 && lon > -104 && lon < -94;
/** A cell in every thirtieth place, from quiet ones outside all areas to those with the strongest storms. */
const ASKED = CONUS_CELLS.filter(isNear).filter((_, k) => k % 30 === 0);

/** Storms that come and go in an hour of the model, the same in every run of the test. */
function stormyHour(lead_h: number): CellHour {
  const field = (value: (cell: Geohash4Cell) => number) => Float32Array.from(CONUS_CELLS, value);
  return {
    run_time: NOW_MS - MS_PER_HOUR,
    valid_time: NOW_MS - MS_PER_HOUR + lead_h * MS_PER_HOUR,
    simulated: false,
    covered: Uint8Array.from(CONUS_CELLS, (cell) => (isNear(cell) ? 1 : 0)),
    largest: {
      reflectivity_dbz: field(({ lat, lon }) => 38 + 26 * Math.sin(lat * 2 + lead_h / 3) * Math.cos(lon - lead_h / 5)),
      updraft_helicity_m2_s2: null,
      hail_mm: null,
      cape_j_kg: field(() => 2000),
      ship: field(({ lat }) => (lat - 33) / 3),
    },
  };
}

const layerOf = (day: number, issue: string, valid: string, expire: string, label: string, received_ms: number) =>
  layerFile({ day, word: 'hail', issue, valid, expire, areas: [[label, ringOf([-101, 34, -97, 39])]], received_ms });

/** Publishes layers of outlooks, all of which have to be accepted. */
async function take(path: string, layers: readonly ReturnType<typeof layerOf>[]): Promise<void> {
  const { files } = await publishFeeds(path, layers, NOW_MS);
  const refused = files.filter((file) => file.refused !== null);
  if (refused.length > 0) throw new Error(`refused ${JSON.stringify(refused)}`);
}

async function publishedRoot(t: ExecutionContext): Promise<string> {
  const path = await scratch(t);
  const rows = CONUS_CELLS.filter(isNear).map(({ geohash4, lat, lon }) => climatologyRow({ geohash4, lat, lon }));
  await publishClimatologyRows(path, rows);
  const layers = [
    layerOf(1, '202605010100', '202605010100', '202605011200', '0.15', NOW_MS),
    layerOf(2, '202604301730', '202605011200', '202605021200', '0.30', NOW_MS),
  ];
  await take(path, layers);
  await onRoot(path, {}, ({ root }) => publishModelHours(root, 'hrrr', LEADS.map(stormyHour), NOW_MS, silent));
  return path;
}

/** Hours of the forecast that lie in a day of the outlook, in their places from 12 UTC on. */
function hoursIn({ forecast_date }: OutlookDay, { hourly }: HailForecast): (number | null)[] {
  const start = Date.parse(`${forecast_date}T12:00:00Z`);
  const strip = new Array<number | null>(DAY_HOURS).fill(null);
  for (const { valid_time, hail_probability } of hourly) {
    const hour = (Date.parse(valid_time) - start) / MS_PER_HOUR - 1;
    if (hour >= 0 && hour < DAY_HOURS) strip[hour] = hail_probability;
  }
  return strip;
}

/** What the answers of a root say at every cell, and where hours and days contradict each other. */
async function answersOf(t: ExecutionContext, data_root: string) {
  const service = await serviceFor(t, { data_root, now_ms: NOW_MS });
  const ask = async (path: string, { lat, lon }: Geohash4Cell) => {
    const response = await service.call(`${path}?lat=${lat}&lon=${lon}${path.endsWith('forecast') ? '&hours=48' : ''}`);
    return response.json();
  };
  const faults: string[] = [];
  const told = { days: 0, whole: 0, at_the_day: 0 };
  for (const cell of ASKED) {
    const forecast = HailForecast.parse(await ask('/v1/hail/forecast', cell));
    const { cell: found, outlook } = HailOutlook.parse(await ask('/v1/hail/outlook', cell));
    t.is(found?.geohash4, forecast.location.geohash4);
    for (const day of outlook) {
      const hours = hoursIn(day, forecast);
      const over = hoursOver(day.forecast_date, NOW_MS);
      const probability = day.hail_probability / 100;
      const fault = contradiction(probability, usualRest(probability, cell.lon, over), hours.slice(over));
      if (fault !== null) faults.push(`${cell.geohash4} day ${day.day}: ${JSON.stringify(fault)}`);
      for (const [hour, pct] of (day.hourly ?? []).entries())
        if (pct !== null && (pct > day.hail_probability || pct > 100 * (hours[hour] ?? 1) + 1e-9))
          faults.push(`${cell.geohash4}: ${pct} % is dealt out to hour ${hour}`);
      if (hours.some((p) => p !== null)) told.days++;
      if (hours.every((p) => p !== null)) told.whole++;
      if (hours.includes(day.hail_probability / 100)) told.at_the_day++;
    }
  }
  return { faults, told };
}

test('no hour of an answer is likelier than its day, nor a whole day likelier than its hours together, at any cell', async (t) => {
  const path = await publishedRoot(t);
  const { faults, told } = await answersOf(t, path);
  t.deepEqual(faults, []);
  t.is(told.days, 3 * ASKED.length);
  t.is(told.whole, ASKED.length);
  t.true(told.at_the_day > ASKED.length / 4, `${told.at_the_day} days have an hour as likely as they are`);
  t.deepEqual(await faultsOf(path), []);
});

test('hours follow their day when experts change their mind, without a new run of the model', async (t) => {
  const path = await publishedRoot(t);
  const later = layerOf(1, '202605010600', '202605011200', '202605021200', '0.05', NOW_MS);
  await take(path, [later]);
  t.deepEqual(await onRoot(path, {}, ({ root }) => publishForecast(root, NOW_MS, silent)), ['forecast', 'outlook']);
  t.deepEqual((await answersOf(t, path)).faults, []);
  t.deepEqual(await faultsOf(path), []);
  t.deepEqual(await onRoot(path, {}, ({ root }) => publishForecast(root, NOW_MS, silent)), []);
});
