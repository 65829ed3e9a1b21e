import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { verifyLedger } from '../../api/records/verify.ts';
import { livez, readyz } from '../../api/routes/health.ts';
import { ENDPOINTS } from '../../api/routes/index.ts';
import type { Health } from '../../schemas/resources/health.ts';
import { type CallInit, type RunningService, type ServiceOptions, startService } from '../support/service/service.ts';

const COVERAGE = '/v1/coverage?lat=35&lon=-97';
const LOCATIONS = '/v1/portfolio/locations';
const UPLOAD = {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ format: 'json', data: [{ name: 'Depot', lat: 35.2, lon: -97.4 }] }),
};
/** Everything that has to answer while nothing can be metered. */
const ALIVE = ['/livez', '/readyz', '/v1/health'];

async function start(t: ExecutionContext, options: Partial<ServiceOptions> = {}): Promise<RunningService> {
  const service = await startService({
    endpoints: ENDPOINTS,
    public_routes: (services) => [livez, readyz(services)],
    ...options,
  });
  t.teardown(service.close);
  return service;
}

/** Another process that holds the records' write lock from when this returns until it is released. */
async function lock({ records }: RunningService): Promise<() => Promise<void>> {
  const script = `
    const database = new (require('node:sqlite').DatabaseSync)(process.argv[1]);
    database.exec('pragma busy_timeout = 5000; begin exclusive');
    process.stdout.write('locked');
    process.stdin.once('data', () => { database.exec('commit'); database.close(); process.exit(); });`;
  const child: ChildProcess = spawn(process.execPath, ['-e', script, records.store.name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (child.stdin === null || child.stdout === null) throw new Error('the child has no pipes');
  const { stdin, stdout } = child;
  await once(stdout, 'data');
  return async () => {
    stdin.write('release');
    await once(child, 'exit');
  };
}

/** Lets calls wait longer for the lock than they usually do, so that on a busy machine they still wait when the test looks. */
function waitForLocks({ records }: RunningService, lock_ms: number): void {
  records.store.setWaits({ lock_ms, statement_ms: lock_ms });
}

/** Waits for a call to be answered 200. */
async function recovers(service: RunningService, path: string, init?: CallInit): Promise<boolean> {
  while ((await service.call(path, init)).status !== 200) await sleep(20);
  return true;
}

async function rowsOf({ records }: RunningService) {
  const ledger = await records.reader.selectFrom('ledger').selectAll().execute();
  const locations = await records.reader.selectFrom('portfolio_locations').selectAll().execute();
  return [ledger.length, locations.length];
}

test.serial(
  'billed calls that find the records locked are refused together, nothing served or charged; probes answer meanwhile',
  async (t) => {
    const service = await start(t);
    waitForLocks(service, 2_500);
    const release = await lock(service);
    const waiting = Promise.all([
      ...Array.from({ length: 4 }, () => service.call(LOCATIONS, UPLOAD)),
      ...Array.from({ length: 4 }, (_, k) =>
        service.call(LOCATIONS, { ...UPLOAD, headers: { ...UPLOAD.headers, 'Idempotency-Key': `key ${k}` } }),
      ),
      ...Array.from({ length: 4 }, () => service.call(COVERAGE)),
    ]);
    await sleep(200);
    for (const path of ALIVE) {
      t.is((await service.call(path)).status, 200);
    }
    for (const reply of await waiting) {
      t.is(reply.status, 503);
      t.is(((await reply.json()) as { error: string }).error, 'metering_unavailable');
      t.is(reply.headers.get('Retry-After'), '5');
    }
    await release();
    t.true(await recovers(service, COVERAGE));
    t.deepEqual(await rowsOf(service), [1, 0]);
    t.deepEqual((await verifyLedger(service.records.reader)).faults, []);
  },
);

test.serial(
  'while the records are known to be locked, billed calls are refused, and probes and free calls answer',
  async (t) => {
    const service = await start(t);
    t.is((await service.call(COVERAGE)).status, 200);
    const release = await lock(service);
    t.is((await service.call(COVERAGE)).status, 503);
    for (let round = 0; round < 3; round++) {
      const refusals = await Promise.all([service.call(COVERAGE), service.call(LOCATIONS, UPLOAD)]);
      for (const { status } of refusals) t.is(status, 503);
      const alive = await Promise.all([...ALIVE, '/v1/usage'].map((path) => service.call(path)));
      t.deepEqual(
        alive.map((reply) => reply.status),
        [200, 503, 200, 200],
      );
      const [, ready, health] = await Promise.all(alive.map((reply) => reply.json()));
      t.like(ready, { status: 'unavailable', records: false });
      const { status, components } = health as Health;
      t.deepEqual(
        [status, components.database.status, components.metering.status],
        ['degraded', 'degraded', 'degraded'],
      );
    }
    await release();
    t.true(await recovers(service, '/readyz'));
    t.true(await recovers(service, COVERAGE));
    t.is((await rowsOf(service))[0], 2);
  },
);

test.serial('a command that holds the lock of the records for a moment costs no call its answer', async (t) => {
  const service = await start(t);
  waitForLocks(service, 60_000);
  const release = await lock(service);
  const waiting = Promise.all([
    ...Array.from({ length: 5 }, () => service.call(COVERAGE)),
    service.call(LOCATIONS, UPLOAD),
  ]);
  await sleep(300);
  await release();
  for (const { status } of await waiting) t.is(status, 200);
  t.deepEqual(await rowsOf(service), [6, 1]);
});

test.serial(
  'a write that found the records locked after its key was claimed is made once, with the same key, soon after',
  async (t) => {
    let lockNext = false;
    const locks: Promise<() => Promise<void>>[] = [];
    const service: RunningService = await start(t, {
      records: (records) => ({
        ...records,
        claim: async (request) => {
          const claim = await records.claim(request);
          if (lockNext) locks.push(lock(service));
          lockNext = false;
          await Promise.all(locks);
          return claim;
        },
      }),
    });
    const keyed = { ...UPLOAD, headers: { ...UPLOAD.headers, 'Idempotency-Key': 'upload 1' } };
    lockNext = true;
    t.is((await service.call(LOCATIONS, keyed)).status, 503);
    t.deepEqual(await rowsOf(service), [0, 0]);
    await (await locks[0])?.();
    t.true(await recovers(service, LOCATIONS, keyed));
    const replay = await service.call(LOCATIONS, keyed);
    t.deepEqual([replay.status, replay.headers.get('Idempotent-Replay')], [200, 'true']);
    t.deepEqual(await rowsOf(service), [1, 1]);
  },
);
