import {
  DuckDBArrayValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBValue,
} from '@duckdb/node-api';

/** A value as text, the same in every format: instants in ISO 8601 with a Z, numbers in full; null for null. */
export function textOf(value: DuckDBValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) return instantText(value);
  return String(value);
}

/** A value as JSON; numbers that JSON cannot hold are null, and whole numbers keep all their digits. */
export function jsonOf(value: DuckDBValue): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  if (value instanceof DuckDBDecimalValue) return value.toString();
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue)
    return `[${value.items.map(jsonOf).join(',')}]`;
  if (value instanceof DuckDBStructValue) return jsonObject(Object.entries(value.entries));
  if (value instanceof DuckDBMapValue)
    return jsonObject(value.entries.map((entry) => [textOf(entry.key) ?? '', entry.value]));
  return JSON.stringify(textOf(value));
}

function jsonObject(members: readonly (readonly [string, DuckDBValue])[]): string {
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`).join(',')}}`;
}

const MICROS_PER_S = 1_000_000n;

function instantText(value: DuckDBTimestampValue | DuckDBTimestampTZValue): string {
  const micros = ((value.micros % MICROS_PER_S) + MICROS_PER_S) % MICROS_PER_S;
  const time = new Date(Number((value.micros - micros) / MICROS_PER_S) * 1000);
  // Infinity, and years that a Date cannot hold.
  if (Number.isNaN(time.getTime())) return value.toString();
  const fraction = micros === 0n ? '' : `.${String(micros).padStart(6, '0').replace(/0+$/, '')}`;
  return `${time.toISOString().replace('.000Z', '')}${fraction}Z`;
}
