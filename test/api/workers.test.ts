import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { openServices } from '../../api/services.ts';
import { startWorkers, type Worker } from '../../api/workers.ts';
import { scratch } from '../support/data/world.ts';

const LONG_MS = 60_000;

/** Services over an empty root, and a log that is kept. */
async function open(t: ExecutionContext) {
  const { services, close } = await openServices({
    data_root: await scratch(t),
    database_url: null,
    storm_day_start_hour: 0,
    base_url: 'http://127.0.0.1:8080/v1',
    now: () => 0,
  });
  t.teardown(close);
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) });
  return { services, log, logged: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

test('every worker is started with the services, and ended once', async (t) => {
  const { services, log, logged } = await open(t);
  const told: string[] = [];
  const worker = (name: string): Worker => ({
    name,
    start: (given) => {
      t.is(given, services);
      told.push(`${name} starts`);
      return async () => {
        told.push(`${name} ends`);
      };
    },
  });
  const { stop } = await startWorkers(services, log, [worker('jobs'), worker('alerts')]);
  await stop(LONG_MS);
  t.deepEqual(told, ['jobs starts', 'alerts starts', 'jobs ends', 'alerts ends']);
  t.deepEqual(
    logged().map(({ msg }) => msg),
    ['Workers:Start:Done', 'Workers:Stop:Done'],
  );
});

test('stopping waits for what is under way', async (t) => {
  const { services, log } = await open(t);
  const job = Promise.withResolvers<void>();
  let done = false;
  const { stop } = await startWorkers(services, log, [{ name: 'jobs', start: () => () => job.promise }]);
  const stopped = stop(LONG_MS).then(() => done);
  await new Promise(setImmediate);
  done = true;
  job.resolve();
  t.true(await stopped);
});

test('a worker that fails to end, or does not end in time, is named in the log and keeps nobody else from ending', async (t) => {
  const { services, log, logged } = await open(t);
  let ended = false;
  const end = async () => {
    ended = true;
  };
  const { stop } = await startWorkers(services, log, [
    { name: 'stuck', start: () => () => new Promise(() => {}) },
    { name: 'broken', start: () => () => Promise.reject(new Error('no')) },
    { name: 'sound', start: () => end },
  ]);
  await stop(20);
  t.true(ended);
  const told = logged().flatMap(({ worker, msg }) => (worker === undefined ? [] : [`${worker} ${msg}`]));
  t.deepEqual(told.sort(), ['broken Worker:Stop:Failed', 'stuck Worker:Stop:Late']);
});

test('workers that had started are ended when a later one cannot start', async (t) => {
  const { services, log } = await open(t);
  let ended = false;
  const end = async () => {
    ended = true;
  };
  const starting = startWorkers(services, log, [
    { name: 'sound', start: () => end },
    {
      name: 'broken',
      start: () => {
        throw new Error('no queue');
      },
    },
  ]);
  await t.throwsAsync(starting, { message: 'no queue' });
  t.true(ended);
});
