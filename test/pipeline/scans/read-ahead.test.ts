import test from 'ava';
import fc from 'fast-check';
import { BadInput, PipelineError, Unreadable } from '../../../pipeline/error.ts';
import type { ScanInput } from '../../../pipeline/grid.ts';
import type { ScanFiles } from '../../../pipeline/read/scan.ts';
import { type Outcome, openReadAhead, type ReadScan, startReadPool } from '../../../pipeline/scans/read-ahead.ts';
import { type LateScan, plannedScans, planRun, scansOf } from '../../../pipeline/scans/run-plan.ts';
import type { SourceFile } from '../../../pipeline/sources/names.ts';
import { openFileIndex, planScans, SCAN_PRODUCTS, type ScanPlan } from '../../../pipeline/sources/plan.ts';
import type { CommittedScan } from '../../../schemas/manifest.ts';
import { scanId } from '../../../schemas/time.ts';
import { draw } from '../../support/data/draw.ts';
import { at, instant, named } from '../../support/data/source-files.ts';

/** Reading from a pool that records what it is asked for and finds some files bad. Files at fault are dropped, as a run does. */
function reading(files: readonly SourceFile[], bad: readonly SourceFile[], failure?: Error) {
  const asked: string[] = [];
  const aside: string[] = [];
  const refused = new Set(bad.map((file) => file.location));
  const readFiles = async (wanted: ScanFiles): Promise<ScanInput> => {
    const paths = [wanted.mesh, ...Object.values(wanted.companions).map(({ location }) => location)];
    asked.push(
      paths
        .map((path) => path.slice(path.lastIndexOf('/') + 1).replace(/^MRMS_(\w+?)_00.50_\d+-(\d{4}).*/, '$1 $2'))
        .join(' + '),
    );
    if (failure) throw failure;
    const culprit = paths.find((path) => refused.has(path));
    if (culprit !== undefined) throw new BadInput('read', culprit, 'is bad');
    const companions = {
      posh_pct: null,
      vil_kg_m2: null,
      echo_top_18_km: null,
      echo_top_50_km: null,
      max_reflectivity_dbz: null,
    };
    return {
      scan_time: wanted.scan_time,
      simulated: false,
      mesh: draw('.'),
      companions,
      uncovered: null,
      probsevere: null,
      products: ['MESH'],
    };
  };
  const index = openFileIndex();
  index.add(files);
  const readAhead = openReadAhead({ read: readFiles, close: async () => {} }, index, {
    storm_day_start_hour: 0,
  });
  const read = async (scan: ScanPlan, upcoming: readonly ScanPlan[], work: typeof whole) => {
    while (true) {
      const found = await readAhead.read(scan, upcoming);
      const done = found?.ok ? await work(found.scan) : found;
      if (done === null) return null;
      if (done.ok) return done.scan;
      aside.push(`${done.file.product} ${done.fault.stage} ${done.fault.reason}`);
      index.remove(done.file);
    }
  };
  return { open: { read }, asked, aside, scans: planScans(files).scans };
}

/** Work that finds nothing wrong. */
const whole = async (scan: ReadScan): Promise<Outcome<ReadScan>> => ({ ok: true, scan });

test('reads a few scans ahead, each only once', async (t) => {
  const { open, asked, scans } = reading(
    ['02:00', '02:02', '02:04', '02:06', '02:08', '02:10'].map((time) => named('MESH', `${time}:00`)),
    [],
  );
  await open.read(scans[0] as (typeof scans)[0], scans.slice(1), whole);
  t.deepEqual(asked, ['MESH 0200', 'MESH 0202', 'MESH 0204', 'MESH 0206']);
  await open.read(scans[1] as (typeof scans)[0], scans.slice(2), whole);
  t.deepEqual(asked.slice(4), ['MESH 0208']);
});

test('a bad MESH file is put aside once, and its scan is none', async (t) => {
  const mesh = named('MESH', '02:00:00');
  const { open, aside, scans } = reading([mesh, named('VIL', '02:00:00')], [mesh]);
  t.is(await open.read(scans[0] as (typeof scans)[0], [], whole), null);
  t.deepEqual(aside, ['MESH read is bad']);
});

