import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { StoreAddress } from '../../../schemas/object-store/client.ts';

/** A server whose every answer is the test's: for what no real store answers. Returns the address of a bucket in it. */
export async function scriptedStore(
  t: ExecutionContext,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<StoreAddress> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hail`;
  return { url, region: 'us-east-1', access_key_id: 'name', secret_access_key: 'secret' };
}
