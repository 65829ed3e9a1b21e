import type { Head } from '../../../schemas/head.ts';
import type { PublishedFile } from '../../../schemas/manifest.ts';
import { dayMax, isMonthCurrent } from '../../../schemas/tables/radar.ts';
import { monthOf } from '../../../schemas/time.ts';

/** Files of a manifest by the part of its scope that it covers, by table. */
export type Parts = ReadonlyMap<string, ReadonlyMap<string, readonly PublishedFile[]>>;

const MONTH_PARTITION = /^month-(\d{4}-\d{2})$/;
const DATE_PARTITION = /^\d{4}-\d{2}-\d{2}$/;

/**
 * What is listed together: a month of storm dates (`2026-05`, with the files that join its days), else a partition. A commit
 * rewrites manifests of the scopes of its partitions only.
 */
export function scopeOf(partition: string): string {
  return MONTH_PARTITION.exec(partition)?.[1] ?? (DATE_PARTITION.test(partition) ? monthOf(partition) : partition);
}

/**
 * The files of the tables in a scope, once for every row, by table and by part of the scope: one manifest each. All closed dates of
 * a month are one part, so that the list of the manifests stays short over many years. An open date has a part for every hour,
 * so that a scan rewrites little. `heads`: those of all partitions of the scope.
 */
export function partsOf(heads: readonly Head[]): Parts {
  const byPartition = new Map(heads.map((head) => [head.partition, head]));
  const joined = heads
    .filter(({ dates }) => dates !== null)
    .find((month) => isMonthCurrent(month, (date) => byPartition.get(date)));
  const parts = new Map<string, Map<string, PublishedFile[]>>();
  for (const head of heads)
    for (const file of head.files) {
      if (file.table === null) continue;
      const files = parts.get(file.table) ?? new Map<string, PublishedFile[]>();
      parts.set(file.table, files);
      if (file.rows === 0 || (file.table === dayMax.name && !answers(head, joined))) continue;
      const part = partOf(head, file);
      files.set(part, [...(files.get(part) ?? []), file]);
    }
  return parts;
}

/**
 * True when the day maxima of a partition are read from its own files: a date's only while no month has them, as the service reads
 * them.
 */
function answers({ partition, dates }: Head, joined: Head | undefined): boolean {
  return dates === null ? joined?.dates?.[partition] === undefined : partition === joined?.partition;
}

function partOf({ partition, closed }: Head, { first_scan, segment }: PublishedFile): string {
  if (MONTH_PARTITION.test(partition)) return 'closed';
  // A collection is divided into months, and ten years of them are too many for one manifest that is rewritten every few minutes.
  if (!DATE_PARTITION.test(partition)) return /^\d{4}(?=-\d{2}$)/.exec(segment)?.[0] ?? 'all';
  if (closed) return 'closed';
  const day = partition.slice('YYYY-MM-'.length);
  return first_scan === null ? day : `${day}T${first_scan.slice('YYYYMMDDT'.length, 'YYYYMMDDTHH'.length)}`;
}