test('a bad companion is put aside once, although two scans wanted it; the older one takes its place', async (t) => {
  const bad = named('VIL', '02:01:00');
  const files = [named('MESH', '02:01:30'), named('MESH', '02:03:00'), named('VIL', '02:00:40'), bad];
  const { open, asked, aside, scans } = reading(files, [bad]);
  const first = await open.read(scans[0] as (typeof scans)[0], scans.slice(1), whole);
  const second = await open.read(scans[1] as (typeof scans)[0], [], whole);
  t.deepEqual(aside, ['VIL read is bad']);
  t.is(first?.plan.companions.vil_kg_m2?.time_ms, named('VIL', '02:00:40').time_ms);
  t.is(second?.plan.companions.vil_kg_m2?.time_ms, named('VIL', '02:00:40').time_ms);
  t.not(first?.plan.inputs, scans[0]?.inputs);
  t.deepEqual(asked.filter((one) => one === 'MESH 0201 + VIL 0200').length, 1);
});

test('a failure that is no fault of a file stops the run', async (t) => {
  const { open, aside, scans } = reading([named('MESH', '02:00:00')], [], new Error('out of memory'));
  await t.throwsAsync(open.read(scans[0] as (typeof scans)[0], [], whole), { message: 'out of memory' });
  t.deepEqual(aside, []);
});

test('a MESH file that is refused after it was read is put aside, and its scan is none from then on', async (t) => {
  const mesh = named('MESH', '02:00:00');
  const { open, aside, scans } = reading([mesh], []);
  const scan = scans[0] as (typeof scans)[0];
  const crowded = async (): Promise<Outcome<ReadScan>> => ({
    ok: false,
    file: mesh,
    fault: new BadInput('detect', mesh.location, 'too many storm cells'),
  });
  t.is(await open.read(scan, [], crowded), null);
  t.deepEqual(aside, ['MESH detect too many storm cells']);
  t.is(await open.read(scan, [], whole), null);
});

const FILES = {
  scan_time: 0,
  mesh: '/nowhere/mesh.grib2',
  companions: {},
  probsevere: null,
  previous_probsevere: null,
};

test('a read asked of threads that have ended fails at once', async (t) => {
  const readers = startReadPool(1);
  await readers.close();
  await t.throwsAsync(readers.read(FILES), { message: /reader thread ended/ });
});

test('an error that is no fault of a file keeps its message across the threads', async (t) => {
  const readers = startReadPool(1);
  t.teardown(readers.close);
  await t.throwsAsync(readers.read({ ...FILES, mesh: 7 as never }), { instanceOf: Error, message: /path/ });
});

test('a file that is not there is Unreadable across the threads, and says which', async (t) => {
  const readers = startReadPool(1);
  t.teardown(readers.close);
  const error = await t.throwsAsync(readers.read(FILES), { instanceOf: Unreadable });
  t.deepEqual([error.subject, error.is_gone], [FILES.mesh, true]);
});

const plans = (...times: string[]) => planScans(times.map((time) => named('MESH', time))).scans;
const clock = (scan_id: string) => `${scan_id.slice(9, 11)}:${scan_id.slice(11, 13)}`;

/** Published scans: segments are written `02:00 02:02 | 02:04`. */
function published(picture: string): CommittedScan[] {
  return picture.split('|').flatMap((times) => {
    const scans = plans(
      ...times
        .trim()
        .split(/\s+/)
        .map((time) => `${time}:00`),
    );
    const segment = `${scans[0]?.scan_id}_${scans.at(-1)?.scan_id}`;
    return scans.map(({ scan_id, inputs }) => ({ scan_id, segment, inputs }));
  });
}

function refuse({ loss }: LateScan): void {
  throw loss;
}

