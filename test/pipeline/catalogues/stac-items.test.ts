import test from 'ava';
import { entriesOf, foldersOf } from '../../../pipeline/catalogues/stac-items.ts';
import { LATTICE } from '../../../schemas/geo/lattice.ts';
import type { Head } from '../../../schemas/head.ts';
import type { PublishedFile } from '../../../schemas/manifest.ts';

const file = (table: string, segment: string, bbox: PublishedFile['bbox'] = null): PublishedFile => ({
  path: `tables/${table}/${segment}-c0ffee00.parquet`,
  kind: 'table',
  table,
  segment,
  rows: 1,
  bytes: 1,
  sha256: 'c0ffee00'.repeat(8),
  schema_version: 1,
  first_scan: null,
  last_scan: null,
  bbox,
  max_size_mm: null,
});

const head = (partition: string, files: PublishedFile[], changes: Partial<Head> = {}): Head => ({
  manifest_version: 1,
  partition,
  commit: 3,
  source: 'observed',
  storm_day_start_hour: 0,
  committed_at: '2026-05-02T00:55:00Z',
  closed: true,
  table_commits: {},
  scans: { count: 0, last: null, inputs: '0123456789abcdef' },
  feeds: {},
  files,
  dates: null,
  ...changes,
});

test('a collection has an item for each month, over the whole month in UTC, and one for what has no month', (t) => {
  const files = [
    file('ground-reports', '2025-12'),
    file('ground-reports', '2024-02'),
    file('collected-reports', 'collected'),
  ];
  const entries = entriesOf(head('collection-reports', files));
  t.deepEqual(
    entries.map(({ id, start_ms, end_ms }) => [id, new Date(start_ms).toISOString(), new Date(end_ms).toISOString()]),
    [
      ['reports-2025-12', '2025-12-01T00:00:00.000Z', '2025-12-31T23:59:59.000Z'],
      ['reports-2024-02', '2024-02-01T00:00:00.000Z', '2024-02-29T23:59:59.000Z'],
      ['reports-collected', '2026-05-02T00:55:00.000Z', '2026-05-02T00:55:00.000Z'],
    ],
  );
  t.deepEqual(
    entries.map(({ holds }) => files.filter(holds).map(({ segment }) => segment)),
    [['2025-12'], ['2024-02'], ['collected']],
  );
});

test('tables without a date are items of their own, with the name of the table', (t) => {
  const entries = entriesOf(head('undated', [file('blockage', 'blockage'), file('climatology', 'climatology')]));
  t.deepEqual(
    entries.map(({ collection, id }) => `${collection}/${id}`),
    ['undated/blockage', 'undated/climatology'],
  );
});

test('the box holds the pixels of all rows, but for those that tell where no radar sees', (t) => {
  const files = [
    file('day-max', 'day', [-99.5, 34.5, -98, 35]),
    file('cells', 'day', [-99, 34, -97.5, 34.8]),
    file('uncovered', 'day', [-120, 25, -70, 49]),
  ];
  const [entry] = entriesOf(head('2026-05-01', files));
  t.deepEqual(entry?.bbox, [-99.505, 33.995, -97.495, 35.005]);
});

test('a date without hail has the box of the lattice, and the whole date as its span where no file names a scan', (t) => {
  const [entry] = entriesOf(head('2026-05-01', [file('frames', 'day')], { storm_day_start_hour: 12 }));
  t.deepEqual(entry?.bbox, LATTICE.bbox);
  t.is(entry?.properties['hail:bbox_of'], 'lattice');
  t.is(new Date(entry?.start_ms ?? 0).toISOString(), '2026-05-01T12:00:00.000Z');
  t.is(new Date(entry?.end_ms ?? 0).toISOString(), '2026-05-02T12:00:00.000Z');
});

test('what is not observed says so in its title', (t) => {
  const title = (source: Head['source']) =>
    entriesOf(head('2026-05-01', [file('frames', 'day')], { source }))[0]?.title;
  t.deepEqual([title('observed'), title('simulated')], ['Hail on 2026-05-01', 'Hail on 2026-05-01 (simulated)']);
});

test('a partition of a kind that the catalogue does not know is left out of it', (t) => {
  t.deepEqual(foldersOf('collection-balloons'), []);
  t.deepEqual(entriesOf(head('collection-balloons', [file('balloons', 'newest')])), []);
});
