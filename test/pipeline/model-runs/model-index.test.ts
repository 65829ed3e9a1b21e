import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import { type IndexWish, parseIndex, wishedRanges } from '../../../pipeline/model-runs/model-index.ts';

const RUN = Date.parse('2026-05-01T18:00:00Z');

const INDEX = `1:0:d=2026050118:REFC:entire atmosphere:3 hour fcst:
2:1000:d=2026050118:MXUPHL:5000-2000 m above ground:2-3 hour max fcst:
3:1500:d=2026050118:var discipline=0 center=7 local_table=1 parmcat=16 parm=201:entire atmosphere:3 hour fcst:
4.1:2200:d=2026050118:UGRD:500 mb:3 hour fcst:
4.2:2200:d=2026050118:VGRD:500 mb:3 hour fcst:
5:4000:d=2026050118:CAPE:surface:3 hour fcst:
6:4600:d=2026050118:CAPE:255-0 mb above ground:3 hour fcst:
`;

function ranges(...wishes: readonly IndexWish[]) {
  return wishedRanges(parseIndex(INDEX, 'index', RUN), wishes).map(({ start, end }) => [start, end]);
}

const wish = (name: string, ...levels: string[]): IndexWish => ({ name, levels });

test('a message ends where the next begins, the last one with the file', (t) => {
  t.deepEqual(ranges(wish('MXUPHL', '5000-2000 m above ground')), [[1000, 1500]]);
  t.deepEqual(ranges(wish('CAPE', '255-0 mb above ground')), [[4600, null]]);
});

test('fields that share a message share its bytes', (t) => {
  t.deepEqual(ranges(wish('UGRD', '500 mb'), wish('VGRD', '500 mb')), [[2200, 4000]]);
});

test('messages that follow each other are asked for as one range, whatever the order of the wishes', (t) => {
  t.deepEqual(
    ranges(
      wish('CAPE', '255-0 mb above ground'),
      wish('MXUPHL', '5000-2000 m above ground'),
      wish('REFC', 'entire atmosphere'),
    ),
    [
      [0, 1500],
      [4600, null],
    ],
  );
  t.deepEqual(ranges(wish('UGRD', '500 mb'), wish('CAPE', 'surface')), [[2200, 4600]]);
});

test('of several levels the first that is listed is taken, and a field that is not listed costs nothing', (t) => {
  t.deepEqual(ranges(wish('CAPE', '180-0 mb above ground', 'surface')), [[4000, 4600]]);
  t.deepEqual(ranges(wish('HAIL', 'surface')), []);
});

test('windows line ends are read', (t) => {
  t.is(parseIndex(INDEX.replaceAll('\n', '\r\n'), 'index', RUN).length, 7);
});

for (const [title, text, reason] of [
  ['is empty', '\n', /index without a line/],
  [
    'is an html page',
    '<html><body>Service Unavailable</body></html>',
    /line 1 is '<html><body>Service Unavailable<\/body><\/html>', expected number:offset/,
  ],
  ['has a broken line', INDEX.replace('2:1000:', '2:'), /line 2 is '2:d=2026050118:MXUPHL/],
  ['ends in the middle of a line', INDEX.slice(0, -70), /line 6 is '5:4000:d=2026050118:CAPE:/],
  ['goes back', INDEX.replace('3:1500:', '3:900:'), /line 3 begins at 900, expected at least 1000/],
  [
    'is of another run',
    INDEX.replaceAll('2026050118', '2026050117'),
    /line 1 is of run 2026050117, expected 2026050118/,
  ],
] as const)
  test(`an index that ${title} is refused with its line`, (t) => {
    t.regex(t.throws(() => parseIndex(text, 'index', RUN), { instanceOf: BadInput }).message, reason);
  });
