import test from 'ava';
import fc from 'fast-check';
import { Unreadable } from '../../../pipeline/error.ts';
import { planWork, type Work } from '../../../pipeline/scans/plan.ts';
import { startReadPool } from '../../../pipeline/scans/read.ts';
import { SCAN_PRODUCTS, type SourceFile } from '../../../pipeline/sources/names.ts';
import { planScans, type ScanPlan } from '../../../pipeline/sources/plan.ts';
import type { CommittedScan } from '../../../schemas/manifest.ts';
import { scanTime, stormDate } from '../../../schemas/time.ts';
import { named } from '../../support/data/source-files.ts';

const FILES = {
  scan_time: 0,

  mesh: '/nowhere/mesh.grib2',
  companions: {},
  probsevere: null,
  previous_probsevere: null,
};

test('a reader thread fails at once after its end, keeps the message of an error, and names an unreadable file', async (t) => {
  const readers = startReadPool(1);
  t.teardown(readers.close);
  await t.throwsAsync(readers.read({ ...FILES, mesh: 7 as never }), { instanceOf: Error, message: /path/ });
  const error = await t.throwsAsync(readers.read(FILES), { instanceOf: Unreadable });
  t.deepEqual([error.subject, error.is_gone], [FILES.mesh, true]);
  await readers.close();
  await t.throwsAsync(readers.read(FILES), { message: /reader thread ended/ });
});

// Pictures name scans by their times from noon on: 23:00 is in the evening, 01:00 after midnight. `!` marks other files than before.
const day = (clock: string) => (clock >= '12:00' ? '2024-02-27' : '2024-02-28');
const mesh = (clock: string, bytes = 1) => named('MESH', `${day(clock)}T${clock}:00Z`, bytes);
const words = (picture: string) => picture.split(' ').filter((word) => word !== '');
const plans = (picture: string) =>
  planScans(words(picture).map((word) => mesh(word.slice(0, 5), word.endsWith('!') ? 2 : 1))).scans;

/** Published scans; `|` parts their segments. */
function published(picture: string): CommittedScan[] {
  return picture
    .split('|')
    .flatMap((times, number) =>
      plans(times).map(({ scan_id, inputs }) => ({ scan_id, inputs, segment: `segment ${number}` })),
    );
}

const clock = ({ scan_id }: Pick<ScanPlan, 'scan_id'>) => `${scan_id.slice(9, 11)}:${scan_id.slice(11, 13)}`;
const clocks = (scans: readonly Pick<ScanPlan, 'scan_id'>[]) => scans.map(clock).join(' ');
const dateOf = (scan_id: string) => stormDate(scanTime(scan_id), 0);

function picture({ append, redo, late }: Work): string[] {
  return [
    ...redo.map((dates) =>
      dates.map(({ replaces, scans }) => `${clocks(scans)} for ${clocks(replaces) || 'none'}`).join(', then '),
    ),
    ...(append.length === 0 ? [] : [`append ${clocks(append)}`]),
    ...late.map(({ scan, loss }) => `late ${clock(scan)}: ${loss.message}`),
  ];
}

const GONE = 'but its raw files are gone, expected them in the archive';

