import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHailSwaths } from '../../api/routes/hail-swaths.ts';
import { openRoot } from '../../pipeline/publish/root.ts';
import { publishDays, REAL_DATE, realDay } from '../support/data/published-days.ts';
import { hasSharedData } from '../support/data/shared-folder.ts';
import { type RunningService, startService } from '../support/service/service.ts';
import { publishClimate } from './publish-climate.ts';

/** The largest day of the simulated climate with this seed. */
const OUTBREAK = { seed: 1, density: 1, first_date: '2026-05-21', dates: 1, storm_day_start_hour: 0 };
const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const COLD_RUNS = 9;
const WARM_RUNS = 50;

/**
 * Swaths of whole CONUS at 500 m over HTTP, with key and metering: the first question of a process, new questions (another
 * simplification each), the same question again. Goals: under 300 ms new, under 30 ms again, no stall above 50 ms.
 */
export async function swaths(_args: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-swaths-'));
  try {
    const dates = await publish(folder);
    const service = await startService({
      endpoints: [getHailSwaths],
      data_root: folder,
      now_ms: NOW_MS,
      app: { check_replies: 'sample' },
    });
    try {
      for (const [name, date] of dates) await measure(service, name, date);
    } finally {
      await service.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function publish(folder: string): Promise<readonly (readonly [string, string])[]> {
  if (hasSharedData) await publishDays(folder, [realDay()], 'observed', NOW_MS);
  else console.log('swaths: the real day needs ../shared/data, which is absent');
  const root = await openRoot(folder, 'bench', 0, NOW_MS);
  try {
    for await (const _ of publishClimate(root, OUTBREAK, NOW_MS));
  } finally {
    await root.close();
  }
  return [
    ...(hasSharedData ? [['real 24 h maximum', REAL_DATE] as const] : []),
    ['simulated outbreak', OUTBREAK.first_date],
  ];
}

async function measure(service: RunningService, name: string, date: string): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 2 });
  delay.enable();
  const first = await ask(service, date, 499);
  const fresh = [];
  for (let run = 0; run < COLD_RUNS; run++) fresh.push(await ask(service, date, 500 + run));
  const again = [];
  for (let run = 0; run < WARM_RUNS; run++) again.push(await ask(service, date, 500));
  delay.disable();
  const ms = (values: readonly { ms: number }[]) => median(values.map((value) => value.ms)).toFixed(1);
  console.log(
    `swaths, ${name}: first ${first.ms.toFixed(0)} ms, new ${ms(fresh)} ms, again ${ms(again)} ms (medians), ` +
      `${first.bytes} bytes, longest stall ${(delay.max / 1e6).toFixed(0)} ms`,
  );
}

async function ask(service: RunningService, date: string, simplify_m: number): Promise<{ ms: number; bytes: number }> {
  const started = performance.now();
  const response = await service.call(`/v1/hail/swaths?date=${date}&simplify_m=${simplify_m}`);
  const { byteLength } = await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`swaths of ${date} answers ${response.status}`);
  return { ms: performance.now() - started, bytes: byteLength };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
