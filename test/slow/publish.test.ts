import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import fs, { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { openEngine, sqlList } from '../../pipeline/duckdb.ts';
import { filesBelow, namesIn } from '../../pipeline/files.ts';
import { adoptDate } from '../../pipeline/publish/adopt.ts';
import { clearOldSimulated, deriveDate, expireReflectivity } from '../../pipeline/publish/commit-dates.ts';
import { compactDay, compactMonth } from '../../pipeline/publish/compact.ts';
import { eventDay } from '../../pipeline/publish/day-products.ts';
import { type Edit, nextManifest } from '../../pipeline/publish/edit.ts';
import { KEPT_MS, KEPT_SNAPSHOTS, retireSnapshots } from '../../pipeline/publish/live.ts';
import { readCurrent, readNewest } from '../../pipeline/publish/manifests.ts';
import { mergedDayMaxSql, mergedUncoveredSql } from '../../pipeline/publish/merge.ts';
import { type UncoveredPatch, uncoveredRows } from '../../pipeline/publish/segment.ts';
import { ROW_GROUP_ROWS, readNotes, readRows, stageQuery, stageRows } from '../../pipeline/publish/tables.ts';
import { verifyRoot } from '../../pipeline/publish/verify.ts';
import { writeScans } from '../../pipeline/simulate/evening.ts';
import { listFolder } from '../../pipeline/sources/folder.ts';
import type { SourceFile } from '../../pipeline/sources/names.ts';
import { dayMaxRows, emptyDayMaximum, type ScanOfDay, updateDayMaximum } from '../../pipeline/swath/accumulate.ts';
import { columns, type Table } from '../../schemas/columns.ts';
import { pixelAreaKm2 } from '../../schemas/geo/lattice.ts';
import { headOf } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import { type Current, ingestedAt, type Manifest, type PublishedFile } from '../../schemas/manifest.ts';
import { WSR88D } from '../../schemas/reference/wsr88d.ts';
import { EventDay } from '../../schemas/tables/derived.ts';
import { type Watch, watches } from '../../schemas/tables/feeds.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { type DayMax, dayMax, detections, frames, uncovered } from '../../schemas/tables/radar.ts';
import { addDays, MS_PER_DAY, MS_PER_MIN, scanId, timestamp } from '../../schemas/time.ts';
import { openArchive } from '../support/data/archive.ts';
import { logicalContent, sameContent } from '../support/data/content.ts';
import { drawTenths } from '../support/data/draw.ts';
import { drawPixels } from '../support/data/pixels.ts';
import { DAY, DAY_MS, dayMaxRow, frameRow, pluck } from '../support/data/rows.ts';
import { aroundMidnight, midnight } from '../support/data/small-world.ts';
import { headsOf } from '../support/data/table-reading.ts';
import {
  asObserved,
  filesOf,
  ingest,
  MONTH_LATER_MS,
  onRoot,
  preparedMonth,
  publish,
  publishedRoot,
  type RawScan,
  scratch,
  scansBetween as tinyScansBetween,
} from '../support/data/world.ts';
import { faultsOf } from '../support/kill/killed.ts';

const at = (minute: number) => DAY_MS + minute * 60_000;

async function engineOf(t: ExecutionContext) {
  const engine = await openEngine();
  t.teardown(engine.close);
  return engine;
}

/** What several files of day maxima add up to. */
async function merged(t: ExecutionContext, ...files: readonly (readonly Partial<DayMax>[])[]): Promise<DayMax[]> {
  const engine = await engineOf(t);
  const folder = await scratch(t);
  const paths = files.map((_, index) => join(folder, `${index}.parquet`));
  for (const [index, rows] of files.entries())
    await stageRows(engine, dayMax, rows.map(dayMaxRow), paths[index] as string, 'observed');
  const rows = await engine.rows<DayMax>(`${mergedDayMaxSql(paths, null)} ORDER BY "row", col, interpolated`);
  return rows.map((row) => ({ ...row, storm_date: DAY }));
}

test('the larger value of a pixel wins, with its time, confidence and companions', async (t) => {
  const [row, ...more] = await merged(
    t,
    [{ max_mm: 20, max_time: at(0), confidence: 0.2, vil_kg_m2: 30 }],
    [{ max_mm: 40, max_time: at(2), confidence: 0.7, vil_kg_m2: null }],
    [{ max_mm: 30, max_time: at(4), confidence: 0.9, vil_kg_m2: 50 }],
  );
  t.deepEqual(more, []);
  t.deepEqual([row?.max_mm, row?.max_time, row?.confidence, row?.vil_kg_m2], [40, at(2), 0.7, null]);
});

test('of equal values the earliest wins, in whatever order the files come', async (t) => {
  const [early, late] = [
    { max_mm: 40, max_time: at(2), confidence: 0.1 },
    { max_mm: 40, max_time: at(8), confidence: 0.9 },
  ];
  t.is((await merged(t, [early], [late]))[0]?.confidence, 0.1);
  t.is((await merged(t, [late], [early]))[0]?.confidence, 0.1);
});

test('times widen and counts add up; a stretch without a detection adds none', async (t) => {
  const [row] = await merged(
    t,
    [{ first_detected: at(4), last_detected: at(8), detection_scans: 3, severe_scans: 1 }],
    [{ first_detected: at(0), last_detected: at(2), detection_scans: 2, severe_scans: 0 }],
    [{ max_mm: 7, first_detected: null, last_detected: null, detection_scans: 0, severe_scans: 0, confidence: null }],
  );
  t.deepEqual([row?.first_detected, row?.last_detected, row?.detection_scans, row?.severe_scans], [at(0), at(8), 5, 1]);
});

test('what was filled in between scans stays a row of its own, where it is more than any scan saw', async (t) => {
  const filled = (col: number, max_mm: number) => ({
    col,
    max_mm,
    interpolated: true,
    confidence: null,
    first_detected: null,
    last_detected: null,
    detection_scans: 0,
  });
  const rows = await merged(
    t,
    [{ col: 1, max_mm: 30 }, { col: 2, max_mm: 30 }, filled(1, 40), filled(2, 20), filled(3, 12)],
    [{ col: 2, max_mm: 35 }, filled(3, 15)],
  );
  t.deepEqual(pluck(rows, 'col'), [1, 1, 2, 3]);
  t.deepEqual(pluck(rows, 'max_mm'), [30, 40, 35, 15]);
  t.deepEqual(pluck(rows, 'interpolated'), [false, true, false, true]);
});

test('adding up in steps gives what adding up at once gives', async (t) => {
  const one = [{ max_mm: 20, max_time: at(0) }];
  const two = [{ max_mm: 40, max_time: at(2), detection_scans: 4 }];
  const three = [{ max_mm: 40, max_time: at(4), severe_scans: 2 }];
  const atOnce = await merged(t, one, two, three);
  t.deepEqual(await merged(t, await merged(t, one, two), three), atOnce);
  t.deepEqual(await merged(t, one, await merged(t, two, three)), atOnce);
});

/** A scan of two by two pixels so many minutes into the day; sizes in tenths of a millimetre. */
function scanAt(minute: number, tenths: readonly number[], filled: ScanOfDay['filled'] = []): ScanOfDay {
  const values = [tenths.slice(0, 2), tenths.slice(2)];
  const detections = values.flatMap((line, r) =>
    line.flatMap((value, c) => (value >= 100 ? [{ row: 1500 + r, col: 3500 + c, confidence: value / 1000 }] : [])),
  );
  return { scan_time: at(minute), mesh: drawTenths(values), companions: {}, detections, filled };
}

function maximumOf(scans: readonly ScanOfDay[]): DayMax[] {
  const maximum = emptyDayMaximum();
  for (const scan of scans) updateDayMaximum(maximum, scan);
  return dayMaxRows(maximum, DAY);
}

test('files of any split of the scans, merged in any order, give the rows of the whole day', async (t) => {
  const engine = await engineOf(t);
  const folder = await scratch(t);
  const tenths = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 4, maxLength: 4 });
  const drawn = fc.record({ minute: fc.nat(200), tenths, file: fc.nat(2) });
  const days = fc.uniqueArray(drawn, { selector: ({ minute }) => minute, minLength: 1, maxLength: 12 });
  const property = fc.asyncProperty(days, fc.boolean(), async (day, backwards) => {
    const scans = day.map(({ minute, tenths, file }) => ({
      file,
      scan: scanAt(minute, tenths, [{ row: 1500, col: 3500 + file, mm: 20 + file, time: at(minute) }]),
    }));
    const paths: string[] = [];
    for (const [file, members] of Map.groupBy(scans, (one) => one.file)) {
      const path = join(folder, `${file}.parquet`);
      const rows = maximumOf(members.map(({ scan }) => scan));
      await stageRows(engine, dayMax, backwards ? rows.toReversed() : rows, path, 'observed');
      paths.push(path);
    }
    const query = mergedDayMaxSql(backwards ? paths.toReversed() : paths, null);
    const merged = await engine.rows<DayMax>(`SELECT * FROM (${query}) ORDER BY "row", col, interpolated`);
    const whole = maximumOf(scans.map(({ scan }) => scan));
    const dated = merged.map((row) => ({ ...row, storm_date: DAY }));
    t.deepEqual(dated, whole);
  });
  await fc.assert(property, { numRuns: 25 });
});

