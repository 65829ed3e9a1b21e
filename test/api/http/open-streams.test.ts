import { once } from 'node:events';
import { Readable } from 'node:stream';
import test from 'ava';
import { openStreams } from '../../../api/http/open-streams.ts';

const make = async () => Readable.from(['bytes']);
const REFUSED = { name: 'ApiError', message: 'too many files are being read at once' };

async function close(stream: Readable): Promise<void> {
  const closed = once(stream, 'close');
  stream.destroy();
  await closed;
}

test('one stream more than may be open is refused, and there is room again once one is closed', async (t) => {
  const streams = openStreams(3, 3);
  const [first] = await Promise.all(['a', 'b', 'c'].map((address) => streams.open(address, make)));
  const error = await t.throwsAsync(streams.open('d', make), REFUSED);
  t.like(error, { code: 'overloaded', status: 503, headers: { 'Retry-After': '1' } });
  await close(first as Readable);
  await streams.open('d', make);
  await t.throwsAsync(streams.open('e', make), REFUSED);
});

test('one address cannot take all of them', async (t) => {
  const streams = openStreams(4, 2);
  const opened = await Promise.all([streams.open('a', make), streams.open('a', make)]);
  await t.throwsAsync(streams.open('a', make), REFUSED);
  await streams.open('b', make);
  await close(opened[0] as Readable);
  await t.notThrowsAsync(streams.open('a', make));
});

test('a stream that cannot be opened takes no room', async (t) => {
  const streams = openStreams(1, 1);
  const gone = new Error('gone');
  await t.throwsAsync(
    streams.open('a', () => Promise.reject(gone)),
    { is: gone },
  );
  await t.notThrowsAsync(streams.open('a', make));
});

test('streams that are being opened count', async (t) => {
  const streams = openStreams(1, 1);
  const slow = streams.open('a', make);
  await t.throwsAsync(streams.open('b', make), REFUSED);
  await slow;
});
