import { listEvents } from '../../api/routes/events.ts';
import { type EventDay, Events } from '../../schemas/resources/event-day.ts';
import { publishDays, REAL_DATE, REAL_NOW_MS, realDay } from '../support/data/published-days.ts';
import { sharedTest } from '../support/data/shared-data.ts';
import { scratch } from '../support/data/world.ts';
import { startService } from '../support/service/service.ts';

sharedTest('GET /v1/events of the real day has the hulls measured independently', async (t) => {
  const data_root = await scratch(t);
  await publishDays(data_root, [realDay()], 'observed', REAL_NOW_MS);
  const service = await startService({ endpoints: [listEvents], data_root, now_ms: REAL_NOW_MS });
  t.teardown(service.close);
  const ask = async (query: string) => Events.parse(await service.json(`/v1/events?${query}`));
  const day = `date_start=${REAL_DATE}&date_end=${REAL_DATE}`;
  const [whole] = (await ask(day)).events as [EventDay];
  t.like(whole, { max_size_mm: 82.8, affected_area_km2: 2_850_762.7 });
  const [illinois] = (await ask(`${day}&bbox=-91.52,36.97,-87.01,42.51`)).events as [EventDay];
  t.like(illinois, { max_size_mm: 50.1, n_detections: 2235, affected_area_km2: 98_399.8 });
  const [michigan] = (await ask(`${day}&bbox=-90.42,41.69,-82.12,48.31`)).events as [EventDay];
  t.like(michigan, { max_size_mm: 44.1, n_detections: 1254, affected_area_km2: 99_828 });
  const [ohio] = (await ask(`${day}&bbox=-84.83,38.4,-80.51,41.98`)).events as [EventDay];
  t.like(ohio, { max_size_mm: 31.9, n_detections: 2 });
  t.true(ohio.affected_area_km2 >= 1.9 && ohio.affected_area_km2 < 3.9, 'two pixels that touch at a corner');
  t.deepEqual(service.failures, []);
});