const DATE = { partition: '2026-05-01', provenance: 'observed', storm_day_start_hour: 0, closed: false } as const;
const NOW_MS = Date.parse('2026-05-01T20:30:00Z');

const scan = (scan_id: string, segment = scan_id, inputs = 'a') => ({ scan_id, segment, inputs });

function file(path: string, segment: string): PublishedFile {
  return {
    path,
    kind: 'table',
    table: 'cells',
    segment,
    rows: 1,
    bytes: 1,
    sha256: 'ab'.repeat(32),
    schema_version: 1,
    first_scan: null,
    last_scan: null,
    bbox: null,
    max_size_mm: null,
  };
}

const staged = (path: string, segment: string) => ({ staged: '', entry: file(path, segment) });

/** A manifest with the scans A and B, each a segment with a file of its own, at commit 7. */
const MANIFEST: Manifest = {
  ...nextManifest(null, { ...DATE, add_files: [staged('a', 'A'), staged('b', 'B')] }, 0),
  commit: 7,
  table_commits: { cells: 5, tracks: 7 },
  scans: [scan('A'), scan('B')],
  feeds: { MESH: '2026-05-01T20:00:00Z', POSH: '2026-05-01T20:00:00Z' },
};

/** The parts of a manifest that its edits are about, in short. */
function brief({ commit, closed, scans, files, table_commits }: Manifest) {
  return {
    commit,
    closed,
    table_commits,
    scans: scans.map(({ scan_id, segment, inputs }) => `${scan_id} ${segment} ${inputs}`),
    files: files.map(({ path, segment }) => `${path} ${segment}`),
  };
}

const SAME = {
  commit: 8,
  closed: false,
  table_commits: { cells: 5, tracks: 7 },
  scans: ['A A a', 'B B a'],
  files: ['a A', 'b B'],
};

const EDITS: readonly (readonly [title: string, changes: Partial<Edit>, expected: Partial<typeof SAME>])[] = [
  ['an edit without changes only counts the commit', {}, {}],
  ['added scans come in order of time', { add_scans: [scan('AB')] }, { scans: ['A A a', 'AB AB a', 'B B a'] }],
  [
    'a scan that is added again replaces its entry',
    { add_scans: [scan('A', 'A2', 'b')] },
    { scans: ['A A2 b', 'B B a'] },
  ],
  [
    'a dropped segment takes its scans and files with it',
    { drop_segments: ['A'] },
    { scans: ['B B a'], files: ['b B'] },
  ],
  ['a segment nobody knows drops nothing', { drop_segments: ['X'] }, {}],
  [
    'a segment is replaced by what is added in the same edit',
    { drop_segments: ['A', 'B'], add_scans: [scan('A', 'day'), scan('B', 'day')], add_files: [staged('c', 'day')] },
    { scans: ['A day a', 'B day a'], files: ['c day'] },
  ],
  ['a file that is added again replaces its entry', { add_files: [staged('a', 'A2')] }, { files: ['b B', 'a A2'] }],
  [
    'a file listed again under another segment outlives the one it was in',
    { drop_segments: ['A'], relist_files: [file('a', 'hour')] },
    { scans: ['B B a'], files: ['b B', 'a hour'] },
  ],
  [
    'changed tables take the number of the commit, others keep theirs',
    { changed_tables: ['cells'] },
    { table_commits: { cells: 8, tracks: 7 } },
  ],
  ['a date is closed by the edit that says so', { closed: true }, { closed: true }],
];

