import fs from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import fc from 'fast-check';
import { readConfig } from '../../pipeline/config.ts';
import { openEngine } from '../../pipeline/duckdb.ts';
import { Unreadable } from '../../pipeline/error.ts';
import { silent } from '../../pipeline/log.ts';
import { compactDay } from '../../pipeline/publish/compact.ts';
import { readNewest, tablePaths } from '../../pipeline/publish/manifests.ts';
import { allRows } from '../../pipeline/publish/merge.ts';
import { readRows } from '../../pipeline/publish/tables.ts';
import { pollBucket } from '../../pipeline/scans/bucket.ts';
import { planWork, type Work } from '../../pipeline/scans/plan.ts';
import { startReadPool } from '../../pipeline/scans/read.ts';
import { listFolder } from '../../pipeline/sources/folder.ts';
import { Unavailable } from '../../pipeline/sources/http.ts';
import { SCAN_PRODUCTS, type SourceFile } from '../../pipeline/sources/names.ts';
import { planScans, type ScanPlan } from '../../pipeline/sources/plan.ts';
import type { CommittedScan } from '../../schemas/manifest.ts';
import { type Detection, detections } from '../../schemas/tables/radar.ts';
import { scanTime, stormDate } from '../../schemas/time.ts';
import { contentOf, logicalContent, sameContent } from '../support/data/content.ts';
import { publishDays } from '../support/data/published-days.ts';
import { packedAnew, published, without } from '../support/data/published-scans.ts';
import { dayMaxRow } from '../support/data/rows.ts';
import { aroundMidnight, midnight, scansBetween } from '../support/data/small-world.ts';
import { named } from '../support/data/source-files.ts';
import { publishBlockage, RING_OF_KTLX } from '../support/data/terrain.ts';
import {
  altered,
  asObserved,
  deliver,
  filesOf,
  ingest,
  MONTH_LATER_MS,
  onRoot,
  type RawScan,
  scratch,
} from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';

test('the same input twice is nothing to do and the same content', async (t) => {
  const scans = await aroundMidnight();
  const { root, content } = await published(t, scans);
  const again = await ingest(root, scans);
  t.deepEqual([again.scans, again.redone, again.skipped, again.dates], [0, 0, scans.length, []]);
  sameContent(t, await logicalContent(root), content);
});

test('a folder in two halves gives the content of the folder at once', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  await ingest(root, scans.slice(0, 4));
  const second = await ingest(root, scans);
  t.deepEqual([second.scans, second.redone], [scans.length - 4, 0]);
  sameContent(t, await logicalContent(root), content);
});

for (const [title, number] of [
  ['first', 0],
  ['last before midnight', 2],
] as const)
  test(`a late scan (${title}) gives the content of the right order`, async (t) => {
    const scans = await aroundMidnight();
    const content = await contentOf(scans);
    const { root } = await published(t, without(scans, number));
    const late = scans[number] as RawScan;
    t.is((await ingest(root, [late])).scans, 1);
    sameContent(t, await logicalContent(root), content);
  });

test('a late companion makes its scan again and gives the content of the right order', async (t) => {
  const scans = await aroundMidnight();
  const content = await contentOf(scans);
  const root = await scratch(t);
  const late = scans[3] as RawScan;
  const companion = late.files.find((file) => file.product === 'VIL');
  const others = filesOf(scans).filter((file) => file !== companion);
  await ingest(root, others);
  const run = await ingest(root, companion === undefined ? [] : [companion]);
  t.is(run.scans, 0);
  t.true(run.redone > 0);
  sameContent(t, await logicalContent(root), content);
});

test('a companion that comes before any scan of its date waits for the scan it belongs to', async (t) => {
  const scans = await scansBetween('23:50', '23:55');
  const [mesh, ...companions] = filesOf(scans.slice(0, 1));
  const root = await scratch(t);
  const first = await ingest(root, companions);
  t.deepEqual([first.scans, first.unused], [0, companions.length]);
  t.is((await ingest(root, mesh === undefined ? [] : [mesh])).scans, 1);
  sameContent(t, await logicalContent(root), await contentOf(scans.slice(0, 1)));
});

