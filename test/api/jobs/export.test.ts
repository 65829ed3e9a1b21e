import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'csv-parse/sync';
import type { FeatureCollection, Point, Polygon } from 'geojson';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { type Catalog, DataUnavailable, type Edition, openCatalog } from '../../../api/catalog.ts';
import { openEngine } from '../../../api/duckdb.ts';
import { makeExport, servedParams, writeExport } from '../../../api/jobs/export.ts';
import { FILE_NAME } from '../../../api/jobs/job.ts';
import { swathOf } from '../../../api/queries/swaths.ts';
import { regionOf } from '../../../api/rules/region.ts';
import type { Services } from '../../../api/services.ts';
import { columns } from '../../../schemas/columns.ts';
import {
  DATASETS,
  type Dataset,
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportParams,
} from '../../../schemas/resources/export-params.ts';
import { EXPORT_TABLES } from '../../../schemas/resources/export-rows.ts';
import { drawTenths } from '../../support/data/draw.ts';
import { PARQUET_READERS, parquetNotes } from '../../support/data/export-readers.ts';
import { publishFeeds } from '../../support/data/feeds.ts';
import { publishDays, standingHail } from '../../support/data/published-days.ts';
import { dayMaxRow } from '../../support/data/rows.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';
import { SCRATCH } from '../../support/data/world.ts';

const DAY = '2026-05-01';
const NEXT = '2026-05-02';
const LATER = '2026-05-05';
const QUIET = '2026-05-09';
const NOW_MS = Date.parse('2026-05-10T00:00:00Z');

const root = mkdtempSync(join(SCRATCH, 'hail-export-'));
const unfed = mkdtempSync(join(SCRATCH, 'hail-export-unfed-'));
const out = mkdtempSync(join(SCRATCH, 'hail-export-out-'));
let catalog: Catalog;
let unfedCatalog: Catalog;

/** From 40 N, 100 W, tenths of a millimetre: one row in Nebraska, two in Kansas. */
const FIELD = drawTenths(
  [
    [0, 0, 200, 0, 0],
    [120, 200, 260, 190, 0],
    [0, 0, 390, 189, 60],
  ],
  { row0: 1499, col0: 3000 },
);

/** Words that a spreadsheet, a shell of SQL or a careless writer would stumble over. */
const HOSTILE = [
  '=HYPERLINK("http://example.org","click")',
  '+1',
  '-2+3',
  '@SUM(A1)',
  '＝1+1',
  '－1',
  `'; COPY (SELECT 1) TO '/tmp/x'; --`,
  'two\r\nlines, "quoted", a comma and NULL',
  '$1 $$ %00 {} \\ ünïcode “quotes” 雹',
  'plain words',
];

test.before(async () => {
  const at = (date: string, ...clocks: string[]) => clocks.map((clock) => Date.parse(`${date}T${clock}:00Z`));
  const hail = standingHail(DAY, FIELD, at(DAY, '20:00', '20:02'));
  const filled = dayMaxRow({
    row: 1500,
    col: 3004,
    max_mm: 45,
    interpolated: true,
    first_detected: null,
    detection_scans: 0,
  });
  const seen = hail.detections.map((detection, k) => ({
    ...detection,
    track_id: k % 3 === 0 ? null : '20260501-a',
    cell_index: k % 3 === 0 ? null : k,
    posh_pct: k % 2 === 0 ? null : 30.5,
    flag_small: k % 2 === 0,
  }));
  const days = [
    { storm_date: DAY, rows: { ...hail, detections: seen, day_max: [...hail.day_max, filled] } },
    { storm_date: NEXT, rows: standingHail(NEXT, drawTenths([[250]], { row0: 1500, col0: 3000 }), at(NEXT, '01:00')) },
  ];
  await publishDays(root, days, 'observed', NOW_MS);
  await publishDays(unfed, days.slice(1), 'simulated', NOW_MS);
  const later = standingHail(LATER, drawTenths([[250]], { row0: 1500, col0: 3000 }), at(LATER, '01:00'));
  await publishDays(unfed, [{ storm_date: LATER, rows: later }], 'observed', NOW_MS);
  const features = HOSTILE.map((words, k) => ({
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [-99.5 + k / 100, k < 5 ? 39.5 : 40.5] },
    properties: {
      ...{
        valid: `${DAY}T20:${10 + k}:00Z`,
        magnitude: 1 + k / 4,
        unit: 'Inch',
        typetext: 'HAIL',
        wfo: 'GLD',
        state: 'KS',
      },
      ...{ city: words, county: words, remark: words, qualifier: 'M', product_id: '202605012100-KGLD-NWUS53-LSRGLD' },
    },
  }));
  const bytes = Buffer.from(JSON.stringify({ type: 'FeatureCollection', features }));
  await publishFeeds(root, [{ name: 'lsrs_20260501.geojson', bytes, received_ms: NOW_MS }], NOW_MS);
  catalog = await openCatalog(root, 0);
  unfedCatalog = await openCatalog(unfed, 0);
});
test.after.always(async () => {
  await catalog.close();
  await unfedCatalog.close();
  for (const folder of [root, unfed, out]) rmSync(folder, { recursive: true, force: true });
});