for (const [title, changes, expected] of EDITS)
  test(title, (t) => {
    t.deepEqual(brief(nextManifest(MANIFEST, { ...DATE, ...changes }, NOW_MS)), { ...SAME, ...expected });
  });

test('the first manifest of a partition is commit 1 and holds what is added', (t) => {
  const first = nextManifest(null, { ...DATE, add_scans: [scan('A')], changed_tables: ['cells'] }, NOW_MS);
  t.deepEqual(brief(first), { ...brief(first), commit: 1, scans: ['A A a'], files: [], table_commits: { cells: 1 } });
  t.is(first.committed_at, '2026-05-01T20:30:00Z');
});

test('rows came in with the commit, unless the edit says of which published rows it was made', (t) => {
  const brought = nextManifest(MANIFEST, DATE, NOW_MS);
  t.is(ingestedAt(brought), '2026-05-01T20:30:00Z');
  const joined = nextManifest(brought, { ...DATE, ingested_at: ingestedAt(brought) }, NOW_MS + 86_400_000);
  t.deepEqual([joined.committed_at, ingestedAt(joined)], ['2026-05-02T20:30:00Z', '2026-05-01T20:30:00Z']);
  t.is(ingestedAt(nextManifest(joined, DATE, NOW_MS + 2 * 86_400_000)), '2026-05-03T20:30:00Z');
});

test('feeds keep the newest time of each product', (t) => {
  const feeds = { MESH: Date.parse('2026-05-01T20:10:00Z'), POSH: Date.parse('2026-05-01T19:00:00Z') };
  t.deepEqual(nextManifest(MANIFEST, { ...DATE, feeds }, NOW_MS).feeds, {
    MESH: '2026-05-01T20:10:00Z',
    POSH: '2026-05-01T20:00:00Z',
  });
});

test('data of the other provenance begin with feeds of their own', (t) => {
  const other = { ...DATE, provenance: 'simulated', feeds: { VIL: 0 } } as const;
  t.deepEqual(nextManifest(MANIFEST, other, NOW_MS).feeds, { VIL: '1970-01-01T00:00:00Z' });
});

const HEADS_DATE = '2026-05-02';
const [FIRST, LAST] = ['2026-05-01', '2026-05-02'] as const;
const INGESTED = '2026-05-02T00:55:00Z';
/** A data clock so many days into June. */
const clock = (days: number) => Date.parse(addDays('2026-06-01', days));

test('only new rows and rows made again from raw files move the ingest time of a date; joining and drawing do not', async (t) => {
  const scans = await midnight();
  const settings = { reflectivity_keep_hours: 1e6 };
  const path = await publishedRoot(t, scans.slice(0, -1), settings);
  const timesOf = async (partition: string) => {
    const list = await readNewest(path, partition);
    return list === null ? null : [list.committed_at, ingestedAt(list)];
  };
  t.deepEqual(await timesOf(FIRST), [INGESTED, INGESTED]);
  await onRoot(path, settings, async ({ root }) => {
    const steps = [
      ['draws', () => deriveDate(root, FIRST, clock(1))],
      ['drops archives', () => expireReflectivity(root, 0, clock(2))],
      ['closes', () => compactDay(root, FIRST, clock(3))],
    ] as const;
    for (const [step, [title, work]] of steps.entries()) {
      await work();
      t.deepEqual(await timesOf(FIRST), [timestamp(clock(step + 1)), INGESTED], title);
    }
    await compactMonth(root, '2026-05', clock(4));
    t.deepEqual(await timesOf(layout.monthPartition('2026-05')), [timestamp(clock(4)), INGESTED]);
    t.deepEqual(await timesOf(LAST), [timestamp(clock(2)), INGESTED], 'its archives were dropped');
  });
  await onRoot(path, { ...settings, now_ms: clock(5) }, async ({ session }) => {
    await session.rebuild(FIRST);
    await session.ingest(filesOf(scans.slice(-1)));
  });
  for (const date of [FIRST, LAST]) t.deepEqual(await timesOf(date), [timestamp(clock(5)), timestamp(clock(5))]);
});

/** Blocks of two rows, as runs that may touch. */
const PATCHES: readonly UncoveredPatch[] = [
  { row_first: 0, row_last: 9, col_first: 0, col_last: 19 },
  { row_first: 0, row_last: 9, col_first: 0, col_last: 29 },
  { row_first: 10, row_last: 19, col_first: 10, col_last: 19 },
  { row_first: 10, row_last: 14, col_first: 10, col_last: 19 },
];
const scanOf = (minute: number, held: readonly number[]) => ({
  storm_date: DAY,
  scan_time: DAY_MS + minute * 60_000,
  uncovered: held.map((index) => PATCHES[index] as UncoveredPatch),
});

test('what stays uncovered from scan to scan is one row, and a scan that covers it ends it', (t) => {
  const [first, second] = PATCHES as [UncoveredPatch, UncoveredPatch];
  const at = (minute: number) => DAY_MS + minute * 60_000;
  t.deepEqual(uncoveredRows([scanOf(0, [0]), scanOf(2, [0, 1]), scanOf(4, [1]), scanOf(30, [0, 1])]), [
    { storm_date: DAY, ...first, first_scan: at(0), last_scan: at(2), scans: 2 },
    { storm_date: DAY, ...second, first_scan: at(2), last_scan: at(30), scans: 3 },
    { storm_date: DAY, ...first, first_scan: at(30), last_scan: at(30), scans: 1 },
  ]);
});

