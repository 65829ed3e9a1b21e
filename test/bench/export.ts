import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { openCatalog } from '../../api/catalog.ts';
import { UsageError } from '../../pipeline/error.ts';
import { openRoot } from '../../pipeline/publish/root.ts';
import { EXPORT_DAYS_MAX } from '../../schemas/resources/export-job.ts';
import { addDays, stormDateStart } from '../../schemas/time.ts';
import type { Exported, Listening } from './export-service.ts';
import { publishClimate } from './publish-climate.ts';

const run = promisify(execFile);
const CANNON = fileURLToPath(new URL('./cannon.mjs', import.meta.url));
const SERVICE = fileURLToPath(new URL('./export-service.ts', import.meta.url));
/** Some 400,000 detections. */
const CLIMATE = { seed: 7, density: 1, first_date: '2025-05-20', dates: 12, storm_day_start_hour: 0 };
const CLIMATE_NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const GOALS_MS: Readonly<Record<string, number>> = { csv: 1000, geojson: 2000, parquet: 1000 };
const AT_ONCE = 10;
const QUESTIONS = '/v1/hail/current?lat=35.2&lon=-97.1&radius_km=20';
const QUESTIONS_PER_SECOND = 100;
const GOAL_P99_MS = 100;

/**
 * Exports of 250,000 detections in each format: time, processor time, largest memory of the service; then ten at once, and
 * how long hail/current takes beside them. `--data DIR` takes a published root instead of twelve days of simulated climate.
 */
export async function exports(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { data: { type: 'string' } } });
  const root = values.data ?? (await climate());
  const catalog = await openCatalog(root, 0);
  const last = catalog.edition().dates.at(-1);
  await catalog.close();
  if (last === undefined) throw new UsageError('--data holds no published date, expected a root with detections');
  const now_ms = stormDateStart(addDays(last, 1), 0) - 1;
  const child = fork(SERVICE, [root, String(now_ms), addDays(last, 1 - EXPORT_DAYS_MAX), last]);
  try {
    const [listening] = (await once(child, 'message')) as [Listening];
    const idle = await p99(listening, 3);
    for (const turn of ['first', 'again']) tell(turn, await round(child, null));
    const [made, beside] = await Promise.all([round(child, AT_ONCE), p99(listening, AT_ONCE)]);
    const slowest = Math.max(...made.map(({ ms }) => ms));
    console.log(
      `  ${AT_ONCE} at once: the last after ${slowest.toFixed(0)} ms, ${peak(made)} MB at most; hail/current beside them p99 ${beside} ms (goal < ${GOAL_P99_MS}), without them ${idle} ms`,
    );
  } finally {
    child.send('stop');
    await once(child, 'exit');
    if (values.data === undefined) await rm(root, { recursive: true, force: true });
  }
}

async function climate(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-export-'));
  const root = await openRoot(folder, 'bench', 0, CLIMATE_NOW_MS);
  for await (const _ of publishClimate(root, CLIMATE, CLIMATE_NOW_MS));
  await root.close();
  return folder;
}

async function round(child: ChildProcess, at_once: number | null): Promise<readonly Exported[]> {
  child.send({ at_once });
  const [made] = (await once(child, 'message')) as [readonly Exported[]];
  return made;
}

function tell(turn: string, made: readonly Exported[]): void {
  const each = made.map(
    ({ format, ms, cpu_ms }) =>
      `${format} ${ms.toFixed(0)} ms, processor ${cpu_ms.toFixed(0)} ms (goal < ${GOALS_MS[format]})`,
  );
  console.log(`export, ${turn}: ${made[0]?.rows} rows: ${each.join('; ')}; ${peak(made)} MB at most`);
}

function peak(made: readonly Exported[]): string {
  return Math.max(...made.map(({ peak_mb }) => peak_mb)).toFixed(0);
}

/** 99th percentile of answers at a modest rate, ms. */
async function p99({ url, key }: Listening, seconds: number): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const shot = {
    url: `${url}${QUESTIONS}`,
    connections: 8,
    seconds,
    headers,
    per_second: QUESTIONS_PER_SECOND,
    varied: true,
  };
  const { stdout } = await run(process.execPath, [CANNON, JSON.stringify(shot)], { maxBuffer: 50_000_000 });
  const { latency, non2xx, errors } = JSON.parse(stdout) as {
    latency: { p99: number };
    non2xx: number;
    errors: number;
  };
  if (non2xx + errors > 0) throw new Error(`hail/current failed ${non2xx + errors} times beside exports`);
  return latency.p99;
}
