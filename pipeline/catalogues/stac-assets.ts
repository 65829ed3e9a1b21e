import { posix } from 'node:path';
import { columns, type Table } from '../../schemas/columns.ts';
import { LATTICE } from '../../schemas/geo/lattice.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import { TABLES } from '../../schemas/tables/index.ts';
import { scanTime, timestamp } from '../../schemas/time.ts';

export const PARQUET = 'application/vnd.apache.parquet';
export const PMTILES = 'application/vnd.pmtiles';

/** Code of SHA-256 and its length in bytes, as a multihash begins. */
const SHA256_MULTIHASH = '1220';

/** Affine transform from column and row of the lattice to longitude and latitude, and its shape. */
function latticeFields(): object {
  const { rows, cols, step, west, north } = LATTICE;
  return { 'proj:shape': [rows, cols], 'proj:transform': [step, 0, west, 0, -step, north] };
}

/** Assets of published files, by key: the name of a table alone where it has one file. `up` leads from the item to the data root. */
export function assetsOf(files: readonly PublishedFile[], up: string): Record<string, object> {
  const assets: Record<string, object> = {};
  for (const [key, group] of Map.groupBy(files, keyOf))
    for (const file of group) {
      const stem = posix.basename(file.path, posix.extname(file.path));
      assets[group.length === 1 ? key : `${key}-${stem}`] = assetOf(file, up);
    }
  return assets;
}

function keyOf({ kind, table, path, first_scan }: PublishedFile): string {
  if (kind === 'table' && table !== null) return table;
  if (kind === 'daily-tiles') return 'daily';
  return `${kind === 'scan-tiles' ? 'scan' : 'reflectivity'}-${first_scan ?? posix.basename(path)}`;
}

function assetOf(file: PublishedFile, up: string): object {
  const common = {
    href: `${up}${file.path}`,
    'file:size': file.bytes,
    'file:checksum': `${SHA256_MULTIHASH}${file.sha256}`,
  };
  // A date has an archive for each of its 720 scans: their keys say what they are.
  if (file.kind !== 'table') return { ...common, type: PMTILES, roles: ['visual'] };
  const table = TABLES.find(({ name }) => name === file.table);
  return {
    ...common,
    title: file.first_scan === null ? file.table : `${file.table}, ${timeSpan(file)}`,
    type: PARQUET,
    roles: ['data'],
    'hail:table': file.table,
    'hail:schema_version': file.schema_version,
    'table:row_count': file.rows,
    ...(table === undefined ? {} : fieldsOf(table)),
  };
}

function timeSpan({ first_scan, last_scan }: PublishedFile): string {
  const said = [first_scan, last_scan].flatMap((scan) => (scan === null ? [] : [timestamp(scanTime(scan))]));
  return [...new Set(said)].join(' to ');
}

/** Fields that follow from the columns of a table: where its geometry and its time are, and the lattice that it counts in. */
function fieldsOf(table: Table): object {
  const all = columns(table);
  const geometry = all.find(({ type }) => type === 'GEOMETRY');
  const time = all.find(({ name }) => name === 'scan_time');
  const isOnLattice = ['row', 'col'].every((name) => all.some((column) => column.name === name));
  return {
    ...(geometry === undefined ? {} : { 'table:primary_geometry': geometry.name }),
    ...(time === undefined ? {} : { 'table:primary_datetime': time.name }),
    ...(isOnLattice ? latticeFields() : {}),
  };
}