test('rows of scans that are published in pieces and joined are those of all scans at once, however they are cut', async (t) => {
  const engine = await engineOf(t);
  const folder = await scratch(t);
  const step = fc.record({ held: fc.subarray([0, 1, 2, 3]), endsPiece: fc.boolean(), endsHour: fc.boolean() });
  const history = fc.array(step, { minLength: 1, maxLength: 12 });
  const property = fc.asyncProperty(history, async (drawn) => {
    const scans = drawn.map(({ held }, index) => scanOf(2 * index, held));
    const framePath = join(folder, 'frames.parquet');
    const frameRows = scans.map(({ scan_time }) => frameRow(DAY, scan_time));
    await stageRows(engine, frames, frameRows, framePath, 'observed');
    const merge = async (paths: readonly string[], name: string) => {
      const path = join(folder, `${name}.parquet`);
      await stageQuery(engine, uncovered, mergedUncoveredSql(paths, [framePath]), path, 'observed');
      return path;
    };
    const hours: string[] = [];
    let pieces: string[] = [];
    let piece: (typeof scans)[number][] = [];
    for (const [index, scan] of scans.entries()) {
      piece.push(scan);
      const isLast = index === scans.length - 1;
      if (!isLast && !drawn[index]?.endsPiece) continue;
      const path = join(folder, `piece-${index}.parquet`);
      await stageRows(engine, uncovered, uncoveredRows(piece), path, 'observed');
      pieces.push(path);
      piece = [];
      if (!isLast && !drawn[index]?.endsHour) continue;
      hours.push(await merge(pieces, `hour-${index}`));
      pieces = [];
    }
    const whole = join(folder, 'whole.parquet');
    await stageRows(engine, uncovered, uncoveredRows(scans), whole, 'observed');
    const joined = await readRows(engine, uncovered, [await merge(hours, 'day')]);
    t.deepEqual(joined, await readRows(engine, uncovered, [whole]));
    for (const path of hours) await rm(path);
  });
  await fc.assert(property, { numRuns: 25 });
});

async function published(t: Parameters<typeof scratch>[0]) {
  const root = await publishedRoot(t, await tinyScansBetween('00:00', '00:13'));
  return { root, manifest: (await readNewest(root, HEADS_DATE)) as Manifest };
}

test('hyparquet reads every table file: the rows of the manifest, the columns of the schema, its version', async (t) => {
  const { root, manifest } = await published(t);
  const files = manifest.files.filter((file) => file.kind === 'table');
  t.true(files.length >= 7);
  for (const { path, table: name, rows } of files) {
    const table = TABLES.find((candidate) => candidate.name === name);
    if (table === undefined) return t.fail(path);
    const file = await asyncBufferFromFile(join(root, path));
    const metadata = await parquetMetadataAsync(file);
    t.is(Number(metadata.num_rows), rows, path);
    t.deepEqual(pluck(metadata.schema.slice(1), 'name'), pluck(columns(table), 'name'));
    const notes = new Map(metadata.key_value_metadata?.map(({ key, value }) => [key, value]));
    t.is(notes.get('hail_table'), table.name);
    t.is(notes.get('schema_version'), String(table.schema_version));
    t.is(notes.get('source'), 'simulated', path);
    t.deepEqual(JSON.parse(notes.get('columns') ?? ''), columnNotes(table, 'us since 1970 UTC'), path);
    const codecs = [
      ...new Set(metadata.row_groups.flatMap((group) => group.columns.map((one) => one.meta_data?.codec))),
    ];
    t.deepEqual(codecs, ['ZSTD']);
    t.is((await parquetReadObjects({ file, compressors })).length, rows);
  }
});

/** Unit and description of every column of a table, as its schema declares them. */
function columnNotes(table: Table, instant_unit: string): object {
  const notes = columns(table).map(({ name, type, unit, description }) => {
    return [name, { unit: type === 'TIMESTAMPTZ' ? instant_unit : unit, description }] as const;
  });
  return Object.fromEntries(notes);
}

test('DuckDB reads in a file that travelled alone what it holds, in which units, and that it is simulated', async (t) => {
  const { root, manifest } = await published(t);
  const file = manifest.files.find(({ table }) => table === 'detections')?.path as string;
  const alone = join(await scratch(t, 'elsewhere'), 'detections.parquet');
  await fs.mkdir(dirname(alone));
  await fs.copyFile(join(root, file), alone);
  const engine = await engineOf(t);
  const notes = await engine.rows<{ key: string; value: string }>(
    `SELECT decode(key) AS key, decode(value) AS value FROM parquet_kv_metadata('${alone}') ORDER BY key`,
  );
  t.deepEqual(pluck(notes, 'key'), ['columns', 'hail_table', 'schema_version', 'source']);
  t.is(notes[3]?.value, 'simulated');
  t.like(JSON.parse(notes[0]?.value ?? ''), {
    estimated_size_mm: {
      unit: 'mm',
      description: 'MRMS MESH of the pixel as NOAA publishes it; above 150 mm stored as 150.',
    },
  });
});

test('files of a month say that both provenances are in it, those of its dates say their own', async (t) => {
  const root = await scratch(t);
  await publish(root, await tinyScansBetween('23:50', '00:00'));
  await ingest(root, await asObserved(t, await tinyScansBetween('00:00', '00:10')));
  await ingest(root, [], { now_ms: MONTH_LATER_MS });
  const engine = await engineOf(t);
  for (const [partition, source] of [
    ['2026-05-01', 'simulated'],
    ['2026-05-02', 'observed'],
    ['month-2026-05', 'mixed'],
  ] as const) {
    const manifest = (await readNewest(root, partition)) as Manifest;
    t.is(manifest.source, source);
    for (const { path } of manifest.files.filter(({ kind }) => kind === 'table'))
      t.is((await readNotes(engine, join(root, path))).get('source'), source, path);
    for (const { path } of manifest.files.filter(({ kind }) => kind.endsWith('tiles'))) {
      const { metadata } = await openArchive(new Uint8Array(await fs.readFile(join(root, path))));
      t.is(metadata.source, source, path);
    }
  }
  const { live, source } = (await readCurrent(root)) as Current;
  t.is(source, 'observed');
  const { schema } = tableFromIPC(await fs.readFile(join(root, live.tracks)));
  t.is(schema.metadata.get('source'), 'mixed');
  t.deepEqual(await faultsOf(root), []);
});

