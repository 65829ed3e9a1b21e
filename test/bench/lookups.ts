import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getHailForecast } from '../../api/routes/hail-forecast.ts';
import { getHailOutlook } from '../../api/routes/hail-outlook.ts';
import { CONUS_CELLS } from '../../schemas/geo/geohash4.ts';
import { CONUS, type Position } from '../../schemas/geo/position.ts';
import { forecastRows, outlookRows, publishForecast, publishOutlook } from '../support/data/model-rows.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { pointsOf } from './peers.ts';

const NOW_MS = Date.parse('2026-05-01T20:12:00Z');
const FORECAST_HOURS = 48;
const POINTS = 200;
/** Questions that nobody counts, until the code of a route is compiled. */
const WARM_UP = 100;
const GOAL_MS = 30;

/** Questions about points that were never asked before, over a forecast and an outlook of every cell of CONUS. */
export async function lookups(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'hail-bench-lookups-'));
  try {
    await publishAll(root);
    const service = await startService({
      endpoints: [getHailForecast, getHailOutlook],
      data_root: root,
      now_ms: NOW_MS,
      app: { check_replies: false },
    });
    try {
      console.log(`lookups: ${CONUS_CELLS.length} cells, ${FORECAST_HOURS} hours`);
      await measure(service, 'forecast', '/v1/hail/forecast?hours=48');
      await measure(service, 'outlook', '/v1/hail/outlook?radius_km=50');
      await measure(service, 'outlook, 200 km', '/v1/hail/outlook?radius_km=200');
    } finally {
      await service.close();
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function publishAll(root: string): Promise<void> {
  await publishHours(root, '2026-05-01T18:00:00Z');
  const days = CONUS_CELLS.flatMap(({ geohash4 }) => outlookRows({ geohash4 }, '2026-05-01'));
  await publishOutlook(root, days, NOW_MS);
}

async function publishHours(root: string, run: string): Promise<void> {
  const hours = CONUS_CELLS.flatMap(({ geohash4 }, k) =>
    forecastRows({ geohash4, hail_probability: (k % 1000) / 2000 }, run, FORECAST_HOURS),
  );
  await publishForecast(root, hours, NOW_MS);
}

/** Time of the first question, which reads the files, and of questions at new points after it; charges included. */
async function measure(service: RunningService, what: string, path: string): Promise<void> {
  const ask = async ({ lat, lon }: Position) => {
    const started = performance.now();
    const reply = await service.call(`${path}&lat=${lat}&lon=${lon}`);
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${path} answers ${reply.status} ${text}`, { cause: service.failures[0] });
    return performance.now() - started;
  };
  const [first, ...others] = pointsOf(CONUS, 1 + WARM_UP + POINTS);
  const loading_ms = await ask(first as Position);
  for (const point of others.splice(0, WARM_UP)) await ask(point);
  const times: number[] = [];
  for (const point of others) times.push(await ask(point));
  times.sort((a, b) => a - b);
  const [median_ms, p90_ms] = [0.5, 0.9].map((share) => times[Math.floor(share * (times.length - 1))] as number);
  console.log(
    `  ${what}: median ${median_ms?.toFixed(2)} ms, p90 ${p90_ms?.toFixed(2)} ms at a new point (goal: under ${GOAL_MS} ms); the first, which reads it, ${loading_ms.toFixed(0)} ms`,
  );
}
