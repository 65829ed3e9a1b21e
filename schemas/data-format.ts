import type { Table } from './columns.ts';
import { RELEASE } from './release.ts';

/** The data format that this release writes and reads. A change that its readers would refuse or misread raises it. */
export const DATA_FORMAT = 4;

/** Why a data root cannot be read, by the content of its `root.json`; null when it can. `program` is the reader, such as `hail-api`. */
export function formatFault(root: unknown, program: string): string | null {
  const found = typeof root === 'object' && root !== null && 'format' in root ? root.format : undefined;
  if (found === DATA_FORMAT) return null;
  return `has data format ${JSON.stringify(found) ?? 'none'}, and ${program} ${RELEASE} reads ${DATA_FORMAT}: make the data again from its archive/, by 'hail-pipeline ingest --from OLD-ROOT/archive' with an empty HAIL_DATA`;
}

/** Why a file of a table cannot be read, by the version of its schema; null when it can. */
export function tableFault({ name, schema_version }: Table, found: number | null): string | null {
  return found === schema_version ? null : `has ${name} schema version ${found ?? 'none'}, expected ${schema_version}`;
}

/** What `--version` prints. */
export const VERSION_TEXT = `${RELEASE}\ndata format: ${DATA_FORMAT}`;