test('hyparquet and DuckDB read the same detections', async (t) => {
  const { root, manifest } = await published(t);
  const paths = manifest.files.filter((file) => file.table === 'detections').map((file) => join(root, file.path));
  const objects = await parquetReadObjects({ file: await asyncBufferFromFile(paths[0] as string), compressors });
  const engine = await openEngine();
  const rows = await readRows<Record<string, unknown>>(engine, detections, paths.slice(0, 1));
  engine.close();
  const plain = (row: Record<string, unknown>) =>
    Object.values(row).map((value) =>
      value instanceof Date ? value.getTime() : typeof value === 'bigint' ? Number(value) : value,
    );
  const dated = (row: Record<string, unknown>) => plain({ ...row, storm_date: Date.parse(String(row.storm_date)) });
  t.deepEqual(objects.map(plain), rows.map(dated));
});

test('DuckDB reads the manifest of a date as one hive-partitioned table', async (t) => {
  const { root, manifest } = await published(t);
  const engine = await engineOf(t);
  const files = manifest.files.filter((file) => file.table === 'detections');
  const [found] = await engine.rows<{ rows: number; dates: number; date: string }>(
    `SELECT count(*) AS rows, count(DISTINCT date) AS dates, min(date)::VARCHAR AS date
     FROM read_parquet(${sqlList(files.map((file) => join(root, file.path)))}, hive_partitioning = true)`,
  );
  t.deepEqual(found, { rows: files.reduce((sum, file) => sum + file.rows, 0), dates: 1, date: HEADS_DATE });
});

test('the manifest says box, largest size and times of a file as they are', async (t) => {
  const { root, manifest } = await published(t);
  const file = manifest.files.find((one) => one.table === 'detections');
  if (file === undefined) return t.fail();
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(join(root, file.path)), compressors });
  const of = (name: string) => rows.map((row) => Number(row[name]));
  t.deepEqual(file.bbox, [
    Math.min(...of('lon')),
    Math.min(...of('lat')),
    Math.max(...of('lon')),
    Math.max(...of('lat')),
  ]);
  t.is(file.max_size_mm, Math.max(...of('estimated_size_mm')));
  t.deepEqual([file.first_scan, file.last_scan], [manifest.scans[0]?.scan_id, manifest.scans.at(-1)?.scan_id]);
});

for (const [table, column] of [
  ['swaths', 'geometry'],
  ['event-days', 'hull'],
] as const)
  test(`${table} carry GeoParquet metadata, and DuckDB reads their polygons`, async (t) => {
    const { root, manifest } = await published(t);
    const path = join(root, manifest.files.find((file) => file.table === table)?.path as string);
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(path));
    const geo = JSON.parse(metadata.key_value_metadata?.find(({ key }) => key === 'geo')?.value ?? 'null') as {
      primary_column: string;
      columns: Record<string, { encoding: string }>;
    };
    t.is(geo.primary_column, column);
    t.is(geo.columns[column]?.encoding, 'WKB');
    const engine = await engineOf(t);
    const rows = await engine.rows<{ wkt: string }>(
      `SELECT ST_AsText("${column}") AS wkt FROM read_parquet('${path}')`,
    );
    t.true(rows.length > 0);
    for (const { wkt } of rows) t.regex(wkt, /^(MULTI)?POLYGON \(\(/);
  });

test('rows are sorted in space, so that a question about one place skips most row groups', async (t) => {
  const engine = await engineOf(t);
  const pixels = Array.from({ length: 4 * ROW_GROUP_ROWS }, (_, index) => {
    const shuffled = (index * 40_503) % 65_536; // odd factor: every number once, in no order
    return dayMaxRow({ row: 1500 + (shuffled >> 8), col: 3000 + (shuffled & 255) });
  });
  const path = join(await scratch(t), 'day-max.parquet');
  const facts = await stageRows(engine, dayMax, pixels, path, 'observed');
  t.is(facts.rows, pixels.length);
  const { row_groups } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  t.is(row_groups.length, 4);
  const range = (group: (typeof row_groups)[number], name: string) => {
    const stats = group.columns.find((one) => one.meta_data?.path_in_schema[0] === name)?.meta_data?.statistics;
    return [Number(stats?.min_value), Number(stats?.max_value)] as [number, number];
  };
  const [row, col] = [1620, 3100];
  const holds = ([low, high]: [number, number], value: number) => low <= value && value <= high;
  const asked = row_groups.filter((group) => holds(range(group, 'row'), row) && holds(range(group, 'col'), col));
  t.true(asked.length <= 2, `${asked.length} row groups hold the place`);
});

test('rows with a missing value where one must be are refused', async (t) => {
  const engine = await engineOf(t);
  const path = join(await scratch(t), 'x.parquet');
  const bad = { ...dayMaxRow({}), max_mm: Number.NaN };
  await t.throwsAsync(stageRows(engine, dayMax, [bad], path, 'observed'), {
    message: /max_mm is NaN, expected a value/,
  });
});

test('the pmtiles reader opens every archive, and every tile it addresses decodes', async (t) => {
  const { root, manifest } = await published(t);
  const archives = manifest.files.filter((file) => file.kind.endsWith('tiles'));
  t.is(archives.length, manifest.scans.length + 1);
  for (const { path, rows } of archives) {
    const archive = await openArchive(new Uint8Array(await fs.readFile(join(root, path))));
    t.is(archive.coords.length, rows);
    t.is(archive.header.maxZoom, 10);
    t.deepEqual([archive.metadata.attribution, archive.metadata.source], ['simulated', 'simulated']);
    for (const { z, x, y } of archive.coords.slice(0, 20)) t.truthy(await archive.tile(z, x, y));
  }
});

test('the live snapshot opens in Arrow with the columns of its tables and the rows of the last scans', async (t) => {
  const { root, manifest } = await published(t);
  const current = await readCurrent(root);
  if (current === null) return t.fail();
  t.deepEqual([current.scan_id], [manifest.scans.at(-1)?.scan_id]);
  t.deepEqual([current.live.first_scan], [manifest.scans[0]?.scan_id]);
  for (const name of ['detections', 'cells', 'tracks'] as const) {
    const table = tableFromIPC(await fs.readFile(join(root, current.live[name])));
    const published = manifest.files.filter((file) => file.table === name).reduce((sum, file) => sum + file.rows, 0);
    t.is(table.numRows, published);
    const declared = TABLES.find((candidate) => candidate.name === name) ?? detections;
    const { metadata, fields } = table.schema;
    t.deepEqual([metadata.get('hail_table'), metadata.get('source')], [name, 'simulated']);
    t.deepEqual(JSON.parse(metadata.get('columns') ?? ''), columnNotes(declared, 'ms since 1970 UTC'));
    const told = fields.map((field) => [field.metadata.get('unit') ?? null, field.metadata.get('description')]);
    const meant = columns(declared).map(({ unit, description }) => [unit, description]);
    t.deepEqual(told, meant);
    t.deepEqual(table.schema.names, pluck(columns(declared), 'name'));
  }
});

test('hyparquet reads outlines that may be null, of files with and without any', async (t) => {
  const engine = await engineOf(t);
  const unknown = { begins_at: null, areas: null, watch_probability_pct: null, hail_size_mm: null, gust_kmh: null };
  const issued = { number: 1, issued_at: 0, expires_at: 1, headline: '', is_cancelled: false, replaces: '' };
  const watch = (watch_id: string, geometry: string | null): Watch => ({
    ...{ watch_id, type: 'tornado_watch', ...issued, ...unknown, geometry },
    ...{ west: null, south: null, east: null, north: null },
    ...{ data_source: 'observed', received_at: 0, is_current: true },
  });
  const outline = 'POLYGON ((-98 35, -97 35, -97 36, -98 35))';
  const folder = await scratch(t);
  for (const [name, rows, kinds] of [
    ['none', [watch('a', null)], [null]],
    ['some', [watch('a', null), watch('b', outline)], [null, 'Polygon']],
  ] as const) {
    const path = join(folder, `${name}.parquet`);
    await stageRows(engine, watches, rows, path, 'observed');
    const read = await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors });
    const types = read.map(({ geometry }) => geometry?.type ?? null);
    t.deepEqual(types, [...kinds]);
  }
});
const LIVE_TABLES = ['cells', 'detections', 'tracks'];
const SECONDS_10 = 10_000;

