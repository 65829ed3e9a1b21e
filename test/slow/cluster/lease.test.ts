import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { type Lease, type LeaseRequest, takeLease } from '../../../pipeline/cluster/lease.ts';
import { Conflict, LeaseLost, PipelineError } from '../../../pipeline/error.ts';
import { silent } from '../../../pipeline/log.ts';
import { scratch } from '../../support/data/world.ts';
import { freePort } from '../../support/free-port.ts';
import { BARE_ENVIRONMENT } from '../../support/kill/bare-environment.ts';
import { type Events, hearEvents } from '../../support/kill/events.ts';
import { type Cluster, postgresPrograms, runCluster } from '../../support/store/cluster.ts';
import { startProxy } from '../../support/store/proxy.ts';

/** A standby holds the lease within this time after the holder was killed, stopped or cut off. */
const TAKEOVER_MS = 10_000;
const CHILD = fileURLToPath(new URL('../../support/store/lease-child.ts', import.meta.url));
const CLOCK = fileURLToPath(new URL('../../support/kill/clock.ts', import.meta.url));

/** A process that wants the lease all the time. */
interface Contender {
  readonly child: ChildProcess;
  readonly next: Events['next'];
}

if (postgresPrograms === null)
  test('leases are not tested: PostgreSQL of Debian is not installed', (t) => t.is(postgresPrograms, null));
