import { readdir, readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { faultOf } from '../../../pipeline/sources/integrity.ts';
import { sharedData, sharedTest } from '../../support/data/shared-data.ts';
import { put, scratch, tinyGrib, tinyGrid } from '../../support/data/source-files.ts';

const grid = tinyGrid('some grid');
const grib = tinyGrib('some grid');

/** A copy with one byte turned over, counted from the end when negative. */
function flipped(bytes: Buffer, index: number): Buffer {
  const copy = Buffer.from(bytes);
  const place = index < 0 ? copy.length + index : index;
  copy[place] = copy[place] ^ 0xff;
  return copy;
}

const NOT_ONE = 'JSON does not begin and end as one object or list';

for (const [title, name, content, fault] of [
  ['a packed grid', 'a.grib2.gz', grid, null],
  ['two packed members', 'a.grib2.gz', Buffer.concat([grid, grid]), null],
  ['a packed grid without its trailer', 'a.grib2.gz', grid.subarray(0, -8), 'gzip unexpected end of file'],
  ['a packed grid cut in the middle', 'a.grib2.gz', grid.subarray(0, 20), 'gzip unexpected end of file'],
  ['a trailer with another CRC', 'a.grib2.gz', flipped(grid, -8), 'gzip incorrect data check'],
  ['a trailer with another length', 'a.grib2.gz', flipped(grid, -4), 'gzip incorrect length check'],
  ['plain text that calls itself packed', 'a.grib2.gz', 'hello', 'gzip incorrect header check'],
  ['an empty packed file', 'a.grib2.gz', '', 'gzip unexpected end of file'],
  ['a packed nothing', 'a.grib2.gz', gzipSync(''), 'gzip file holds nothing'],
  [
    '256 MiB of zeros and one more',
    'a.grib2.gz',
    gzipSync(Buffer.alloc(2 ** 28 + 1), { level: 1 }),
    'gzip content is over 268435456 bytes',
  ],
  ['a grid', 'a.grib2', grib, null],
  ['two messages', 'a.grib2', Buffer.concat([grib, grib]), null],
  ['a message cut short', 'a.grib2', grib.subarray(0, -1), 'message at byte 0 states 29 bytes, 28 are there'],
  ['a message cut in its header', 'a.grib2', grib.subarray(0, 10), 'message at byte 0 ends within its section 0'],
  [
    'a second message cut short',
    'a.grib2',
    Buffer.concat([grib, grib.subarray(0, 20)]),
    'message at byte 29 states 29 bytes, 20 are there',
  ],
  ['a message with another end mark', 'a.grib2', flipped(grib, -1), 'message at byte 0 is not closed by 7777'],
  ['stray bytes after a message', 'a.grib2', Buffer.concat([grib, Buffer.from('G'), grib, Buffer.from('G')]), null],
  ['no message at all', 'a.grib2', 'plain text', 'no message begins at byte 0'],
  ['an empty grid file', 'a.grib2', '', 'file is empty'],
  ['objects', 'a.json', '{"features": []}', null],
  ['objects with brackets and quotes in their texts', 'a.json', '{"a": "]}\\"}", "b": ["\\\\"]}\n', null],
  ['objects cut short', 'a.json', '{"features": [', NOT_ONE],
  ['objects cut within a text', 'a.json', '{"features": "]}', NOT_ONE],
  ['objects with something behind them', 'a.json', '{"features": []} <html>', NOT_ONE],
  ['a page that says sorry', 'a.json', '<html>[try later]</html>', NOT_ONE],
  ['an empty object file', 'a.json', '', NOT_ONE],
  ['another format', 'a.tif', 'II', "'a.tif' ends in no known format, expected .grib2, .grib2.gz or .json"],
] as const)
  test(`${title}: ${fault ?? 'whole'}`, async (t) => {
    const path = await put(await scratch(t), 'content', content);
    t.is(await faultOf(path, name), fault);
  });

test('a message that states a length of nothing does not keep us for ever', async (t) => {
  const lying = Buffer.from(grib);
  lying.writeBigUInt64BE(0n, 8);
  const path = await put(await scratch(t), 'content', lying);
  t.is(await faultOf(path, 'a.grib2'), 'message at byte 0 states 0 bytes, 29 are there');
});

sharedTest(
  'every real grid and ProbSevere file is whole, and is not once its last two bytes are missing',
  async (t) => {
    const folder = await scratch(t);
    for (const place of ['mrms', 'mrms-sequence', 'forecast', 'probsevere'])
      for (const name of await readdir(sharedData(place))) {
        if (!/\.(grib2|gz|json)$/.test(name)) continue;
        t.is(await faultOf(sharedData(place, name), name), null, name);
        const content = await readFile(sharedData(place, name));
        const last = content.toString('latin1').trimEnd().length - 2;
        t.not(await faultOf(await put(folder, 'cut', content.subarray(0, last)), name), null, name);
      }
  },
);