/** A folder of live files, and a clock that stands until it is moved. */
async function liveFolder(t: ExecutionContext) {
  const root = await scratch(t, 'live "root"');
  mkdirSync(join(root, layout.live), { recursive: true });
  const clock = { ms: 0 };
  /** Writes the files of one snapshot; their paths. */
  const write = (n: number, hash = '00000000') => {
    const paths = LIVE_TABLES.map((table) => `${layout.live}/${scanId(n * SECONDS_10)}-${hash}.${table}.arrow`);
    for (const path of paths) writeFileSync(join(root, path), '');
    return paths;
  };
  const live = { scans: [], snapshots: [] };
  const retire = (paths: readonly string[]) => retireSnapshots({ path: root, live }, paths, clock.ms);
  const count = () => readdirSync(join(root, layout.live)).length;
  return { root, clock, write, retire, count };
}

test('the newest snapshots stay, and older ones are deleted, however quickly scans come', async (t) => {
  const { root, clock, write, retire, count } = await liveFolder(t);
  for (let n = 0; n < 3 * KEPT_SNAPSHOTS; n++) {
    clock.ms += SECONDS_10;
    await retire(write(n));
  }
  t.is(count(), KEPT_SNAPSHOTS * LIVE_TABLES.length);
  t.true(write(3 * KEPT_SNAPSHOTS - 1).every((path) => existsSync(join(root, path))));
});

test('a snapshot that was replaced a moment ago stays, however many came after it', async (t) => {
  const { clock, write, retire, count } = await liveFolder(t);
  for (let n = 0; n < 2 * KEPT_SNAPSHOTS; n++) await retire(write(n));
  t.is(count(), 2 * KEPT_SNAPSHOTS * LIVE_TABLES.length);
  clock.ms += KEPT_MS;
  await retire(write(2 * KEPT_SNAPSHOTS));
  t.is(count(), KEPT_SNAPSHOTS * LIVE_TABLES.length);
});

test('a snapshot that is published again stays', async (t) => {
  const { root, clock, write, retire } = await liveFolder(t);
  const first = write(0);
  await retire(first);
  for (let n = 1; n < KEPT_SNAPSHOTS; n++) await retire(write(n));
  await retire(first);
  clock.ms += KEPT_MS;
  await retire(write(KEPT_SNAPSHOTS));
  t.true(first.every((path) => existsSync(join(root, path))));
});

test('a file that is gone already stops nothing', async (t) => {
  const { clock, write, retire } = await liveFolder(t);
  for (let n = 0; n < KEPT_SNAPSHOTS; n++) await retire(write(n).map((path) => `${path} gone`));
  clock.ms += KEPT_MS;
  await t.notThrowsAsync(retire(write(KEPT_SNAPSHOTS)));
});

const FACTS: Parameters<typeof eventDay>[1] = {
  storm_date: DAY,
  cell_count: 2,
  max_size_mm: 22,
  n_detections: 9,
  first_detected: DAY_MS,
  last_detected: DAY_MS + 100,
};

test('one pixel is its own box', (t) => {
  const event = eventDay({ rows: [1500], cols: [3000] }, FACTS);
  t.is(event.hull, 'POLYGON ((-100 39.99, -99.99 39.99, -99.99 40, -100 40, -100 39.99))');
  t.true(Math.abs(event.affected_area_km2 / pixelAreaKm2(1500) - 1) < 1e-6);
});

test('an event day is what its detections add up to, with the hull of their pixels and its centre inside', (t) => {
  const pixels = drawPixels(`
    1 . . 1
    . . . .
    . . 1 .`);
  const event = eventDay(pixels, FACTS);
  t.deepEqual(EventDay.parse(event), event);
  t.like(event, FACTS);
  t.true(
    event.centroid_lat > 39.97 && event.centroid_lat < 40 && event.centroid_lon > -100 && event.centroid_lon < -99.96,
  );
});

