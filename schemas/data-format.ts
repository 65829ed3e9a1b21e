import { type ReadableRange, readableVersions, type Table } from './columns.ts';
import { MANIFEST_VERSION, type PublishedFile } from './manifest.ts';
import { RELEASE } from './release.ts';

/** One format of a data root: the version of each table that a reader of this format still knows. */
export interface DataFormat {
  readonly format: number;
  /** Newest version of each table, by name; a table that is not named is unchanged, or was not yet there. */
  readonly tables: Readonly<Record<string, number>>;
}

/**
 * Every format of a data root, the first one first. A change of published files that readers of the last format would refuse or
 * misread is a new format: a newer version of a table, or lists of another shape. A new table is none: they pass over it.
 * Released entries never change.
 */
export const DATA_FORMATS: readonly DataFormat[] = [
  {
    format: 1,
    tables: {
      detections: 2,
      cells: 2,
      tracks: 1,
      'day-max': 3,
      frames: 2,
      uncovered: 1,
      probsevere: 1,
      swaths: 1,
      'event-days': 1,
      blockage: 1,
      climatology: 1,
      'ground-reports': 1,
      'collected-reports': 1,
      warnings: 1,
      watches: 1,
      'spc-outlooks': 1,
      forecast: 2,
      outlook: 1,
    },
  },
  {
    format: 2,
    tables: {
      detections: 3,
      cells: 3,
      'day-max': 4,
      uncovered: 2,
      'ground-reports': 2,
      warnings: 2,
      watches: 2,
      'spc-outlooks': 2,
    },
  },
];

/** A release reads its own format and this many before it. */
const FORMATS_BACK = 2;

/** The format that this release writes. */
export const WRITTEN_FORMAT = Math.max(...DATA_FORMATS.map(({ format }) => format));
/** The formats that this release reads. */
export const READ_FORMATS: ReadableRange = { from: Math.max(1, WRITTEN_FORMAT - FORMATS_BACK), to: WRITTEN_FORMAT };
/** The versions of lists that this release reads. */
export const READ_MANIFESTS: ReadableRange = { from: MANIFEST_VERSION, to: MANIFEST_VERSION };

/** The oldest format whose readers can read some files; files of other kinds than tables are the same in all. */
export function formatOfFiles(files: Iterable<Pick<PublishedFile, 'table' | 'schema_version'>>): number {
  let needed = 1;
  for (const { table, schema_version } of files) {
    const raising = DATA_FORMATS.findLast(
      (_, at) => schema_version > (versionBefore(at, table ?? '') ?? Number.POSITIVE_INFINITY),
    );
    needed = Math.max(needed, raising?.format ?? 1);
  }
  return needed;
}

/** Version of a table before the format at a place of the list; undefined where the table was not yet there. */
function versionBefore(at: number, table: string): number | undefined {
  return DATA_FORMATS.slice(0, at).findLast(({ tables }) => tables[table] !== undefined)?.tables[table];
}

/**
 * Why a version that was found in a data root cannot be read, as the end of a sentence whose subject is the file; null when it
 * can. `what` names the version, such as `data format`; `program` is the reader, such as `hail-api`.
 */
export function versionFault(
  what: string,
  found: unknown,
  { from, to }: ReadableRange,
  program: string,
): string | null {
  if (typeof found !== 'number' || !Number.isInteger(found) || found < 1)
    return `has ${what} ${JSON.stringify(found) ?? 'none'}, expected a whole number from 1: restore the file from a backup`;
  if (found >= from && found <= to) return null;
  const advice =
    found > to
      ? `upgrade ${program} to the release that wrote the data or a newer one`
      : `make the data again with this release ('hail-pipeline rebuild')`;
  return `has ${what} ${found}, and ${program} ${RELEASE} reads ${rangeText({ from, to })}: ${advice}`;
}

/** Why a data root of the format in `root.json` cannot be read; null when it can. Without the field it is the first format. */
export function formatFault(root: unknown, program: string, range: ReadableRange = READ_FORMATS): string | null {
  return versionFault('data format', formatIn(root), range, program);
}

/** Why a file of a table cannot be read, by the version of its schema; null when it can. */
export function tableFault(table: Table, version: number | null, program: string): string | null {
  return versionFault(`${table.name} schema version`, version, readableVersions(table), program);
}

function formatIn(root: unknown): unknown {
  return typeof root === 'object' && root !== null && 'format' in root ? root.format : 1;
}

function rangeText({ from, to }: ReadableRange): string {
  return from === to ? String(to) : `${from} to ${to}`;
}

/** What `--version` prints: the release on the first line, then the data formats. */
export function versionText(writes: boolean): string {
  const formats = writes
    ? `writes ${WRITTEN_FORMAT}, reads ${rangeText(READ_FORMATS)}`
    : `reads ${rangeText(READ_FORMATS)}`;
  return `${RELEASE}\ndata format: ${formats}`;
}
