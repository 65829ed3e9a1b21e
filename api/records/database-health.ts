import type { CompiledQuery } from 'kysely';

/** SQLite: the file is malformed, or is no database. */
const SQLITE_DAMAGE: ReadonlySet<number> = new Set([11, 26]);
/** PostgreSQL: data_corrupted, index_corrupted. */
const SQLSTATE_DAMAGE: ReadonlySet<string> = new Set(['XX001', 'XX002']);

/** Failures of the database, for readiness: one row that can be read does not show that all can. */
export class DatabaseHealth {
  /** Called with the reason when damage is first seen. */
  onDamage: (reason: string) => void = () => {};
  #failedRead: CompiledQuery | null = null;
  #damage: string | null = null;

  /** The read that failed last, as long as it has not worked since. */
  get failedRead(): CompiledQuery | null {
    return this.#failedRead;
  }

  /** Why the database is damaged; null: no damage was seen. Does not pass by itself. */
  get damage(): string | null {
    return this.#damage;
  }

  readFailed(query: CompiledQuery): void {
    this.#failedRead = query;
  }

  /** The read that had failed worked. */
  readWorked(query: CompiledQuery): void {
    if (this.#failedRead === query) this.#failedRead = null;
  }

  /** Checks the failure of any statement for damage. */
  note(error: unknown): void {
    if (this.#damage !== null || !isDamage(error)) return;
    this.#damage = error instanceof Error ? error.message : String(error);
    this.onDamage(this.#damage);
  }
}

/** True when the stored data are broken: only an operator can repair them. */
export function isDamage(error: unknown): boolean {
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof errcode === 'number') return SQLITE_DAMAGE.has(errcode & 0xff);
  return typeof code === 'string' && SQLSTATE_DAMAGE.has(code);
}