test('the order of the pixels changes nothing, nor does one that is named twice', (t) => {
  const { rows, cols } = drawPixels(`
    1 . 1 1
    1 1 . 1`);
  const day = eventDay({ rows, cols }, FACTS);
  const turned = { rows: [...rows].reverse(), cols: [...cols].reverse() };
  t.deepEqual(eventDay(turned, FACTS), day);
  t.deepEqual(eventDay({ rows: [...rows, ...turned.rows], cols: [...cols, ...turned.cols] }, FACTS), day);
});

const KEEP_DATES = 7;
const WINDOW = { row0: 1900, col0: 3200, rows: 150, cols: 200 };

/** Raw files of the simulated scans of the five minutes after an instant. */
async function scansAfter(t: ExecutionContext, from_ms: number): Promise<readonly SourceFile[]> {
  const out = await scratch(t, 'scan');
  const scenario = { seed: 41, window: WINDOW, day_type: 'outbreak', steady: true, sites: WSR88D } as const;
  for await (const _ of writeScans(scenario, { from_ms, to_ms: from_ms + 5 * MS_PER_MIN, out }));
  return (await listFolder(out)).files;
}

/** A root that ingests, forgets old scans by the newest one, closes dates that are over, and sweeps. */
async function pass(root: string, files: readonly SourceFile[], now_ms: number): Promise<void> {
  await onRoot(root, { now_ms }, async ({ root: open, session }) => {
    await session.ingest(files);
    await session.finishDates();
    await clearOldSimulated(open, KEEP_DATES, now_ms);
    await session.finishDates();
    const old_s = (Date.now() - MS_PER_DAY) / 1000;
    for (const name of await filesBelow(root)) await fs.utimes(join(root, name), old_s, old_s);
    await session.sweep();
  });
}

/** The root is whole, and only these dates have scans. */
async function holdsOnly(t: ExecutionContext, root: string, dates: readonly string[]): Promise<void> {
  const engine = await engineOf(t);
  t.deepEqual((await verifyRoot(engine, root, null, () => {})).faults, []);
  const heads = (await headsOf(root)).filter(({ partition }) => /^\d{4}-\d\d-\d\d$/.test(partition));
  const held = heads.filter(({ scans }) => scans.count > 0);
  t.deepEqual(pluck(held, 'partition'), dates);
  const named = (await filesBelow(join(root, 'tables'))).flatMap((path) => /date=([^/]+)/.exec(path)?.[1] ?? []);
  t.deepEqual([...new Set(named)], dates);
}

test('simulated dates that are too old go from the disk, and their month with the last of them', async (t) => {
  const root = await scratch(t);
  const evening = (await aroundMidnight()).flatMap(({ files }) => files);
  const may_10 = Date.parse('2026-05-10T00:00:00Z');
  await pass(root, [...evening, ...(await scansAfter(t, may_10 - MS_PER_DAY))], may_10);
  await holdsOnly(t, root, ['2026-05-02', '2026-05-09']);
  await pass(root, await scansAfter(t, may_10), may_10 + MS_PER_DAY);
  await holdsOnly(t, root, ['2026-05-09', '2026-05-10']);
  const june_20 = Date.parse('2026-06-20T00:00:00Z');
  await pass(root, await scansAfter(t, june_20), june_20 + MS_PER_DAY);
  await holdsOnly(t, root, ['2026-06-20']);
  const left = (await filesBelow(join(root, 'tables'))).filter((path) => path.includes('2026-05'));
  t.deepEqual(left, []);
});

test('observed dates, and dates that only a wrong clock calls old, stay', async (t) => {
  const root = await scratch(t);
  const scans = await aroundMidnight();
  const years_ahead_ms = Date.parse('2036-05-01T00:00:00Z');
  await onRoot(root, {}, async ({ root: open, session }) => {
    await session.ingest(scans.flatMap(({ files }) => files));
    await clearOldSimulated(open, KEEP_DATES, years_ahead_ms);
    t.true([...open.heads.values()].every(({ scans }) => scans.count > 0));
  });
  const observed = await scratch(t, 'observed');
  await onRoot(observed, {}, async ({ root: open, session }) => {
    await session.ingest((await asObserved(t, scans)).flatMap(({ files }) => files));
    await clearOldSimulated(open, -1, years_ahead_ms);
    t.true([...open.heads.values()].every(({ scans }) => scans.count > 0));
  });
});

const FINISHED_DATE = '2026-05-01';
const [FIRST_NAME, SECOND_NAME] = [`${FINISHED_DATE}-00000001`, `${FINISHED_DATE}-00000002`] as const;

/** Why the first date that was handed over is refused. */
const reasonOf = (root: string) => fs.readFile(join(root, layout.rejectedDateReason(FIRST_NAME)), 'utf8');

/** Three scans of a date, and a root that holds them. */
async function publishedThree(t: ExecutionContext) {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  cpSync(await preparedMonth(scans), root, { recursive: true });
  return { scans, root };
}

/** Puts a date that was made of some scans into the inbox of a root. Returns its folder. */
async function handOver(root: string, name: string, scans: readonly RawScan[]): Promise<string> {
  const folder = join(root, layout.finishedDate(name));
  cpSync(await preparedMonth(scans), folder, { recursive: true });
  return folder;
}

/** Adopts dates until the inbox is empty. Returns what became of each. */
function adoptAll(root: string, storm_day_start_hour = 0): Promise<(readonly [name: string, status: string])[]> {
  return onRoot(root, { now_ms: MONTH_LATER_MS, storm_day_start_hour }, async ({ root: opened }) => {
    const statuses: (readonly [string, string])[] = [];
    for (;;) {
      const adoption = await adoptDate(opened, MONTH_LATER_MS);
      if (adoption === null) return statuses;
      statuses.push([adoption.name, adoption.status]);
    }
  });
}

/** Changes the manifest of a date. */
async function editManifest(folder: string, edit: (manifest: Manifest) => Partial<Manifest>): Promise<void> {
  const manifest = await readNewest(folder, FINISHED_DATE);
  if (manifest === null) throw new Error(`${folder} holds no ${FINISHED_DATE}`);
  const edited = { ...manifest, ...edit(manifest) };
  await fs.writeFile(join(folder, layout.manifest(FINISHED_DATE, edited.commit)), JSON.stringify(edited));
  await fs.writeFile(join(folder, layout.head(FINISHED_DATE)), JSON.stringify(headOf(edited)));
}

