import { readFile, rm } from 'node:fs/promises';
import { Command } from 'commander';
import { findBusiness } from '../../api/accounts/businesses.ts';
import { createKey } from '../../api/accounts/keys.ts';
import { openCatalog } from '../../api/catalog.ts';
import { openRecords } from '../../api/metering/records.ts';
import { UsageError } from '../../pipeline/error.ts';
import { addDays, stormDateStart } from '../../schemas/time.ts';
import { startServe } from '../support/service/serve-child.ts';
import { simulatedSeason } from './season.ts';

const STARTS = 3;
const QUESTIONS = 100;
const GOALS = { ready_ms: 2000, resident_mb: 500 };
const DEEP_POCKETS = 1_000_000;

/** How soon `hail-api serve` answers on a data root, and how much memory it holds before and after a mix of large questions. */
export async function serve(args: string[]): Promise<void> {
  const { data } = options(args);
  const root = data ?? (await simulatedSeason());
  try {
    const catalog = await openCatalog(root, 0);
    const { dates } = catalog.edition();
    await catalog.close();
    const last = dates.at(-1);
    if (last === undefined) throw new UsageError('--data holds no published date, expected a compacted climate root');
    const now_ms = stormDateStart(addDays(last, 1), 0) - 1;
    console.log(
      `serve: ${dates.length} storm dates${data === undefined ? ' (a simulated season; give --data for a year)' : ` of ${root}`}`,
    );
    await readiness(root, now_ms);
    await residence(root, now_ms, dates);
  } finally {
    if (data === undefined) await rm(root, { recursive: true, force: true });
  }
}

function options(args: string[]): { data?: string } {
  const command = new Command('serve').option(
    '--data <folder>',
    'data root with a year (npm run bench -- climate --out … --years 1); its records get a key of the bench',
  );
  return command.parse(args, { from: 'user' }).opts();
}

async function readiness(root: string, now_ms: number): Promise<void> {
  const times: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    const started = performance.now();
    const server = await startServe(root, now_ms, 'warn');
    const ready = await fetch(`${server.url}/readyz`);
    times.push(performance.now() - started);
    if (!ready.ok) throw new Error(`/readyz answers ${ready.status}, expected 200`);
    await server.end('SIGTERM');
  }
  const shown = times.map((ms) => ms.toFixed(0)).join(', ');
  console.log(`  ready after ${shown} ms (goal: under ${GOALS.ready_ms} ms)`);
}

async function residence(root: string, now_ms: number, dates: readonly string[]): Promise<void> {
  const key = await newKey(root, now_ms);
  const server = await startServe(root, now_ms, 'warn');
  try {
    const idle = await residentMb(server.child.pid as number);
    for (const [index, path] of questions(dates).entries()) {
      const reply = await fetch(`${server.url}${path}`, { headers: { Authorization: `Bearer ${key}` } });
      await reply.arrayBuffer();
      if (!reply.ok) throw new Error(`${index}: ${path} answers ${reply.status}, expected 200`);
    }
    const busy = await residentMb(server.child.pid as number);
    console.log(
      `  ${idle} MB resident when ready, ${busy} MB after a mix of large questions (goal: under ${GOALS.resident_mb} MB)`,
    );
  } finally {
    await server.end('SIGTERM');
  }
}

/** A live key of a plan that allows the load. */
async function newKey(data_root: string, now_ms: number): Promise<string> {
  const now = () => now_ms;
  const records = await openRecords({ data_root, database_url: null, now });
  try {
    await records.reader.updateTable('plans').set({ rate_per_minute: DEEP_POCKETS }).execute();
    const business = await findBusiness(records.reader, 'default');
    if (business === null) throw new Error('the first start made no business');
    const key = { business_id: business.id, kind: 'live', name: 'bench', scopes: ['*'], expires_at: null } as const;
    return (await records.transaction((rows) => createKey(rows, key, now_ms))).text;
  } finally {
    await records.close();
  }
}

/** Histories of a year at new places, days of swaths and the events of the year, large and small. */
function questions(dates: readonly string[]): string[] {
  const [first, last] = [dates.at(-365) ?? dates[0], dates.at(-1)];
  return Array.from({ length: QUESTIONS }, (_, index) => {
    const lat = (28 + 18 * (((index + 1) * 0.7548776662) % 1)).toFixed(3);
    const lon = (-105 + 20 * (((index + 1) * 0.569840291) % 1)).toFixed(3);
    const date = dates[(index * 37) % dates.length];
    const box = [Number(lon) - 2, Number(lat) - 2, Number(lon) + 2, Number(lat) + 2].join(',');
    return [
      `/v1/hail/history?lat=${lat}&lon=${lon}&radius_km=100&days=365&limit=200&detail=advanced`,
      `/v1/hail/swaths?date=${date}`,
      `/v1/events?date_start=${first}&date_end=${last}&bbox=${box}`,
      ...(index % 20 === 0 ? [`/v1/events?date_start=${first}&date_end=${last}`] : []),
      `/v1/hail/current?lat=${lat}&lon=${lon}&radius_km=150`,
      `/v1/tiles/scan?date=${date}`,
    ];
  }).flat();
}

async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
