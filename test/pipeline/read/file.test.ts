import { gzipSync } from 'node:zlib';
import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { gunzip } from '../../../pipeline/read/file.ts';

test('gzipped content comes out whole, also of two files joined into one', (t) => {
  const joined = Buffer.concat([gzipSync('hail '), gzipSync('stones')]);
  t.is(Buffer.from(gunzip(gzipSync('hail'), 'x')).toString(), 'hail');
  t.is(Buffer.from(gunzip(joined, 'x')).toString(), 'hail stones');
});

test('bytes that are not gzip pass through untouched', (t) => {
  const plain = Buffer.from('GRIB');
  t.is(gunzip(plain, 'x'), plain);
  t.is(gunzip(new Uint8Array(0), 'x').length, 0);
});

test('a file that says it unfolds too far is refused at once', (t) => {
  const bomb = gzipSync(Buffer.alloc(5000));
  t.throws(() => gunzip(bomb, 'bomb.gz', 4999), {
    instanceOf: BadInput,
    message: /bomb.gz: gzip .* unfolds to the 5000 bytes that its end states; expected at most 4999/,
  });
  t.is(gunzip(bomb, 'x', 5000).length, 5000);
});

test('a file that lies about its length is stopped at the limit', (t) => {
  const bomb = gzipSync(Buffer.alloc(1_000_000));
  bomb.writeUInt32LE(10, bomb.length - 4);
  t.throws(() => gunzip(bomb, 'bomb.gz', 5000), {
    instanceOf: BadInput,
    message: /expected a whole stream of at most 5000 bytes/,
  });
});

for (const [title, bytes] of [
  ['cut short', gzipSync('hail hail hail').subarray(0, 20)],
  ['only a magic number', Buffer.from([0x1f, 0x8b])],
  ['with a wrong checksum', Buffer.from(gzipSync('hail')).fill(0, 20, 24)],
] as const)
  test(`a gzip stream ${title} is refused by name`, (t) => {
    t.throws(() => gunzip(bytes, 'mesh.grib2.gz'), {
      instanceOf: BadInput,
      message: /mesh.grib2.gz: gzip is (damaged|cut short)/,
    });
  });
