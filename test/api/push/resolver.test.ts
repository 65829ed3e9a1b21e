import test, { type ExecutionContext } from 'ava';
import { openResolver } from '../../../api/push/resolver.ts';
import { type Known, startNameServer } from '../../support/service/name-server.ts';

async function openWith(t: ExecutionContext, names: Readonly<Record<string, Known>>, own_names = false) {
  const server = await startNameServer(t);
  for (const [name, known] of Object.entries(names)) server.names.set(name, known);
  const resolver = openResolver({ servers: [server.address], own_names });
  t.teardown(resolver.close);
  return { server, resolver };
}

test('a name has the addresses of both families', async (t) => {
  const v6 = '2600:0001:0000:0000:0000:0000:0000:0007';
  const { resolver } = await openWith(t, { 'hooks.example.com': { A: ['93.184.215.14', '10.0.0.1'], AAAA: [v6] } });
  t.deepEqual(await resolver.addressesOf('hooks.example.com'), ['93.184.215.14', '10.0.0.1', '2600:1::7']);
});

test('a name that does not exist, or that has no address, has none', async (t) => {
  const { resolver } = await openWith(t, { 'mail.example.com': {} });
  t.deepEqual(await resolver.addressesOf('gone.example.com'), []);
  t.deepEqual(await resolver.addressesOf('mail.example.com'), []);
});

test('a name whose server is silent has no address in the end', async (t) => {
  const { resolver, server } = await openWith(t, { 'hangs.example.com': 'silent' });
  t.deepEqual(await resolver.addressesOf('hangs.example.com'), []);
  t.is(server.questions.filter((question) => question === 'hangs.example.com A').length, 2);
});

test('a name of this machine counts where own names do, and there alone', async (t) => {
  const { resolver: own } = await openWith(t, {}, true);
  t.true((await own.addressesOf('localhost')).some((address) => ['127.0.0.1', '::1'].includes(address)));
  const { resolver: others } = await openWith(t, {});
  t.deepEqual(await others.addressesOf('localhost'), []);
});

test.serial('name servers work when the root has some, which is asked once a minute', async (t) => {
  const { resolver, server } = await openWith(t, { '': { NS: true } });
  t.true(await resolver.works());
  t.true(await resolver.works());
  t.deepEqual(server.questions, [' NS']);
});

test('name servers do not work when they are silent about the root', async (t) => {
  const { resolver } = await openWith(t, { '': 'silent' });
  t.false(await resolver.works());
});