/** Path of the first file of a table or kind. */
async function fileOf(folder: string, of: string): Promise<string> {
  const path = (await readNewest(folder, FINISHED_DATE))?.files.find(({ table, kind }) => of === (table ?? kind))?.path;
  if (path === undefined) throw new Error(`${folder} holds no such file`);
  return join(folder, path);
}

async function flipByte(path: string): Promise<void> {
  const bytes = await fs.readFile(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await fs.writeFile(path, bytes);
}

test('a finished date is published whole, and the same date a second time is not committed again', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  await handOver(root, FIRST_NAME, scans);
  await handOver(root, SECOND_NAME, scans);
  t.deepEqual(await adoptAll(root), [
    [FIRST_NAME, 'adopted'],
    [SECOND_NAME, 'published'],
  ]);
  t.is((await readNewest(root, FINISHED_DATE))?.commit, 1);
  sameContent(t, await logicalContent(root), await logicalContent(await preparedMonth(scans)));
  t.deepEqual(await faultsOf(root), []);
  t.deepEqual(await namesIn(join(root, layout.finishedDates)), []);
});

test.serial('a file system without hard links takes a finished date as copies', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  await handOver(root, FIRST_NAME, scans);
  const { link } = fs;
  t.teardown(() => Object.assign(fs, { link }));
  Object.assign(fs, { link: () => Promise.reject(new Error('EPERM: operation not permitted')) });
  t.deepEqual(await adoptAll(root), [[FIRST_NAME, 'adopted']]);
  t.deepEqual(await faultsOf(root), []);
});

const OUTSIDE = `tables/date=${FINISHED_DATE}/../../root.json`;

const REFUSED: readonly (readonly [what: string, reason: RegExp, damage: (folder: string) => Promise<unknown>])[] = [
  [
    'with a flipped byte in a table',
    /'tables\/detections\/.*' has sha256 [0-9a-f]{64}, expected [0-9a-f]{64}/,
    async (folder) => flipByte(await fileOf(folder, 'detections')),
  ],
  [
    'with a short archive of tiles',
    /'tiles\/scan\/.*' has 100 bytes, expected \d+/,
    async (folder) => fs.truncate(await fileOf(folder, 'scan-tiles'), 100),
  ],
  ['without its checkpoint', /'state\/.*' is missing/, async (folder) => fs.rm(await fileOf(folder, 'state'))],
  [
    'without its raw files',
    /scan 20260501T235504Z has other raw files than its manifest states/,
    (folder) => fs.rm(join(folder, layout.raw), { recursive: true }),
  ],
  [
    'with a path outside its folder',
    /'tables\/date=2026-05-01\/..\/..\/root.json' is no path of a published file of the date/,
    (folder) => editManifest(folder, ({ files }) => ({ files: files.map((file) => ({ ...file, path: OUTSIDE })) })),
  ],
  [
    'that is a file',
    /is a file, expected the folder of a finished date/,
    (folder) => fs.rm(folder, { recursive: true }).then(() => fs.writeFile(folder, 'a note')),
  ],
  [
    'that is not closed',
    /has no manifest of a closed date with scans/,
    (folder) => editManifest(folder, () => ({ closed: false })),
  ],
  [
    'without a manifest',
    /has no manifest of a closed date/,
    (folder) => fs.rm(join(folder, layout.manifests), { recursive: true }),
  ],
  [
    'of another data format',
    /has data format 99/,
    (folder) => fs.writeFile(join(folder, layout.root), JSON.stringify({ manifest_version: 1, format: 99 })),
  ],
  [
    'of another start of the storm day',
    /storm day starts at 12 UTC, expected 0 \(HAIL_STORM_DAY_START_HOUR\)/,
    (folder) => editManifest(folder, () => ({ storm_day_start_hour: 12 })),
  ],
];

for (const [what, reason, damage] of REFUSED)
  test(`a finished date ${what} is refused whole, with the reason`, async (t) => {
    const scans = (await aroundMidnight()).slice(0, 3);
    const root = await scratch(t);
    await damage(await handOver(root, FIRST_NAME, scans));
    await handOver(root, SECOND_NAME, scans);
    t.deepEqual(await adoptAll(root), [
      [FIRST_NAME, 'rejected'],
      [SECOND_NAME, 'adopted'],
    ]);
    t.regex(await reasonOf(root), reason);
    t.deepEqual(await namesIn(join(root, 'inbox/rejected/dates')), [FIRST_NAME, `${FIRST_NAME}.reason.json`]);
    t.deepEqual(await faultsOf(root), []);
  });

test('a finished date that lacks a published scan is refused, and the published scans stay', async (t) => {
  const { scans, root } = await publishedThree(t);
  const before = await logicalContent(root);
  await handOver(root, FIRST_NAME, scans.slice(1));
  t.deepEqual(await adoptAll(root), [[FIRST_NAME, 'rejected']]);
  t.regex(await reasonOf(root), /lacks 1 of 3 published scans \(20260501T235504Z first\), expected all/);
  sameContent(t, await logicalContent(root), before);
});

test('a finished date of the other kind is refused, and the published scans stay', async (t) => {
  const { scans, root } = await publishedThree(t);
  await handOver(root, FIRST_NAME, await asObserved(t, scans));
  t.deepEqual(await adoptAll(root), [[FIRST_NAME, 'rejected']]);
  t.regex(await reasonOf(root), /holds observed data, expected simulated data as the data root holds/);
  t.is((await readNewest(root, FINISHED_DATE))?.source, 'simulated');
});

test('a finished date takes the place of published scans that it holds, too', async (t) => {
  const scans = (await aroundMidnight()).slice(0, 3);
  const root = await scratch(t);
  cpSync(await preparedMonth(scans.slice(0, 2)), root, { recursive: true });
  await handOver(root, FIRST_NAME, scans);
  t.deepEqual(await adoptAll(root), [[FIRST_NAME, 'adopted']]);
  t.is((await readNewest(root, FINISHED_DATE))?.scans.length, 3);
  t.deepEqual(await faultsOf(root), []);
});
