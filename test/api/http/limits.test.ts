import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { trustedProxies } from '../../../api/server/head.ts';
import { type RunningService, startService } from '../../support/service/service.ts';
import { until } from '../../support/until.ts';

/** Opens connections one after the other; how many of them were left open. */
async function openMany({ url }: RunningService, count: number): Promise<number> {
  const { hostname, port } = new URL(url);
  const answers: Promise<boolean>[] = [];
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n++) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    // A connection that the service keeps answers; one that it refuses is closed or reset.
    const { promise, resolve } = Promise.withResolvers<boolean>();
    answers.push(promise);
    socket.once('data', () => resolve(true));
    socket.once('close', () => resolve(false));
    socket.on('error', () => resolve(false));
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  }
  const kept = await Promise.all(answers);
  for (const socket of sockets) socket.destroy();
  return kept.filter(Boolean).length;
}

test('the 201st connection from one address is closed, and there is room again once others are', async (t) => {
  const service = await startService({ endpoints: [] });
  t.is(await openMany(service, 203), 200);
  await until(async () => (await connectionsOf(service)) === 0);
  t.is(await openMany(service, 5), 5);
  await service.close();
});

test('connections of a trusted proxy are those of many clients', async (t) => {
  const service = await startService({ endpoints: [], app: { trusted: trustedProxies(['127.0.0.1']) } });
  t.is(await openMany(service, 203), 203);
  await service.close();
});

function connectionsOf({ server }: RunningService): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
