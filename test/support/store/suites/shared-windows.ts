import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import type { Records } from '../../../../api/billing/records.ts';
import { SLOT_MS, sharedRateWindows } from '../../../../api/billing/shared-rate-windows.ts';
import type { Consumed } from '../../../../api/http/rate-window.ts';
import type { Database } from '../../../../api/records/schema.ts';
import { makeTenant, type Register, type World } from '../world.ts';

const MINUTE_SLOTS = 60_000 / SLOT_MS;

async function consume({ rateWindows }: Records, bucket: string, limit: number): Promise<Consumed> {
  if (rateWindows === null) throw new Error('the records share no windows, expected them on PostgreSQL');
  return await rateWindows.consume(bucket, limit);
}

/** What so many parallel requests of a bucket are told, by turns in each process. */
async function consumeAll(processes: readonly Records[], bucket: string, count: number, limit: number) {
  const asked = Array.from({ length: count }, (_, k) =>
    consume(processes[k % processes.length] as Records, bucket, limit),
  );
  const told = await Promise.all(asked);
  return { admitted: told.filter(({ retry_after_s }) => retry_after_s === null), told };
}

/** Lets time pass for the windows: moves what was counted into the past. A process that found a window full has to be another one. */
async function pass(rows: Kysely<Database>, slots: number): Promise<void> {
  await rows
    .updateTable('rate_windows')
    .set((eb) => ({ slot: eb('slot', '-', slots) }))
    .execute();
}

const remainingOf = ({ headers }: Consumed) => Number(headers['X-RateLimit-Remaining']);

async function three(world: World): Promise<readonly Records[]> {
  return [await world.open(), await world.open(), await world.open()];
}

async function attemptAll(processes: readonly Records[], attempts: readonly (readonly [string, string | null])[]) {
  return await Promise.all(
    attempts.map(async ([address, key], k) => {
      const { failedAttempts } = processes[k % processes.length] as Records;
      if (failedAttempts === null) throw new Error('the records share no lockout, expected one on PostgreSQL');
      return await failedAttempts.attempt(address, key);
    }),
  );
}

