import fs from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { headOf } from '../../../schemas/head.ts';
import { layout } from '../../../schemas/layout.ts';
import { type Current, MANIFEST_VERSION, type Manifest, type PublishedFile } from '../../../schemas/manifest.ts';
import { DAY_TABLES, SCAN_TABLES } from '../../../schemas/tables/index.ts';
import { addDays, monthOf, scanId, timestamp } from '../../../schemas/time.ts';

const SCANS_PER_DATE = 720;
const MS_PER_SCAN = 120_000;
const SHA256 = 'c0ffee00'.repeat(8);

/**
 * Writes the lists of so many closed storm dates, the last of them `last_date`, as the pipeline leaves them: 720 scans each,
 * with their scan tiles, every table and the daily archive, joined by month. The data files are not there: nothing that works
 * at the end of the year may open them.
 */
export async function writeYearOfLists(dataRoot: string, last_date: string, dates: number): Promise<void> {
  const days = Array.from({ length: dates }, (_, index) => addDays(last_date, index + 1 - dates));
  for (const date of days) await publish(dataRoot, dateList(date));
  for (const [month, members] of Map.groupBy(days, monthOf)) await publish(dataRoot, monthList(month, members));
  await write(dataRoot, layout.current, currentAt(dateList(last_date)));
}

async function publish(dataRoot: string, manifest: Manifest): Promise<void> {
  await write(dataRoot, layout.manifest(manifest.partition, manifest.commit), manifest);
  await write(dataRoot, layout.head(manifest.partition), headOf(manifest));
}

async function write(dataRoot: string, path: string, content: unknown): Promise<void> {
  await fs.mkdir(dirname(join(dataRoot, path)), { recursive: true });
  await fs.writeFile(join(dataRoot, path), JSON.stringify(content));
}

function dateList(date: string): Manifest {
  const segment = `day-${date}`;
  const ids = Array.from({ length: SCANS_PER_DATE }, (_, index) => scanId(Date.parse(date) + index * MS_PER_SCAN));
  const day = { segment, first_scan: ids[0] as string, last_scan: ids.at(-1) as string };
  const coversOf = (id: string) => ({ segment, first_scan: id, last_scan: id });
  const tables = [...SCAN_TABLES, ...DAY_TABLES].map(({ name }) => name);
  return {
    ...listOf(date, ['daily', ...tables]),
    scans: ids.map((scan_id) => ({ scan_id, segment, inputs: '0123456789abcdef' })),
    feeds: { MESH: timestamp(Date.parse(date)) },
    files: [
      ...ids.map((id) => file('scan-tiles', null, `${layout.scanTiles(date)}/${id}-c0ffee00.pmtiles`, coversOf(id))),
      file('state', null, `${layout.stateDate(date)}/${day.last_scan}-c0ffee00.json.gz`, day),
      ...tables.map((table) => file('table', table, `${layout.table(table, date)}/day-c0ffee00.parquet`, day)),
      file('daily-tiles', null, `${layout.dailyTiles(date)}/day-c0ffee00.pmtiles`, { ...day, segment: 'derived' }),
    ],
    dates: null,
  };
}

function monthList(month: string, days: readonly string[]): Manifest {
  return {
    ...listOf(layout.monthPartition(month), ['day-max']),
    scans: [],
    feeds: {},
    files: [],
    dates: Object.fromEntries(days.map((date) => [date, 1])),
  };
}

function listOf(partition: string, tables: readonly string[]) {
  return {
    manifest_version: MANIFEST_VERSION as typeof MANIFEST_VERSION,
    partition,
    commit: 1,
    source: 'simulated' as const,
    storm_day_start_hour: 0,
    closed: true,
    committed_at: '2026-01-01T00:00:00Z',
    table_commits: Object.fromEntries(tables.map((table) => [table, 1])),
  };
}

function file(
  kind: PublishedFile['kind'],
  table: string | null,
  path: string,
  covers: Pick<PublishedFile, 'segment' | 'first_scan' | 'last_scan'>,
): PublishedFile {
  const facts = { rows: 100, bytes: 10_000, sha256: SHA256, schema_version: 1 };
  return { path, kind, table, ...covers, ...facts, bbox: [-104.995, 25.005, -80.995, 48.995], max_size_mm: 63.5 };
}

function currentAt({ scans }: Manifest): Current {
  const scan_id = scans.at(-1)?.scan_id as string;
  return {
    manifest_version: MANIFEST_VERSION,
    scan_id,
    source: 'simulated',
    open_dates: {},
    data_timestamp: '2026-01-01T00:00:00Z',
    data_as_of: '2026-01-01T00:00:00Z',
    live: { detections: 'live/a.arrow', cells: 'live/b.arrow', tracks: 'live/c.arrow', first_scan: scan_id },
  };
}
