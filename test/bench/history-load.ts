import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openCatalog } from '../../api/published/catalog.ts';
import { CONNECTIONS, load, startServers } from './load.ts';

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../pipeline/start.js', import.meta.url));

const DAYS = 30;
const RADIUS_KM = 25;
const WARM_UP_S = 2;
const MEASURED_S = 6;
const GOAL_PER_SECOND = 500;

/**
 * GET /v1/hail/history of 30 days at a point that was never asked before, as many a second as one process answers on two cores
 * with the load beside it over the evening that `make ingest` publishes.
 */
export async function historyLoad(): Promise<void> {
  const root = await defaultEvening();
  try {
    const { ours, stop } = await startServers(
      root,
      await newestScan(root),
      `/v1/hail/history?lat=35.2&lon=-97.1&radius_km=${RADIUS_KM}&days=${DAYS}`,
    );
    try {
      const question = { tag: null, varied: true };
      await load(ours, WARM_UP_S, question);
      const { per_second, p99_ms, cpu_us_each, longest_stall_ms } = await load(ours, MEASURED_S, question);
      console.log(
        `history-load: ${DAYS} days, ${RADIUS_KM} km, a new point each time, ${CONNECTIONS} connections, the evening of make ingest\n` +
          `  ${Math.round(per_second)}/s (goal ${GOAL_PER_SECOND}), p99 ${p99_ms} ms, processor ${cpu_us_each.toFixed(0)} µs each, longest stall ${longest_stall_ms.toFixed(0)} ms`,
      );
    } finally {
      await stop();
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function defaultEvening(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'hail-bench-evening-'));
  await run(process.execPath, [MAIN, 'ingest'], { env: { ...process.env, HAIL_DATA: root } });
  return root;
}

/** Observation time of the newest scan, epoch milliseconds. */
async function newestScan(root: string): Promise<number> {
  const catalog = await openCatalog(root, 0);
  const { newest_scan_ms } = catalog.edition();
  await catalog.close();
  if (newest_scan_ms === null) throw new Error('the evening holds no published date, expected some');
  return newest_scan_ms;
}