/** What is planned, in the words of the pictures. */
function planned(given: string, before: string, startHour = 0, onLate = refuse) {
  const scans = plans(
    ...given
      .trim()
      .split(/\s+/)
      .map((time) => `${time}:00`),
  );
  const { stretches, late } = planRun(scans, before === '' ? [] : published(before), startHour);
  late.forEach(onLate);
  return stretches.map((chain) => ({
    replaces: chain.redo.map((redo) => redo.replaces.map((scan) => clock(scan.scan_id)).join(' ')),
    redo: chain.redo.map((redo) =>
      redo.hours
        .flat()
        .map((scan) => clock(scan.scan_id))
        .join(' '),
    ),
    append: chain.append.map((hour) => hour.map((scan) => clock(scan.scan_id)).join(' ')),
  }));
}

test('new scans are appended by the hour', (t) => {
  t.deepEqual(planned('01:56 01:58 02:00 02:02', ''), [
    { replaces: [], redo: [], append: ['01:56 01:58', '02:00 02:02'] },
  ]);
});

test('a storm date that begins within a stretch parts its hours', (t) => {
  t.deepEqual(planned('11:58 12:00', '', 12)[0]?.append, ['11:58', '12:00']);
});

test('published scans whose inputs are the same need no work', (t) => {
  t.deepEqual(planned('02:00 02:02', '02:00 02:02'), []);
});

test('a late scan makes its segment and the ones after it again, with what is new after them', (t) => {
  t.deepEqual(planned('02:00 02:02 02:04 02:06 02:08 02:10', '02:00 02:02 | 02:04 02:08'), [
    { replaces: ['02:04 02:08'], redo: ['02:04 02:06 02:08'], append: ['02:10'] },
  ]);
});

test('a scan that falls between two segments is made with the later one', (t) => {
  t.deepEqual(planned('02:00 02:02 02:04', '02:00 | 02:04'), [
    { replaces: ['02:04'], redo: ['02:02 02:04'], append: [] },
  ]);
});

test('a scan before everything published is made with the first segment', (t) => {
  t.deepEqual(planned('01:58 02:00 02:02', '02:00 | 02:02'), [
    { replaces: ['02:00', '02:02'], redo: ['01:58 02:00', '02:02'], append: [] },
  ]);
});

test('stretches that are more than 30 minutes apart are planned on their own', (t) => {
  t.deepEqual(planned('02:00 02:02 02:04 02:40 02:42', '02:00 02:04 | 02:40'), [
    { replaces: ['02:00 02:04'], redo: ['02:00 02:02 02:04'], append: [] },
    { replaces: [], redo: [], append: ['02:42'] },
  ]);
});

test('a gap of 30 minutes does not part a stretch', (t) => {
  t.is(planned('02:00 02:30', '').length, 1);
});

test('a segment that bridges a gap keeps its stretches together', (t) => {
  t.deepEqual(planned('02:00 02:02 02:40 02:42', '02:00 02:40'), [
    { replaces: ['02:00 02:40'], redo: ['02:00 02:02 02:40'], append: ['02:42'] },
  ]);
});

test('a published scan that must be made again and has lost its raw files is an error', (t) => {
  t.throws(() => planned('02:00 02:02', '02:00 02:04'), { message: /raw files are gone/ });
});

test('scans that came too late to be made with others whose raw files are gone are left out, and the rest is planned', (t) => {
  const lost: string[] = [];
  const plan = planned('02:02 02:06 02:08 02:10 02:12', '02:00 02:04 | 02:08', 0, ({ scan, loss }) => {
    lost.push(`${clock(scan.scan_id)} ${loss.subject}`);
  });
  t.deepEqual(plan, [{ replaces: ['02:08'], redo: ['02:06 02:08'], append: ['02:10 02:12'] }]);
  t.deepEqual(lost, ['02:02 20240228T020000Z (and 1 more)']);
});

