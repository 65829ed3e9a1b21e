import { MS_PER_DAY } from '../../../schemas/time.ts';
import type { IcebergField } from './schema.ts';

const US_PER_DAY = MS_PER_DAY * 1000;

/** What the footer of a file says of a column. Times and dates in microseconds since 1970. */
export interface ColumnFacts {
  readonly values: number;
  /** Null where the footer does not say. */
  readonly nulls: number | null;
  /** Null where a part of the file has no bounds. */
  readonly least: number | null;
  readonly most: number | null;
}

/** The single-value serialisation of a bound by the Iceberg specification; null for types whose bounds are not kept. */
export function boundBytes(type: IcebergField['type'], value: number): Buffer | null {
  if (type === 'boolean') return Buffer.from([value === 0 ? 0 : 1]);
  if (type === 'string' || type === 'binary') return null;
  const bytes = Buffer.alloc(type === 'int' || type === 'date' ? 4 : 8);
  if (type === 'double') bytes.writeDoubleLE(value);
  else if (type === 'int') bytes.writeInt32LE(value);
  else if (type === 'date') bytes.writeInt32LE(Math.floor(value / US_PER_DAY));
  else bytes.writeBigInt64LE(BigInt(value));
  return bytes;
}