/** Rates, failed attempts and requests a day that processes on one PostgreSQL count together. */
export function sharedWindowsSuite(test: Register): void {
  test('whichever of three processes calls go to, together or apart, the day refuses none before its limit and all after it', async (t, world) => {
    const processes = await three(world);
    // The process of each call; the calls of a burst are made together.
    const bursts = fc.array(fc.array(fc.nat(2), { minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 12 });
    let made = 0;
    await fc.assert(
      fc.asyncProperty(bursts, fc.integer({ min: 1, max: 100 }), async (asked, part) => {
        const { caller } = await makeTenant(processes[0] as Records, world, `business ${made++}`);
        const calls = asked.flat().length;
        const limit = Math.max(1, Math.floor((calls * part) / 100));
        let left = limit;
        for (const burst of asked) {
          const told = burst.map((k) => processes[k]?.admitToday(caller.business_id, limit, world.now_ms));
          const admitted = (await Promise.all(told)).filter(Boolean).length;
          t.is(admitted, Math.min(burst.length, left), `${left} of ${limit} were left`);
          left -= admitted;
        }
      }),
      { numRuns: 20 },
    );
  });

  test('of parallel requests in three processes exactly those within the rate are admitted, and each is told another rest', async (t, world) => {
    const processes = await three(world);
    const { admitted, told } = await consumeAll(processes, 'key', 300, 100);
    t.deepEqual(
      admitted.map(remainingOf).sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, k) => k),
    );
    for (const { headers, retry_after_s } of told) {
      t.is(headers['X-RateLimit-Limit'], '100');
      t.is(headers['RateLimit-Policy'], '"key";q=100;w=60');
      if (retry_after_s !== null) t.true(retry_after_s >= 59 && retry_after_s <= 61);
    }
    t.is((await consumeAll(processes, 'another', 300, 7)).admitted.length, 7);
  });

  test('a request counts for a minute, in every process, and then no more', async (t, world) => {
    const processes = await three(world);
    const { reader, store } = processes[0] as Records;
    t.is((await consumeAll(processes, 'key', 60, 60)).admitted.length, 60);
    await pass(store.writer, MINUTE_SLOTS / 2);
    const half = await consume(await world.open(), 'key', 60);
    t.true(half.retry_after_s !== null && half.retry_after_s >= 29 && half.retry_after_s <= 31);
    await pass(store.writer, MINUTE_SLOTS / 2 + 1);
    t.is((await consumeAll(await three(world), 'key', 180, 60)).admitted.length, 60);
    const { counts } = await reader.selectFrom('rate_windows').select('counts').executeTakeFirstOrThrow();
    t.is(
      counts.split(',').reduce((sum, count) => sum + Number(count), 0),
      60,
    );
  });

  test('in no minute are more requests admitted than the rate, whichever processes they go to, and the rate is used up', async (t, world) => {
    const processes = await three(world);
    const { writer } = (processes[0] as Records).store;
    let passed = 0;
    /** Slots of the admitted requests, by a clock that includes what was passed. */
    const admitted: number[] = [];
    for (let step = 0; step < 150; step++) {
      const slots = [0, 1, 7, 31][step % 4] as number;
      await pass(writer, slots);
      passed += slots;
      // New windows, which know of none that is full.
      const windows = processes.map(({ store }) => sharedRateWindows(store, t.fail));
      const asked = Array.from({ length: 1 + (step % 5) }, (_, k) => windows[k % 3]?.consume('key', 10));
      const more = (await Promise.all(asked)).filter((told) => told?.retry_after_s === null);
      const { slot } = await writer.selectFrom('rate_windows').select('slot').executeTakeFirstOrThrow();
      for (const _ of more) admitted.push(slot + passed);
    }
    const inMinute = admitted.map((from) => admitted.filter((at) => at >= from && at <= from + MINUTE_SLOTS).length);
    t.is(Math.max(...inMinute), 10);
    t.true(admitted.length >= 10 * Math.floor(passed / (MINUTE_SLOTS + 40)), `${admitted.length} in ${passed} slots`);
  });

  test('limits of one rotation that differ hold side by side, and a limit that is raised holds at once', async (t, world) => {
    const processes = await three(world);
    t.is((await consumeAll(processes, 'key', 30, 10)).admitted.length, 10);
    t.is((await consumeAll(processes, 'key', 90, 25)).admitted.length, 15);
    const [at25, at5] = await Promise.all([
      consume(await world.open(), 'key', 26),
      consume(processes[0] as Records, 'key', 5),
    ]);
    t.is(at25?.retry_after_s, null);
    t.not(at5?.retry_after_s, null);
  });

  test('a window that is known to be full is refused without a statement', async (t, world) => {
    const records = await world.open();
    t.is((await consumeAll([records], 'key', 9, 3)).admitted.length, 3);
    await records.store.writer.deleteFrom('rate_windows').execute();
    const refused = await consume(records, 'key', 3);
    t.true(refused.retry_after_s !== null && refused.retry_after_s > 50);
    t.is(remainingOf(refused), 0);
    t.is((await consume(records, 'key', 4)).retry_after_s, null);
  });

  test('a clock that was set back neither opens a window nor keeps it closed for longer than a minute', async (t, world) => {
    const records = await world.open();
    t.is((await consumeAll([records], 'key', 5, 5)).admitted.length, 5);
    await pass(records.store.writer, -3_600_000 / SLOT_MS);
    const refused = await consume(await world.open(), 'key', 5);
    t.true(refused.retry_after_s !== null && refused.retry_after_s <= 61);
    await pass(records.store.writer, MINUTE_SLOTS + 1);
    t.is((await consume(await world.open(), 'key', 5)).retry_after_s, null);
  });

  test('a row stays small for the largest rates', async (t, world) => {
    const { reader, store } = await world.open();
    const counts = Array.from({ length: MINUTE_SLOTS + 1 }, () => '9999').join(',');
    await store.writer
      .insertInto('rate_windows')
      .values({ key_id: 'key', slot: Math.floor(Date.now() / SLOT_MS) - 1, counts, admitted: 1, rate_limit: 1 })
      .execute();
    t.is((await consume(await world.open(), 'key', 3_000_000)).retry_after_s, null);
    const { rows } = await sql<{
      bytes: number;
    }>`select pg_column_size(rate_windows) as bytes from rate_windows`.execute(reader);
    t.true((rows[0]?.bytes ?? Number.NaN) < 2_000, `${rows[0]?.bytes} bytes`);
  });

  test('twenty failures from one address are tried at three processes together, and then it is locked for five minutes', async (t, world) => {
    const processes = await three(world);
    const locked_ms = await attemptAll(
      processes,
      Array.from({ length: 60 }, (_, k) => ['192.0.2.1', `guess ${k}`] as const),
    );
    t.is(locked_ms.filter((ms) => ms === 0).length, 20);
    for (const ms of locked_ms.filter((each) => each > 0)) t.true(ms > 200_000 && ms <= 300_000);
    t.deepEqual(await attemptAll(processes, [['192.0.2.2', 'another']]), [0]);
    await (processes[0] as Records).store.writer
      .updateTable('failed_attempts')
      .set((eb) => ({ locked_until_ms: eb('locked_until_ms', '-', 300_000) }))
      .execute();
    t.deepEqual(await attemptAll(processes, [['192.0.2.1', null]]), [0]);
  });

  test('ten guesses of one key are tried from all addresses together, and then it is locked for fifteen minutes', async (t, world) => {
    const processes = await three(world);
    const locked_ms = await attemptAll(
      processes,
      Array.from({ length: 30 }, (_, k) => [`192.0.2.${k}`, `hs_live_abcdefgh${String(k).padStart(38, '0')}`] as const),
    );
    t.is(locked_ms.filter((ms) => ms === 0).length, 10);
    const [still = 0] = await attemptAll(processes, [['198.51.100.1', 'hs_live_abcdefghANOTHER']]);
    t.true(still > 800_000 && still <= 900_000);
    // An attempt that was refused counts for no address.
    const { rows } = await sql<{ failed: number }>`
      select count(*) as failed from failed_attempts where name like 'address 198.%'`.execute(
      (processes[0] as Records).reader,
    );
    t.is(rows[0]?.failed, 0);
  });

  test('failures that are older than the rule lock nothing', async (t, world) => {
    const processes = await three(world);
    const nineteen = Array.from({ length: 19 }, () => ['192.0.2.1', null] as const);
    await attemptAll(processes, nineteen);
    const { writer } = (processes[0] as Records).store;
    const [{ failures = '' } = {}] = await writer.selectFrom('failed_attempts').select('failures').execute();
    const earlier = failures.split(',').map((ms) => Number(ms) - 300_001);
    await writer
      .updateTable('failed_attempts')
      .set({ failures: earlier.join(',') })
      .execute();
    t.deepEqual(new Set(await attemptAll(processes, nineteen)), new Set([0]));
  });
}