else {
  let cluster: Cluster;
  test.before(async () => {
    cluster = runCluster(await freePort());
  });
  test.after.always(() => cluster?.stop());

  const request = (name: string, wanted: Partial<LeaseRequest> = {}): LeaseRequest => ({
    database_url: cluster.url,
    name,
    highestFence: async () => 0,
    log: silent,
    patience_ms: 2_000,
    ...wanted,
  });
  const taken = async (name: string, wanted: Partial<LeaseRequest> = {}): Promise<Lease> => {
    const lease = await takeLease(request(name, wanted));
    if (lease === null) throw new Error('no lease, expected one');
    return lease;
  };

  test.serial(
    'of several processes at once one holds a lease, each with a larger fence than the one before',
    async (t) => {
      const journal = await scratch(t, 'journal');
      writeFileSync(journal, '');
      let waiting = [1, 2, 3].map(() => {
        const { child, next } = contend(t, cluster.url, 'one of three', journal);
        return { child, taken: next('Lease:Take:Done').then(() => child) };
      });
      while (waiting.length > 0) {
        const holder = await Promise.race(waiting.map(({ taken }) => taken));
        await sleep(300);
        holder.kill('SIGKILL');
        waiting = waiting.filter(({ child }) => child !== holder);
      }
      t.deepEqual(fencesIn(journal), [1, 2, 3]);
    },
  );

  test.serial('a lease that is released is free, and a stranger waits for it no longer than it wants to', async (t) => {
    const first = await taken('released');
    t.true(first.check() > 0);
    const refusal = await t.throwsAsync(takeLease(request('released', { patience_ms: 0 })), { instanceOf: Conflict });
    t.regex(refusal.message, new RegExp(`held by .* process ${process.pid} .*, expected no other pipeline`));
    const other = await taken('another name');
    await first.release();
    t.throws(() => first.check(), { instanceOf: LeaseLost });
    const second = await taken('released');
    isRising(t, [first.fence, other.fence, second.fence], 3);
    await Promise.all([second.release(), other.release()]);
  });

  test.serial('whoever stops waiting gets nothing', async (t) => {
    const holder = await taken('aborted');
    const stop = new AbortController();
    const waiting = takeLease(request('aborted', { patience_ms: null, signal: stop.signal }));
    await sleep(500);
    stop.abort();
    t.is(await waiting, null);
    await holder.release();
  });

  test.serial('work that occupies the main thread for longer than a lease does not lose it', async (t) => {
    const busy = await taken('busy');
    const until_ms = performance.now() + 8_000;
    while (performance.now() < until_ms);
    t.true(busy.check() > 0);
    await sleep(100);
    t.true(busy.check() > 0);
    await busy.release();
  });

  test.serial(
    'a database that refuses the user is an error at once; one that does not answer once the patience is over',
    async (t) => {
      const database_url = cluster.url.replace('hail@', 'nobody-of-this-name@');
      await t.throwsAsync(takeLease(request('refused', { database_url, patience_ms: null })), {
        instanceOf: PipelineError,
        message: /lease refused: cannot be taken \(.*nobody-of-this-name.*\), expected a database at HAIL_DATABASE_URL/,
      });
      const nowhere = `postgres://hail@127.0.0.1:${await freePort()}/postgres`;
      await t.throwsAsync(takeLease(request('refused', { database_url: nowhere, patience_ms: 1_000 })), {
        instanceOf: PipelineError,
        message: /ECONNREFUSED/,
      });
    },
  );

  test.serial('a fence that cannot be looked up leaves the lease free', async (t) => {
    const highestFence = () => Promise.reject(new Error('the store is away'));
    await t.throwsAsync(takeLease(request('no fence', { highestFence })), { message: 'the store is away' });
    await (await taken('no fence')).release();
  });

  for (const [fault, clocks] of [
    ['killed', [0, 0]],
    ['stopped', [0, 0]],
    ['stopped', [-5, 5]],
    ['stopped', [5, -5]],
    ['cut off from the database', [0, 0]],
  ] as const)
    test.serial(
      `a holder that is ${fault} is followed within 10 s and writes nothing afterwards, clocks ${clocks.join(' and ')} minutes off`,
      async (t) => {
        const name = `${fault} ${clocks.join()}`;
        const journal = await scratch(t, 'journal');
        writeFileSync(journal, '');
        const proxy = await startProxy(cluster.url);
        t.teardown(proxy.close);
        const holder = contend(t, proxy.url, name, journal, clocks[0]);
        await holder.next('Lease:Take:Done');
        const standby = contend(t, cluster.url, name, journal, clocks[1]);
        await standby.next('Lease:Wait:Begin');
        await sleep(2_000);
        const begun_ms = performance.now();
        if (fault === 'killed') holder.child.kill('SIGKILL');
        else if (fault === 'stopped') holder.child.kill('SIGSTOP');
        else proxy.silent = true;
        await standby.next('Lease:Take:Done');
        const took_ms = performance.now() - begun_ms;
        t.log(`followed after ${(took_ms / 1000).toFixed(1)} s`);
        t.true(took_ms < TAKEOVER_MS);
        if (fault === 'stopped') holder.child.kill('SIGCONT');
        else proxy.silent = false;
        if (fault !== 'killed') {
          t.regex(String((await holder.next('refused')).reason), /is lost: /);
          await holder.next('Lease:Wait:Begin');
        }
        await sleep(500);
        isRising(t, fencesIn(journal), 2);
      },
    );

  test.serial('the database is restarted: the lease is taken anew, with a larger fence', async (t) => {
    const journal = await scratch(t, 'journal');
    writeFileSync(journal, '');
    for (const _ of [1, 2]) contend(t, cluster.url, 'restart', journal);
    while (fencesIn(journal).length < 1) await sleep(50);
    cluster.restart();
    while (fencesIn(journal).length < 2) await sleep(50);
    await sleep(500);
    isRising(t, fencesIn(journal), 2);
  });

  test.serial(
    'the database fails over to a replica without the last fences: the next one is larger than those in the store',
    async (t) => {
      const own = runCluster(await freePort());
      t.teardown(own.stop);
      const journal = await scratch(t, 'journal');
      writeFileSync(journal, '');
      const first = contend(t, own.url, 'fail over', journal);
      await first.next('Lease:Take:Done');
      own.copy();
      first.child.kill('SIGKILL');
      const second = contend(t, own.url, 'fail over', journal);
      t.is((await second.next('Lease:Take:Done')).fence, 2);
      await sleep(200);
      // Stopped meanwhile: it would take the lease again before the replica is asked.
      second.child.kill('SIGSTOP');
      own.failOver();
      const database = new pg.Client(own.url);
      await database.connect();
      const { rows } = await database.query('select distinct fence from pipeline_leases');
      await database.end();
      t.deepEqual(rows, [{ fence: '1' }], 'the replica lacks the second fence');
      second.child.kill('SIGCONT');
      t.is((await second.next('Lease:Take:Done')).fence, 3);
      await sleep(200);
      t.deepEqual(fencesIn(journal), [1, 2, 3]);
    },
  );
}

/** Starts a process that wants a lease. `clock_min`: how far its clock is ahead. */
function contend(t: ExecutionContext, database_url: string, name: string, journal: string, clock_min = 0): Contender {
  const ahead = join(journal, '..', `ahead-${clock_min}`);
  writeFileSync(ahead, String(clock_min * 60_000));
  const child = spawn(process.execPath, ['--import', CLOCK, CHILD, database_url, name, journal], {
    env: { ...BARE_ENVIRONMENT, CLOCK_FROM_MS: String(Date.now()), CLOCK_AHEAD_MS_IN: ahead },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const { next } = hearEvents(child.stdout);
  return { child, next };
}

/** Each holder has a larger fence than the one before, of this lease and of others. */
function isRising(t: ExecutionContext, fences: readonly number[], holders: number): void {
  t.is(fences.length, holders);
  t.deepEqual(
    [...new Set(fences)].sort((a, b) => a - b),
    fences,
  );
}

/** Fences of a journal, each once for as long as it was written without another between. */
function fencesIn(journal: string): number[] {
  const fences = readFileSync(journal, 'utf8').trim().split('\n').map(Number);
  return fences.filter((fence, k) => fence > 0 && fence !== fences[k - 1]);
}