test('one content packed in two ways is a duplicate, and a twin takes the place of a file that cannot be read', async (t) => {
  const [scan] = await scansBetween('00:00', '00:02');
  const mesh = scan?.files[0];
  if (scan === undefined || mesh === undefined) return t.fail();
  const anew = await packedAnew(t, scan);
  const twice = await ingest(await scratch(t), [...scan.files, anew]);
  t.deepEqual([twice.scans, twice.duplicates, twice.rejected], [1, 1, []]);
  const larger = gzipSync(Buffer.alloc(4_000_000, 'no grid'), { level: 0 });
  const broken = await altered(await scratch(t, 'broken'), mesh, larger);
  const rescued = await ingest(await scratch(t), [...scan.files, broken]);
  t.is(rescued.scans, 1);
  t.deepEqual(rescued.rejected.length, 1);
  t.notRegex(rescued.rejected[0]?.reason ?? '', /other content/);
});

test('a month whose join was missed after its dates closed is joined by the next run', async (t) => {
  const scans = await aroundMidnight();
  const { root } = await published(t, scans);
  await onRoot(root, { now_ms: MONTH_LATER_MS }, async ({ root: opened }) => {
    for (const date of opened.heads.keys()) await compactDay(opened, date, MONTH_LATER_MS);
  });
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  t.deepEqual(Object.keys((await readNewest(root, 'month-2026-05'))?.dates ?? {}), ['2026-05-01', '2026-05-02']);
  t.deepEqual(await faultsOf(root), []);
});

test('the running month is joined as soon as seven closed dates wait for it', async (t) => {
  const root = await scratch(t);
  const now_ms = Date.parse('2026-05-20T12:00:00Z');
  const dayOf = (storm_date: string) => {
    return { storm_date, rows: { day_max: [dayMaxRow({ storm_date })], detections: [], cells: [] } };
  };
  const joined = async () => Object.keys((await readNewest(root, 'month-2026-05'))?.dates ?? {}).length;
  const dates = Array.from({ length: 7 }, (_, index) => `2026-05-0${index + 1}`);
  await publishDays(root, dates.slice(0, 6).map(dayOf), 'observed', now_ms);
  await ingest(root, [], { now_ms });
  t.is(await joined(), 0);
  await publishDays(root, dates.slice(6).map(dayOf), 'observed', now_ms);
  await ingest(root, [], { now_ms });
  t.is(await joined(), 7);
});

test('the month holds the rows of its closed dates, no more and no less, cut by region', async (t) => {
  const { root } = await published(t, await midnight(), MONTH_LATER_MS);
  const engine = await openEngine();
  t.teardown(() => engine.close());
  const rowsOf = async (partitions: readonly string[]) => {
    const manifests = await Promise.all(partitions.map((partition) => readNewest(root, partition)));
    const paths = manifests.flatMap((manifest) => (manifest === null ? [] : tablePaths(root, manifest, 'day-max')));
    return { files: paths.length, rows: await engine.rows(`${allRows(paths)} ORDER BY ALL`) };
  };
  const days = await rowsOf(['2026-05-01', '2026-05-02']);
  const month = await rowsOf(['month-2026-05']);
  t.deepEqual([days.files, month.files], [2, 2], 'the window lies on both sides of row 2000');
  t.true(days.rows.length > 100);
  t.deepEqual(month.rows, days.rows);
  const places = days.rows as { place_scans: number | null; first_detected: number | null }[];
  t.true(places.every((row) => row.first_detected === null || (row.place_scans ?? 0) > 0));
});

test('rebuilding a date makes its scans again from the raw files that were kept, with the same content', async (t) => {
  const scans = await aroundMidnight();
  const { root, content } = await published(t, scans);
  const run = await onRoot(root, {}, async ({ session }) => {
    const rebuilt = await session.rebuild('2026-05-01');
    await session.finishDates();
    return rebuilt;
  });
  t.is(run.redone, scans.filter(({ scan_id }) => scan_id < '20260502').length);
  sameContent(t, await logicalContent(root), content);
});

