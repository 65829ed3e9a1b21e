import {
  type AcceptedRow,
  type PortfolioUpload,
  type PortfolioUploaded,
  type RejectedRow,
  UPLOAD_ROWS_MAX,
} from '../../schemas/resources/portfolio-upload.ts';
import { forEachInChunks } from '../http/event-loop.ts';
import { csvRows } from './csv.ts';
import type { LocationOutcome } from './locations.ts';
import { checkRow, csvColumns, type FoundRow, isLocationRow, type LocationRow, rowOfCsv, rowOfJson } from './rows.ts';

/** Rows per chunk, after which other requests run: about 0.1 ms, and 25 ms where every cell is as long and as quoted as allowed. */
const CHUNK = 25;

/** Rows of an upload, each checked by itself; or a fault of the whole: no valid header, or too many rows. */
type CheckedUpload =
  | { readonly kind: 'checked'; readonly rows: readonly (LocationRow | RejectedRow)[] }
  | { readonly kind: 'bad_header'; readonly reason: string }
  | { readonly kind: 'too_many_rows' };

/** Reads and checks the rows of an upload, letting other requests run in between. CSV text without any line has no rows. */
export async function checkUpload(upload: PortfolioUpload): Promise<CheckedUpload> {
  const found = upload.format === 'json' ? upload.data.values().map(rowOfJson) : foundInCsv(upload.data);
  if (typeof found === 'string') return { kind: 'bad_header', reason: found };
  const rows: (LocationRow | RejectedRow)[] = [];
  await forEachInChunks(found.take(UPLOAD_ROWS_MAX + 1), CHUNK, (row, index) => {
    rows.push(checkRow(row, index));
  });
  return rows.length > UPLOAD_ROWS_MAX ? { kind: 'too_many_rows' } : { kind: 'checked', rows };
}

function foundInCsv(text: string): IteratorObject<FoundRow> | string {
  const lines = csvRows(text);
  const header = lines.next();
  if (header.done) return Iterator.from<FoundRow>([]);
  const columns = csvColumns(header.value);
  if (typeof columns === 'string') return columns;
  const width = header.value.cells.length;
  return lines.map((row) => rowOfCsv(row, columns, width));
}

/** Rows to store, in order; of those with the same id the first only. */
export function rowsToStore(rows: readonly (LocationRow | RejectedRow)[]): LocationRow[] {
  const seen = new Set<string>();
  return rows.filter(isLocationRow).filter(({ id }) => {
    if (id === null) return true;
    const first = !seen.has(id);
    seen.add(id);
    return first;
  });
}

/**
 * The answer to an upload. `outcomes`: one for each of `rowsToStore(rows)`. A row whose id an earlier one had is a
 * duplicate, unless that id was unknown.
 */
export function uploadReport(
  rows: readonly (LocationRow | RejectedRow)[],
  outcomes: readonly LocationOutcome[],
  quota: PortfolioUploaded['quota'],
): PortfolioUploaded {
  const byRow = new Map(rowsToStore(rows).map(({ row_index, id }, k) => [row_index, { id, outcome: outcomes[k] }]));
  const unknown = new Set(
    [...byRow.values()].flatMap(({ id, outcome }) => (outcome?.kind === 'unknown_id' ? [id] : [])),
  );
  const accepted: AcceptedRow[] = [];
  const rejected: RejectedRow[] = [];
  for (const row of rows) {
    const { row_index, name } = row;
    const outcome = byRow.get(row_index)?.outcome;
    if (!isLocationRow(row)) rejected.push(row);
    else if (outcome !== undefined && 'id' in outcome)
      accepted.push({ row_index, id: outcome.id, name: row.name, action: outcome.kind });
    else {
      const reason = unknown.has(row.id)
        ? 'unknown_id: no location of this business has this id'
        : outcome === undefined
          ? `duplicate_id: an earlier row of this upload has the id ${row.id}`
          : `quota_exceeded: the plan allows ${quota.limit} locations`;
      rejected.push({ row_index, name, reason });
    }
  }
  const counts = { total_rows: rows.length, accepted_count: accepted.length, rejected_count: rejected.length };
  return { ...counts, accepted, rejected, quota };
}
