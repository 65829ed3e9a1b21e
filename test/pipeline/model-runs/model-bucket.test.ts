import test from 'ava';
import { BadInput } from '../../../pipeline/error.ts';
import {
  type FieldSelector,
  horizonHours,
  modelKeys,
  parseIndex,
  parseModelKey,
  selectRanges,
  usefulRuns,
} from '../../../pipeline/model-runs/model-bucket.ts';
import { EVENING_MS } from '../../support/data/small-evening.ts';

for (const [name, keys] of [
  [{ model: 'hrrr', run_time: EVENING_MS, lead_h: 3 }, ['hrrr.20260501/conus/hrrr.t22z.wrfsfcf03.grib2']],
  [
    { model: 'rrfs', run_time: EVENING_MS, lead_h: 12 },
    ['rrfs.20260501/22/rrfs.t22z.2dfld.3km.f012.conus.grib2', 'rrfs.20260501/22/rrfs.t22z.prslev.3km.f012.conus.grib2'],
  ],
  [
    { model: 'nam', run_time: Date.parse('2018-09-17T00:00:00Z'), lead_h: 0 },
    ['nam.20180917/nam.t00z.awp21100.tm00.grib2'],
  ],
] as const)
  test(`the files of an hour of ${name.model} are named as in its bucket, and the names lead back to it`, (t) => {
    t.deepEqual(modelKeys(name), [...keys]);
    for (const key of keys) t.deepEqual(parseModelKey(`archive/model/${key}`), name);
  });

for (const path of [
  'hrrr.20260631/conus/hrrr.t22z.wrfsfcf03.grib2',
  'hrrr.20260501/conus/hrrr.t25z.wrfsfcf03.grib2',
  'hrrr.20260501/alaska/hrrr.t22z.wrfsfcf03.ak.grib2',
  'hrrr.20260501/conus/hrrr.t22z.wrfsfcf03.grib2.idx',
  'rrfs.20260501/21/rrfs.t22z.2dfld.3km.f012.conus.grib2',
])
  test(`${path} is no hour of a model run`, (t) => t.is(parseModelKey(path), null));

test('runs of 00, 06, 12 and 18 UTC reach 48 hours, all others 18', (t) => {
  const at = (hour: string) => horizonHours(Date.parse(`2026-05-01T${hour}:00:00Z`));
  t.deepEqual(['00', '05', '06', '12', '13', '18', '23'].map(at), [48, 18, 48, 48, 18, 48, 18]);
});

test('the runs of a blend are the last three, and the last three long ones', (t) => {
  const runs = usefulRuns(Date.parse('2026-05-01T13:40:00Z')).map((run) => new Date(run).toISOString().slice(8, 13));
  t.deepEqual(runs, ['01T13', '01T12', '01T11', '01T06', '01T00']);
});

const RUN = Date.parse('2026-05-01T18:00:00Z');

const INDEX = `1:0:d=2026050118:REFC:entire atmosphere:3 hour fcst:
2:1000:d=2026050118:MXUPHL:5000-2000 m above ground:2-3 hour max fcst:
3:1500:d=2026050118:var discipline=0 center=7 local_table=1 parmcat=16 parm=201:entire atmosphere:3 hour fcst:
4.1:2200:d=2026050118:UGRD:500 mb:3 hour fcst:
4.2:2200:d=2026050118:VGRD:500 mb:3 hour fcst:
5:4000:d=2026050118:CAPE:surface:3 hour fcst:
6:4600:d=2026050118:CAPE:255-0 mb above ground:3 hour fcst:
`;

function ranges(...selectors: readonly FieldSelector[]) {
  return selectRanges(parseIndex(INDEX, 'index', RUN), selectors).map(({ start, end }) => [start, end]);
}

const field = (name: string, ...levels: string[]): FieldSelector => ({ name, levels });

test('a message ends where the next begins, the last one with the file', (t) => {
  t.deepEqual(ranges(field('MXUPHL', '5000-2000 m above ground')), [[1000, 1500]]);
  t.deepEqual(ranges(field('CAPE', '255-0 mb above ground')), [[4600, null]]);
});

test('fields that share a message share its bytes', (t) => {
  t.deepEqual(ranges(field('UGRD', '500 mb'), field('VGRD', '500 mb')), [[2200, 4000]]);
});

test('messages that follow each other are asked for as one range, whatever the order of the wishes', (t) => {
  t.deepEqual(
    ranges(
      field('CAPE', '255-0 mb above ground'),
      field('MXUPHL', '5000-2000 m above ground'),
      field('REFC', 'entire atmosphere'),
    ),
    [
      [0, 1500],
      [4600, null],
    ],
  );
  t.deepEqual(ranges(field('UGRD', '500 mb'), field('CAPE', 'surface')), [[2200, 4600]]);
});

test('of several levels the first that is listed is taken, and a field that is not listed costs nothing', (t) => {
  t.deepEqual(ranges(field('CAPE', '180-0 mb above ground', 'surface')), [[4000, 4600]]);
  t.deepEqual(ranges(field('HAIL', 'surface')), []);
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