for (const [each_scan, at] of [
  [false, 0],
  [false, 1],
  [true, 1],
] as const)
  test(`a scan of the other kind costs itself only, before anything of its date is published (scan ${at}, ${each_scan ? 'scan by scan' : 'by the hour'})`, async (t) => {
    const scans = await scansBetween('00:00', '00:10');
    const stray = (await asObserved(t, scans.slice(at, at + 1)))[0] as RawScan;
    const root = await scratch(t);
    const run = await ingest(root, scans.with(at, stray), { each_scan });
    t.is(run.scans, scans.length - 1);
    t.is(run.rejected.length, 1);
    t.is(run.rejected[0]?.file, stray.files[0]?.name);
    const reason = /^observed data, expected simulated data as storm date 2026-05-02 holds \(.*--replace/;
    t.regex(run.rejected[0]?.reason ?? '', reason);
    t.deepEqual(await faultsOf(root), []);
    // Its companions are kept as what they are, and it is refused once.
    t.is((await listFolder(join(root, 'archive', 'observed'))).files.length, stray.files.length - 1);
    t.deepEqual((await ingest(root, [stray, ...scans.slice(2)], { each_scan })).rejected, []);
    await ingest(root, scans.slice(at, at + 1), { each_scan });
    sameContent(t, await logicalContent(root), await contentOf(scans));
  });

test('files of an inbox leave it once they are kept; nothing of a scan is lost', async (t) => {
  const scans = await aroundMidnight();
  const root = await scratch(t);
  const inbox = join(root, 'inbox', 'noaa');
  await deliver(inbox, filesOf(scans));
  const mesh = scans[2]?.files[0];
  if (mesh === undefined) return t.fail();
  await fs.truncate(join(inbox, mesh.name), 300);
  await ingest(root, (await listFolder(inbox)).files, { move_raw: true });
  t.deepEqual((await listFolder(inbox)).files, []);
  t.is((await listFolder(join(root, 'archive', 'simulated'))).files.length, filesOf(scans).length - 1);
});

test('behind mountains confidence is lower, and nothing else differs', async (t) => {
  const scans = await scansBetween('00:00', '00:06');
  const root = await scratch(t);
  await publishBlockage(root, RING_OF_KTLX);
  await ingest(root, scans);
  const behind = await detectionRows(root);
  const plain = await published(t, scans);
  const free = await detectionRows(plain.root);
  const without_ = (rows: typeof free) => rows.map(({ confidence: _, ...rest }) => rest);
  t.deepEqual(without_(behind), without_(free));
  t.true(behind.every(({ confidence }, row) => confidence <= (free[row]?.confidence ?? 0)));
  t.true(behind.some(({ confidence }, row) => confidence < (free[row]?.confidence ?? 0)));
  t.deepEqual(await faultsOf(root), []);
});

async function detectionRows(root: string): Promise<Detection[]> {
  const engine = await openEngine();
  try {
    const head = await readNewest(root, '2026-05-02');
    return await readRows<Detection>(engine, detections, head === null ? [] : tablePaths(root, head, detections.name));
  } finally {
    engine.close();
  }
}
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
function committed(picture: string): CommittedScan[] {
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
  ['a scan after everything committed replaces nothing', '13:02', '13:00', ['append 13:02']],
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
    'a late scan that would change committed scans without raw files is left out',
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
  test(`work: ${title}`, (t) =>
    t.deepEqual(picture(planWork(plans(given), before === '' ? [] : committed(before), dateOf)), [...expected]));

test('work: a date to rebuild is made again whole', (t) => {
  const work = planWork(plans('23:50 00:00 00:02'), committed('23:50 | 00:00 | 00:02'), dateOf, '2024-02-28');
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
  const property = fc.property(deliveries, fc.integer({ min: 1, max: 5 }), (batches, size) => {
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
  });
  fc.assert(property);
});

test('after a look at the bucket that failed the next one follows, until the stream is stopped', async (t) => {
  const stop = new AbortController();
  let looks = 0;
  const opened = () => {
    if (++looks === 2) stop.abort();
    throw new Unavailable('bucket', 'is away');
  };
  const polling = { log: silent, every_ms: 1, signal: stop.signal };
  for await (const _ of pollBucket(readConfig({}), [], opened, polling)) t.fail();
  t.is(looks, 2);
});