for (const [title, given, before, expected] of [
  ['new scans', '02:00 02:02', '', ['1 02:00 new', '1 02:02 new']],
  ['nothing new', '02:00 02:02', '02:00 02:02', []],
  [
    'a late scan, what it changes, and what is new after it',
    '02:00 02:02 02:04 02:06 02:08',
    '02:00 | 02:04 | 02:06',
    [
      '1 02:02 new (came late: scans after it are published)',
      '1 02:04 redo (follows 20240228T020200Z, unless the tracks come out the same)',
      '1 02:06 redo (follows 20240228T020200Z, unless the tracks come out the same)',
      '1 02:08 new',
    ],
  ],
  [
    'a late scan within a segment, and another stretch',
    '02:00 02:02 02:04 03:00',
    '02:00 02:04',
    [
      '1 02:00 redo (is published in one segment with 20240228T020200Z)',
      '1 02:02 new (came late: scans after it are published)',
      '1 02:04 redo (follows 20240228T020200Z, unless the tracks come out the same)',
      '2 03:00 new',
    ],
  ],
] as const)
  test(`scans of a plan with their reasons: ${title}`, (t) => {
    const scans = plans(...given.split(' ').map((time) => `${time}:00`));
    const listed = before === '' ? [] : published(before);
    const lines = plannedScans(planRun(scans, listed, 0), listed).map(
      ({ stretch, scan, status, reason }) =>
        `${stretch} ${clock(scan.scan_id)} ${status}${reason === null ? '' : ` (${reason})`}`,
    );
    t.deepEqual(lines, [...expected]);
  });

test('a published scan whose files have changed is planned to be made again for that reason', (t) => {
  const [first, ...rest] = published('02:00 | 02:02');
  const listed = [{ ...(first as CommittedScan), inputs: 'other files' }, ...rest];
  const planned = plannedScans(planRun(plans('02:00:00', '02:02:00'), listed, 0), listed);
  t.deepEqual(
    planned.map(({ status, reason }) => [status, reason]),
    [
      ['redo', 'its files have changed'],
      ['redo', 'follows 20240228T020000Z, unless the tracks come out the same'],
    ],
  );
});

// Runs are drawn as one letter per scan, a minute each: the published ones in their segments, the available ones below.
const START = instant('20:00:00');
const minute = (n: number) => START + n * 60_000;
const scanAt = (n: number, inputs = 'same'): ScanPlan => ({
  scan_id: scanId(minute(n)),
  scan_time: minute(n),
  mesh: at(`MRMS_MESH_00.50_20240228-${scanId(minute(n)).slice(9, 15)}.grib2`),
  companions: {},
  probsevere: null,
  previous_probsevere: null,
  inputs,
});

/** `0 1 2!`: minutes of the scans that can be made; `!` marks other inputs than before. */
function available(picture: string): ScanPlan[] {
  return words(picture).map((word) => scanAt(Number.parseInt(word, 10), word.endsWith('!') ? 'other' : 'same'));
}

/** `a: 0 1 2 | b: 3 4`: segments and the minutes of their scans. */
function committed(picture: string): CommittedScan[] {
  return picture.split('|').flatMap((group) => {
    const [segment, minutes] = group.split(':') as [string, string | undefined];
    return words(minutes ?? '').map((word) => ({ ...scanAt(Number(word)), segment: segment.trim() }));
  });
}

function words(text: string): string[] {
  return text.split(' ').filter((word) => word !== '');
}

/** Plan of a single stretch; throws when a scan is too late. */
function planOf(scans: readonly ScanPlan[], before: readonly CommittedScan[]) {
  const { stretches, late } = planRun(scans, before, 0);
  late.forEach(refuse);
  const redo = stretches.flatMap((stretch) => stretch.redo);
  return {
    run: stretches.flatMap(scansOf),
    redo_from: redo.flatMap(({ hours }) => hours.flat())[0]?.scan_time ?? null,
    replaced: redo.map(({ replaces }) => replaces[0]?.segment ?? ''),
  };
}

function outcome(scans: readonly ScanPlan[], before: readonly CommittedScan[]): string {
  const { run, redo_from, replaced } = planOf(scans, before);
  const minutes = run.map((scan) => (scan.scan_time - START) / 60_000).join(' ');
  const from = redo_from === null ? 'never' : (redo_from - START) / 60_000;
  return `run ${minutes || 'none'}, redo from ${from}, drop ${replaced.join(' ') || 'none'}, skip ${scans.length - run.length}`;
}

