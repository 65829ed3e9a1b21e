import { createHash } from 'node:crypto';
import type { Table } from '../../schemas/columns.ts';
import type { Head } from '../../schemas/head.ts';
import { layout } from '../../schemas/layout.ts';
import type { PublishedFile } from '../../schemas/manifest.ts';
import { combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import { dayMax, isMonthCurrent } from '../../schemas/tables/radar.ts';
import { PipelineError } from '../error.ts';
import { listPartitions, readHead } from '../publish/manifests.ts';
import { inParallel } from '../sources/parallel.ts';

/** The newest commits of all partitions, read at one moment. */
export interface Edition {
  /** Hash of the commits. */
  readonly name: string;
  /** Heads with files or scans, by name of their partition. */
  readonly heads: readonly Head[];
  /** Time of the newest commit; null for an empty root. */
  readonly committed_at: string | null;
  /** Scan id of the newest scan; null without scans. */
  readonly newest_scan: string | null;
  readonly source: MixedProvenance | null;
}

/** A file of a table and the head that lists it. */
export interface ListedFile {
  readonly head: Head;
  readonly file: PublishedFile;
}

const AT_A_TIME = 16;
const TABLE_PATH = /^tables\/(?!.*\.\.)[\w.=/-]+\.parquet$/;

/** Reads the heads of a data root, without its lock. Throws PipelineError for a head that lists a path outside its tables. */
export async function readEdition(dataRoot: string): Promise<Edition> {
  const partitions = (await listPartitions(dataRoot)).all;
  const found = await inParallel(partitions, AT_A_TIME, (partition) => readHead(dataRoot, partition));
  const heads = found.filter((head) => head !== null).sort((a, b) => (a.partition < b.partition ? -1 : 1));
  for (const { partition, files } of heads) {
    const outside = files.find(({ path }) => !TABLE_PATH.test(path));
    if (outside === undefined) continue;
    const reason = `lists '${outside.path}', expected a Parquet file of a table`;
    throw new PipelineError('catalogue', layout.head(partition), reason);
  }
  const commits = heads.map(({ partition, commit }) => `${partition} ${commit}\n`).join('');
  const newest = (times: readonly string[]) => [...times].sort().at(-1) ?? null;
  return {
    name: createHash('sha256').update(commits).digest('hex').slice(0, 12),
    heads,
    committed_at: newest(heads.map(({ committed_at }) => committed_at)),
    newest_scan: newest(heads.flatMap(({ scans }) => scans.last ?? [])),
    source: combineProvenances(heads.filter(({ files }) => files.length > 0).map(({ source }) => source)),
  };
}

/** Files with rows of a table, in the order of their scans. A current month stands for the day maxima of its dates. */
export function filesOf({ heads }: Edition, { name }: Table): ListedFile[] {
  const holders = name === dayMax.name ? dayMaxHeads(heads) : heads;
  return holders.flatMap((head) =>
    head.files
      .filter((file) => file.table === name && file.rows > 0)
      .sort((a, b) => ((a.first_scan ?? '') < (b.first_scan ?? '') ? -1 : 1))
      .map((file) => ({ head, file })),
  );
}

/** True for the partition of a storm date. */
export function isDate(partition: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(partition);
}

/** Current months, and the dates that they do not hold. */
function dayMaxHeads(heads: readonly Head[]): Head[] {
  const dates = new Map(heads.filter(({ partition }) => isDate(partition)).map((head) => [head.partition, head]));
  const months = heads.filter((head) => head.dates !== null && isMonthCurrent(head, (date) => dates.get(date)));
  const held = new Set(months.flatMap((month) => Object.keys(month.dates ?? {})));
  return [...months, ...[...dates.values()].filter(({ partition }) => !held.has(partition))];
}
