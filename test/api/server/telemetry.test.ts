import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { type RunningService, startService } from '../../support/service/service.ts';

async function serviceOf(t: ExecutionContext, body: () => Readable): Promise<RunningService> {
  const handler = (ctx: { body: unknown }) => {
    ctx.body = body();
  };
  const service = await startService({ endpoints: [], app: { publicRoutes: [{ path: '/it', handler }] } });
  t.teardown(service.close);
  return service;
}

async function begun({ url }: RunningService): Promise<IncomingMessage> {
  const [reply] = (await once(get(`${url}/it`), 'response')) as [IncomingMessage];
  reply.on('error', () => {}); // an answer that breaks off ends with one
  reply.resume();
  return reply;
}

/** Not `once`, for which an error before the end is a failure of its own. */
function closeOf(stream: Readable): Promise<void> {
  return new Promise((resolve) => stream.once('close', resolve));
}

test('a file that cannot be read to its end is a failure of ours, and breaks its answer off', async (t) => {
  const lost = new Error('EIO: i/o error, read');
  const service = await serviceOf(t, () =>
    Readable.from(
      (async function* () {
        yield Buffer.from('the first part');
        throw lost;
      })(),
    ),
  );
  const reply = await begun(service);
  await closeOf(reply);
  t.false(reply.complete);
  t.deepEqual(service.failures, [lost]);
});

test('a client that goes away while it is answered is no failure', async (t) => {
  const endless = new Readable({ read() {} });
  const service = await serviceOf(t, () => endless);
  endless.push('the first part');
  const reply = await begun(service);
  const closed = closeOf(endless);
  reply.destroy();
  await closed;
  t.deepEqual(service.failures, []);
});