let files = 0;

type Asked = Partial<ExportParams> & Pick<ExportParams, 'dataset' | 'format'>;

function paramsOf(asked: Asked): ExportParams {
  return { date_start: DAY, date_end: NEXT, bbox: null, state: null, ...asked };
}

async function written(asked: Asked, { cap, from = catalog }: { readonly cap?: number; readonly from?: Catalog } = {}) {
  const params = paramsOf(asked);
  const path = join(out, `${++files}.${params.format}`);
  const options = { signal: new AbortController().signal, ...(cap === undefined ? {} : { cap }) };
  const made = await writeExport(from, params, path, options);
  return { ...made, path, text: () => readFileSync(path, 'utf8') };
}

type Row = Readonly<Record<string, unknown>>;
type Table = { readonly rows: readonly Row[]; readonly names: readonly string[] };

function csvTable(text: string): Table {
  const [names = [], ...cells] = parse(text, { record_delimiter: '\r\n' }) as string[][];
  return { names, rows: cells.map((row) => Object.fromEntries(names.map((name, k) => [name, row[k]]))) };
}

function collection(text: string): FeatureCollection<Point | Polygon, Row> & Row {
  return JSON.parse(text);
}

/** A value as text, whatever a reader made of it: instants as epoch milliseconds, nothing as an empty text. */
function plain(type: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return '';
  if (type === 'TIMESTAMP' || type === 'DATE') {
    const time =
      typeof value === 'bigint' ? Number(value) : typeof value === 'string' ? Date.parse(value) : Number(value);
    return new Date(time).toISOString();
  }
  if (type === 'BOOLEAN') return String(value);
  return type === 'VARCHAR' ? String(value) : String(Number(value));
}

function plainRows(dataset: Dataset, rows: readonly Row[]): readonly (readonly string[])[] {
  const fields = columns(EXPORT_TABLES[dataset]).filter(({ type }) => type !== 'GEOMETRY');
  return rows.map((row) => fields.map(({ name, type }) => plain(type, row[name])));
}