for (const [title, given, before, expected] of [
  ['new scans are appended', '13:00 13:02', '', ['append 13:00 13:02']],
  ['published scans of the same files need no work', '13:00 13:02', '13:00 13:02', []],
  ['a scan after everything published replaces nothing', '13:02', '13:00', ['append 13:02']],
  [
    'a late scan makes the rest of its date again, from the start of its segment on',
    '13:00 13:02 13:04 13:06 13:08',
    '13:00 | 13:02 13:06',
    ['13:02 13:04 13:06 for 13:02 13:06', 'append 13:08'],
  ],
  [
    'a late scan between two segments leaves the earlier one',
    '13:00 13:02 13:04 13:06',
    '13:00 | 13:04 | 13:06',
    ['13:02 13:04 13:06 for 13:04 13:06'],
  ],
  [
    'a changed scan makes the rest again',
    '13:00 13:02! 13:04',
    '13:00 | 13:02 | 13:04',
    ['13:02 13:04 for 13:02 13:04'],
  ],
  [
    'the date after follows when the two are less than 30 minutes apart',
    '23:50 23:52 00:00 00:02',
    '23:50 | 00:00 | 00:02',
    ['23:52 for none, then 00:00 00:02 for 00:00 00:02'],
  ],
  [
    'the date after stays when the two are more than 30 minutes apart',
    '23:10 23:12 23:14 00:00',
    '23:10 23:14 | 00:00',
    ['23:10 23:12 23:14 for 23:10 23:14'],
  ],
  [
    'two dirty dates are two pieces of work',
    '23:50! 23:52 00:00 00:02 00:04',
    '23:50 23:52 | 00:00 00:04',
    ['23:50 23:52 for 23:50 23:52, then 00:00 00:02 00:04 for 00:00 00:04', '00:00 00:02 00:04 for 00:00 00:04'],
  ],
  [
    'a late scan that would change published scans without raw files is left out',
    '13:02 13:06 13:08 13:10',
    '13:00 13:04 | 13:08',
    [
      '13:06 13:08 for 13:08',
      'append 13:10',
      `late 13:02: sources 20240227T130400Z: must be made again for 20240227T130200Z, ${GONE}`,
    ],
  ],
  [
    'a late scan is left out when raw files of the date that follows are gone',
    '23:50 23:52',
    '23:52 | 00:00',
    [`late 23:50: sources 20240228T000000Z: must be made again for 20240227T235000Z, ${GONE}`],
  ],
] as const)
  test(`work: ${title}`, (t) => {
    t.deepEqual(picture(planWork(plans(given), before === '' ? [] : published(before), dateOf)), [...expected]);
  });

test('work: a date to rebuild is made again whole', (t) => {
  const work = planWork(plans('23:50 00:00 00:02'), published('23:50 | 00:00 | 00:02'), dateOf, '2024-02-28');
  t.deepEqual(picture(work), ['00:00 00:02 for 00:00 00:02']);
});

const START = Date.parse('2024-02-27T23:50:00Z');
const someFile = fc
  .record({
    product: fc.constantFrom(...SCAN_PRODUCTS, 'MESH_Max_60min'),
    second: fc.integer({ min: 0, max: 1200 }),
    bytes: fc.integer({ min: 1, max: 3 }),
    folder: fc.constantFrom('', 'x/', 'y/'),
  })
  .map(({ product, second, bytes, folder }) =>
    named(product, new Date(START + second * 1000).toISOString(), bytes, folder),
  );

/** Published scans after a run that makes the dates that follow again, too, in segments of one date and `size` scans. */
function commit(before: readonly CommittedScan[], { append, redo }: Work, size: number, run: number): CommittedScan[] {
  const parts = [
    ...redo.flat(),
    ...[...Map.groupBy(append, ({ scan_id }) => dateOf(scan_id)).values()].map((scans) => ({ replaces: [], scans })),
  ];
  let listed = [...before];
  for (const [number, { replaces, scans }] of parts.entries()) {
    const gone = new Set([...replaces, ...scans].map(({ scan_id }) => scan_id));
    const made = scans.map(({ scan_id, inputs }, at) => ({
      scan_id,
      inputs,
      segment: `${run} ${number} ${Math.floor(at / size)}`,
    }));
    listed = [...listed.filter(({ scan_id }) => !gone.has(scan_id)), ...made];
  }
  return listed.sort((a, b) => (a.scan_id < b.scan_id ? -1 : 1));
}

test('work: files in any order end in the scans of the right order, and then there is nothing to do', (t) => {
  const deliveries = fc.array(fc.array(someFile, { minLength: 1, maxLength: 15 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(deliveries, fc.integer({ min: 1, max: 5 }), (batches, size) => {
      let files: SourceFile[] = [];
      let listed: CommittedScan[] = [];
      for (const [run, batch] of batches.entries()) {
        files = [...files, ...batch];
        const { scans } = planScans(files);
        listed = commit(listed, planWork(scans, listed, dateOf), size, run);
        t.deepEqual(
          listed.map(({ scan_id, inputs }) => [scan_id, inputs]),
          scans.map(({ scan_id, inputs }) => [scan_id, inputs]),
        );
        t.deepEqual(planWork(scans, listed, dateOf), { append: [], redo: [], late: [] });
      }
    }),
  );
});