for (const [title, scans, before, expected] of [
  ['an empty root runs everything', '0 1 2', '', 'run 0 1 2, redo from never, drop none, skip 0'],
  ['nothing new is nothing to do', '0 1 2', 'a: 0 1 2', 'run none, redo from never, drop none, skip 3'],
  ['a later scan drops nothing', '0 1 2 3', 'a: 0 1 2', 'run 3, redo from never, drop none, skip 3'],
  ['a late scan in the last segment redoes it', '0 1 2 3', 'a: 0 1 3', 'run 0 1 2 3, redo from 0, drop a, skip 0'],
  ['earlier segments stay', '0 1 2 3 4', 'a: 0 1 | b: 2 4', 'run 2 3 4, redo from 2, drop b, skip 2'],
  ['all later segments go', '0 1 2 3 4', 'a: 0 | b: 2 3 | c: 4', 'run 1 2 3 4, redo from 1, drop b c, skip 1'],
  [
    'a scan in the gap between segments leaves the one before',
    '0 1 2 3',
    'a: 0 1 | b: 3',
    'run 2 3, redo from 2, drop b, skip 2',
  ],
  ['a scan before everything redoes all', '0 1 2', 'a: 1 | b: 2', 'run 0 1 2, redo from 0, drop a b, skip 0'],
  [
    'a changed scan is redone with what follows',
    '0 1! 2',
    'a: 0 | b: 1 | c: 2',
    'run 1 2, redo from 1, drop b c, skip 1',
  ],
  ['a change and a new scan run together', '0 1! 2', 'a: 0 | b: 1', 'run 1 2, redo from 1, drop b, skip 1'],
  ['raw files of untouched segments may be gone', '2 3', 'a: 0 1 | b: 2', 'run 3, redo from never, drop none, skip 1'],
  ['segments come in any order', '0 1 2', 'b: 2 | a: 0', 'run 1 2, redo from 1, drop b, skip 1'],
] as const)
  test(`run: ${title}`, (t) => t.is(outcome(available(scans), committed(before)), expected));

test('run: a published scan that must be redone and whose raw files are gone is refused by name', (t) => {
  const error = t.throws(() => planOf(available('0 2 4'), committed('a: 0 1 | b: 2 3 | c: 5')), {
    instanceOf: PipelineError,
  });
  t.is(
    error.message,
    'sources 20240228T200500Z: must be made again from 20240228T200400Z on, but its raw files are gone, expected them in the archive',
  );
  t.throws(() => planOf(available('2'), committed('a: 0 1 3 4')), {
    message: /^sources 20240228T200000Z \(and 3 more\): /,
  });
});

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

/** Publishes a run as a pipeline would: dropped segments go, what ran comes in segments of at most `size` scans. */
function commit(before: readonly CommittedScan[], plan: ReturnType<typeof planOf>, size: number, word: string) {
  const kept = before.filter((scan) => !plan.replaced.includes(scan.segment));
  return [...kept, ...plan.run.map((scan, n) => ({ ...scan, segment: `${word}${Math.floor(n / size)}` }))];
}

test('after committing everything there is nothing to do; a late file then redoes a suffix, and the end is the same as in order', (t) => {
  const deliveries = fc.array(fc.array(someFile, { minLength: 1, maxLength: 15 }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(deliveries, fc.integer({ min: 1, max: 5 }), (batches, size) => {
      let files: SourceFile[] = [];
      let listed: CommittedScan[] = [];
      for (const [n, batch] of batches.entries()) {
        files = [...files, ...batch];
        const { scans } = planScans(files);
        const plan = planOf(scans, listed);
        t.deepEqual(plan.run, scans.slice(scans.length - plan.run.length), 'what runs is a suffix');
        listed = commit(listed, plan, size, `batch${n}-`);
        t.deepEqual(
          listed.map((scan) => [scan.scan_id, scan.inputs]),
          scans.map((scan) => [scan.scan_id, scan.inputs]),
        );
        t.deepEqual(planRun(scans, listed, 0), { stretches: [], late: [] });
      }
    }),
  );
});