const apostrophes = (dataset: Dataset, rows: readonly (readonly string[])[]) =>
  dataset !== 'reports' ? rows : rows.map((row) => row.map((cell) => cell.replace(/^'(?=[=+\-@＝－])/, '')));

for (const dataset of DATASETS)
  test(`csv, geojson and parquet of ${dataset} hold the same rows, whoever reads the parquet`, async (t) => {
    const [csv, geojson, parquet] = await Promise.all(EXPORT_FORMATS.map((format) => written({ dataset, format })));
    const expected = plainRows(dataset, await PARQUET_READERS.DuckDB(parquet!.path));
    t.is(expected.length, { detections: 15, swaths: 5, reports: HOSTILE.length }[dataset]);
    t.deepEqual(apostrophes(dataset, plainRows(dataset, csvTable(csv!.text()).rows)), expected);
    const features = collection(geojson!.text()).features.map(({ properties }) => properties);
    t.deepEqual(plainRows(dataset, features), expected);
    for (const [reader, read] of Object.entries(PARQUET_READERS))
      t.deepEqual(plainRows(dataset, await read(parquet!.path)), expected, reader);
    for (const { summary } of [csv!, geojson!, parquet!])
      t.deepEqual(summary, { row_count: expected.length, truncated: false });
  });

for (const dataset of DATASETS)
  test(`an export of ${dataset} without rows is a valid file in every format`, async (t) => {
    const nothing = { dataset, date_start: QUIET, date_end: QUIET };
    const [csv, geojson, parquet] = await Promise.all(
      EXPORT_FORMATS.map((format: ExportFormat) => written({ ...nothing, format })),
    );
    const fields = columns(EXPORT_TABLES[dataset]).map(({ name }) => name);
    t.deepEqual(csvTable(csv!.text()), { names: dataset === 'swaths' ? fields : fields.slice(0, -1), rows: [] });
    t.like(collection(geojson!.text()), { type: 'FeatureCollection', features: [], row_count: 0, truncated: false });
    for (const [reader, read] of Object.entries(PARQUET_READERS)) t.deepEqual(await read(parquet!.path), [], reader);
    t.like(JSON.parse((await parquetNotes(parquet!.path)).geo ?? ''), { primary_column: 'geometry' });
    for (const { summary } of [csv!, geojson!, parquet!]) t.deepEqual(summary, { row_count: 0, truncated: false });
  });

test('texts that a spreadsheet would run begin with an apostrophe in csv, numbers and other formats are as they are', async (t) => {
  const csv = await written({ dataset: 'reports', format: 'csv' });
  const { rows } = csvTable(csv.text());
  const shown = rows.map(({ place }) => place);
  t.deepEqual(
    shown,
    HOSTILE.map((words, k) => (k < 6 ? `'${words}` : words)),
  );
  t.is(rows[0]?.lon, '-99.5');
  t.true(csv.text().endsWith('\r\n'));
  const { features } = collection((await written({ dataset: 'reports', format: 'geojson' })).text());
  t.deepEqual(
    features.map(({ properties }) => properties.place),
    HOSTILE,
  );
});

test('a geojson export is a FeatureCollection of RFC 7946 that says whose data it holds', async (t) => {
  const points = collection((await written({ dataset: 'detections', format: 'geojson' })).text());
  t.like(points, { data_source: 'observed', row_count: 15, truncated: false, data_as_of: '2026-05-02T23:59:59Z' });
  t.like(points.features[0], {
    type: 'Feature',
    id: '20260501T200000Z-1499-3002',
    geometry: { type: 'Point', coordinates: [-99.975, 40.005] },
    properties: {
      scan_time: '2026-05-01T20:00:00Z',
      storm_date: DAY,
      size_category: 'nickel',
      data_source: 'observed',
    },
  });
  const hulls = collection((await written({ dataset: 'swaths', format: 'geojson' })).text());
  for (const { geometry } of hulls.features) {
    const { coordinates } = geometry as Polygon;
    t.is(isValidMultiPolygon([coordinates]), null, 'closed, simple, counter-clockwise');
  }
  t.false('crs' in hulls);
});

test('a parquet export is GeoParquet that says what it holds, of which data, in which units', async (t) => {
  const { path } = await written({ dataset: 'detections', format: 'parquet', state: 'KS' });
  const { geo = '', hail_export = '', columns: described = '', ...notes } = await parquetNotes(path);
  t.like(JSON.parse(geo), { primary_column: 'geometry', columns: { geometry: { geometry_types: ['Point'] } } });
  t.like(JSON.parse(hail_export), { dataset: 'detections', query: { state: 'KS' }, row_count: 13 });
  t.like(JSON.parse(described), { estimated_size_mm: { unit: 'mm' } });
  t.like(notes, { source: 'observed', schema_version: '1' });
  t.deepEqual((await PARQUET_READERS.DuckDB(path)).at(-1)?.geometry, 'POINT (-99.995 39.995)');
});

test('rows are those of the region: pixels by their centre, reports by their place', async (t) => {
  const counts = async (region: Pick<ExportParams, 'bbox'> | Pick<ExportParams, 'state'>) =>
    Promise.all(
      DATASETS.map(async (dataset) => (await written({ dataset, format: 'csv', ...region })).summary.row_count),
    );
  t.deepEqual(await counts({ bbox: null }), [15, 5, 10]);
  t.deepEqual(await counts({ state: 'KS' }), [13, 5, 5]);
  t.deepEqual(await counts({ state: 'NE' }), [2, 1, 5]);
  t.deepEqual(await counts({ state: 'HI' }), [0, 0, 0]);
  t.deepEqual(await counts({ bbox: [-99.995, 39.995, -99.5, 40.0] }), [9, 5, 0], 'edges belong to a box');
  t.deepEqual(await counts({ bbox: [-99.5, 39.5, -99.5, 39.501] }), [0, 0, 1]);
  t.deepEqual(await counts({ bbox: [10, 40, 20, 50] }), [0, 0, 0]);
});

test('a cap cuts the latest rows, and two exports of one edition are the same bytes', async (t) => {
  for (const dataset of ['detections', 'reports'] as const) {
    const whole = csvTable((await written({ dataset, format: 'csv' })).text()).rows;
    for (const cap of [1, 8, whole.length]) {
      const { summary, text } = await written({ dataset, format: 'csv' }, { cap });
      t.deepEqual(summary, { row_count: cap, truncated: cap < whole.length });
      t.deepEqual(csvTable(text()).rows, whole.slice(0, cap));
    }
    const times = whole.map((row) => `${row.scan_time ?? row.time} ${row.id}`);
    t.deepEqual(times, times.toSorted());
  }
  for (const format of EXPORT_FORMATS) {
    const [one, other] = [
      await written({ dataset: 'detections', format }),
      await written({ dataset: 'detections', format }),
    ];
    t.deepEqual(readFileSync(one.path), readFileSync(other.path), format);
  }
});

test('figures of a swath row are those of /v1/hail/swaths from its bound on, and its hull holds every pixel', async (t) => {
  const engine = await openEngine(root);
  t.teardown(engine.close);
  const { text } = await written({ dataset: 'swaths', format: 'csv', state: 'KS' });
  const { rows } = csvTable(text());
  t.is(rows.length, 5);
  for (const { storm_date, threshold_mm, n_detections, max_size_mm, footprint_km2, area_km2, category } of rows) {
    const swath = await swathOf(engine, catalog.edition(), {
      date: String(storm_date),
      region: regionOf({ bbox: null, state: 'KS' }),
      min_size_mm: Number(threshold_mm),
      simplify_m: 0,
    });
    t.is(Number(n_detections), swath.n_detections);
    t.is(max_size_mm === '' ? null : Number(max_size_mm), swath.max_size_mm);
    t.is(category, swath.tiers[0]?.category);
    t.is(Number(footprint_km2), Math.round(10 * (swath.tiers[0]?.area_km2 ?? 0)) / 10);
    t.true(Number(area_km2) >= Number(footprint_km2));
  }
  const { features } = collection((await written({ dataset: 'swaths', format: 'geojson', state: 'KS' })).text());
  t.deepEqual(features[0]?.geometry.coordinates, [
    [
      [-99.99, 39.99],
      [-99.98, 39.98],
      [-99.97, 39.98],
      [-99.95, 39.99],
      [-99.95, 40],
      [-99.99, 40],
      [-99.99, 39.99],
    ],
  ]);
});

test('what was never taken in is said to be unknown, not empty', async (t) => {
  const reports = await written({ dataset: 'reports', format: 'geojson' }, { from: unfedCatalog });
  t.like(reports, { data_source: null, data_as_of_ms: null, summary: { row_count: 0 } });
  t.regex(reports.note ?? '', /no ground report was ever taken in/);
  t.like(collection(reports.text()), { note: reports.note, data_source: null });
  t.deepEqual(reports.dates_without_data, [DAY, NEXT]);
  const early = await written({ dataset: 'detections', format: 'parquet' }, { from: unfedCatalog });
  t.deepEqual([early.dates_without_data, early.data_source, early.note], [[DAY], 'simulated', null]);
  const never = await written({ dataset: 'swaths', format: 'csv', date_start: QUIET, date_end: QUIET });
  t.deepEqual([never.dates_without_data, never.data_source], [[QUIET], null]);
  t.regex(never.note ?? '', /no scan of these dates was taken in/);
});

test('reports are without data where the feeds say nothing, whatever radar saw', async (t) => {
  const withoutRadar = await written({ dataset: 'reports', format: 'csv', date_start: DAY, date_end: QUIET });
  t.is(withoutRadar.summary.row_count, HOSTILE.length);
  // A file that only adds records no time: of dates without a report from it nothing is known.
  t.false(withoutRadar.dates_without_data.includes(DAY));
  t.true(withoutRadar.dates_without_data.includes(QUIET));
  const around = { date_start: '2026-04-29', date_end: DAY };
  const before = await written({ dataset: 'reports', format: 'csv', ...around });
  t.deepEqual(before.dates_without_data, ['2026-04-29', '2026-04-30']);
  const late = await written({ dataset: 'reports', format: 'csv', date_start: '2026-05-10', date_end: '2026-05-12' });
  t.deepEqual(late.dates_without_data, ['2026-05-10', '2026-05-11', '2026-05-12']);
});

test('rows of observed and simulated dates say which they are, and the file that it is mixed', async (t) => {
  for (const dataset of ['detections', 'swaths'] as const) {
    const made = await written({ dataset, format: 'geojson', date_end: LATER }, { from: unfedCatalog });
    const { features, data_source } = collection(made.text());
    t.deepEqual([made.data_source, data_source], ['mixed', 'mixed']);
    const sources = features.map(({ properties }) => `${properties.storm_date} ${properties.data_source}`);
    t.deepEqual([...new Set(sources)], [`${NEXT} simulated`, `${LATER} observed`]);
  }
});

test('an export that is given up throws the reason, and so does one that waits behind it; the next one is made', async (t) => {
  const stop = new AbortController();
  const edition = catalog.edition();
  let looked = 0;
  const stopping: Edition = {
    ...edition,
    paths: (...asked) => {
      if (++looked === 2) stop.abort(new Error('the service stops')); // with the engine open, before the first statement
      return edition.paths(...asked);
    },
  };
  const options = { signal: stop.signal };
  const running = writeExport(
    { edition: () => stopping },
    paramsOf({ dataset: 'detections', format: 'csv' }),
    join(out, 'running'),
    options,
  );
  const waiting = writeExport(
    catalog,
    paramsOf({ dataset: 'detections', format: 'csv' }),
    join(out, 'waiting'),
    options,
  );
  await t.throwsAsync(running, { message: 'the service stops' });
  await t.throwsAsync(waiting, { message: 'the service stops' });
  t.is((await written({ dataset: 'detections', format: 'csv' })).summary.row_count, 15);
  t.deepEqual(
    readdirSync(out).filter((name) => name.startsWith('running') || name.startsWith('waiting')),
    [],
  );
});

test('a file of the edition that is gone is data that cannot be read now, never fewer rows', async (t) => {
  const copy = mkdtempSync(join(SCRATCH, 'hail-export-lost-'));
  cpSync(root, copy, { recursive: true });
  const from = await openCatalog(copy, 0);
  try {
    const [lost] = from.edition().paths('detections', [DAY]);
    if (lost === undefined) throw new Error('no file of detections, expected one');
    renameSync(lost, `${lost}.away`);
    for (const dataset of ['detections', 'swaths'] as const)
      await t.throwsAsync(written({ dataset, format: 'csv' }, { from }), { instanceOf: DataUnavailable });
    renameSync(`${lost}.away`, lost);
    t.is((await written({ dataset: 'detections', format: 'csv' }, { from })).summary.row_count, 15);
  } finally {
    await from.close();
    rmSync(copy, { recursive: true, force: true });
  }
});

test('instants of a parquet export are adjusted to UTC, in microseconds as its metadata say', async (t) => {
  for (const [dataset, name] of [
    ['detections', 'scan_time'],
    ['reports', 'time'],
  ] as const) {
    const { path } = await written({ dataset, format: 'parquet' });
    const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
    t.deepEqual(schema.find((field) => field.name === name)?.logical_type, {
      type: 'TIMESTAMP',
      isAdjustedToUTC: true,
      unit: 'MICROS',
    });
    t.true(schema.every(({ logical_type }) => logical_type?.type !== 'TIMESTAMP' || logical_type.isAdjustedToUTC));
    t.like(JSON.parse((await parquetNotes(path)).columns ?? ''), { [name]: { unit: 'us since 1970 UTC' } });
  }
});

for (const [asked, served, word] of [
  [{ bbox: [-130, 20, -96.5, 36] }, { bbox: [-125, 24, -96.5, 36] }, '125W-24N-96.5W-36N'],
  [
    { bbox: [-100.123456, 35.000001, -97, 38.5] },
    { bbox: [-100.123456, 35.000001, -97, 38.5] },
    '100.1235W-35N-97W-38.5N',
  ],
  [{ bbox: [10, -20, 20, 50] }, { bbox: [10, -20, 20, 50] }, '10E-20S-20E-50N'],
  [{ state: 'KS' }, { state: 'KS', bbox: null }, 'KS'],
  [{ date_end: '2026-05-31' }, { date_end: '2026-05-10' }, 'conus'],
  [{ date_end: '2026-05-11' }, { date_end: '2026-05-10' }, 'conus'],
  [{ date_end: '2026-05-10' }, { date_end: '2026-05-10' }, 'conus'],
] as const)
  test(`of ${JSON.stringify(asked)} is exported ${JSON.stringify(served)}, named ${word}, and the file says so`, async (t) => {
    const params = servedParams(paramsOf({ dataset: 'detections', format: 'geojson', ...asked }), NOW_MS);
    t.like(params, served);
    const { file_name, text } = await written(params);
    t.is(file_name, `hail-detections-${word}-${params.date_start}-${params.date_end}.geojson`);
    t.regex(file_name, FILE_NAME, 'a job with another name fails');
    const { date_start, date_end, bbox, state } = params;
    t.deepEqual(collection(text()).query, { date_start, date_end, bbox, state });
  });

test('the job says how the file is sent and named, and when its data were seen', async (t) => {
  const path = join(out, 'job');
  const services = { catalog } as Partial<Services> as Services;
  const job = {
    id: 'exp_1',
    business_id: 'biz_1',
    path,
    created_ms: NOW_MS,
    services,
    signal: new AbortController().signal,
  };
  t.deepEqual(await makeExport({ ...job, params: paramsOf({ dataset: 'swaths', format: 'geojson' }) }), {
    media_type: 'application/geo+json',
    file_name: `hail-swaths-conus-${DAY}-${NEXT}.geojson`,
    summary: { row_count: 5, truncated: false },
    data_as_of_ms: Date.parse(`${NEXT}T23:59:59Z`),
    data_source: 'observed',
  });
  const csv = await makeExport({ ...job, path: `${path}.csv`, params: paramsOf({ dataset: 'swaths', format: 'csv' }) });
  t.is(csv.media_type, 'text/csv; charset=utf-8; header=present');
  await t.throwsAsync(
    makeExport({ ...job, params: { ...paramsOf({ dataset: 'swaths', format: 'csv' }), state: `x' OR 1` } }),
    {
      instanceOf: RangeError,
    },
  );
});
