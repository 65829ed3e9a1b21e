import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Records, recordsOver } from '../../api/metering/records.ts';
import { type DatabaseLocation, openDatabase } from '../../api/store/database.ts';
import type { Queue } from '../../api/store/tasks/queue.ts';
import { openQueue } from '../../api/store/tasks/work.ts';

const TASKS = 3_000;
const PER_SECOND = 100;
const GROUPS = 60;
const STUCK = 50;
const NAME = 'push';

/** 3,000 tasks at once, then 100 a second while 50 of 60 groups are stuck: rates, and how late a task of the others begins. */
export async function queue(): Promise<void> {
  await onSqlite();
  const url = process.env.HAIL_TEST_DATABASE_URL;
  if (url === undefined) console.log('queue on PostgreSQL: needs HAIL_TEST_DATABASE_URL, which is not set');
  else await onPostgres(url);
}

async function onSqlite(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'hail-bench-queue-'));
  try {
    await measure('SQLite', { path: join(folder, 'hail.sqlite') });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function onPostgres(database_url: string): Promise<void> {
  const schema = `hail_bench_${randomUUID().slice(0, 8)}`;
  const client = new pg.Client(database_url);
  await client.connect();
  await client.query(`create schema ${schema}`);
  const url = new URL(database_url);
  url.searchParams.set('options', `-c search_path=${schema}`);
  try {
    await measure('PostgreSQL', url);
  } finally {
    await client.query(`drop schema ${schema} cascade`);
    await client.end();
  }
}

async function measure(title: string, place: { path: string } | URL): Promise<void> {
  const location: DatabaseLocation = place instanceof URL ? { url: place.href } : place;
  const records = await recordsOver(openDatabase(location), { now: Date.now });
  const reports = { failed: console.error, troubled: console.error };
  const queue = await openQueue(records.store, reports);
  try {
    console.log(`queue on ${title}: ${await atOnce(records, queue)}; ${await besideStuck(records, queue)}`);
  } finally {
    await queue.close();
    await records.close();
  }
}

const SETTINGS = { at_once: 256, at_once_of_group: 4, lease_ms: 60_000 };

async function atOnce(records: Records, queue: Queue): Promise<string> {
  const started_ms = performance.now();
  const tasks = Array.from({ length: TASKS }, (_, k) => ({ name: NAME, group: `group ${k % GROUPS}`, payload: { k } }));
  await records.transaction((rows) => queue.add(rows, ...tasks));
  const added_ms = performance.now();
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  let runs = 0;
  const stop = queue.work(NAME, SETTINGS, async () => {
    if (++runs === TASKS) finish();
  });
  await finished;
  await stop();
  const rate = (from_ms: number, until_ms: number) => Math.round((TASKS / (until_ms - from_ms)) * 1000);
  return `added ${rate(started_ms, added_ms)}/s in one transaction, run ${rate(added_ms, performance.now())}/s`;
}

async function besideStuck(records: Records, queue: Queue): Promise<string> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const late_ms: number[] = [];
  const stop = queue.work(NAME, SETTINGS, async ({ group, payload }) => {
    if (group.startsWith('stuck')) await released;
    else late_ms.push(Date.now() - Number(payload));
  });
  for (let k = 0; k < TASKS / 5; k++) {
    const group = k % GROUPS < STUCK ? `stuck ${k % GROUPS}` : `well ${k % GROUPS}`;
    await records.transaction((rows) => queue.add(rows, { name: NAME, group, payload: Date.now() }));
    queue.wake(NAME);
    await sleep(1_000 / PER_SECOND);
  }
  await sleep(1_000);
  release();
  await stop();
  const sorted = late_ms.toSorted((a, b) => a - b);
  const quantile = (q: number) => sorted[Math.floor(q * (sorted.length - 1))];
  return `beside ${STUCK} stuck groups a task begins ${quantile(0.5)} ms (p50), ${quantile(0.99)} ms (p99) after it is added`;
}
