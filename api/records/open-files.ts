import { statSync } from 'node:fs';

/** How often the files are compared where nothing is written. */
const LOOK_EVERY_MS = 1_000;
/** Files of a SQLite database in WAL mode: committed rows are in the log until they are copied into the database file. */
const SUFFIXES = ['', '-wal', '-shm'] as const;

/**
 * Compares the open files of a SQLite database with the files of the same names: a file that was deleted or replaced
 * still takes writes through its descriptors, and they are lost when it is closed. Compared by device and inode, never
 * by opening: closing a descriptor of one's own would drop SQLite's locks.
 */
export class OpenFiles {
  /** Called when the files are no longer in their place (a reason), and when they are again (null). */
  onChange: (fault: string | null) => void = () => {};
  readonly #path: string;
  readonly #opened = new Map<string, string>();
  #fault: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Fault that the last comparison found; null: none. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Compares now, and from the first time on every second. The first time says which files are the open ones. */
  look(): string | null {
    this.#timer ??= setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    const faults = SUFFIXES.map((suffix) => this.#compare(this.#path + suffix));
    const fault = faults.find((found) => found !== null) ?? null;
    if ((fault === null) !== (this.#fault === null)) this.onChange(fault);
    this.#fault = fault;
    return fault;
  }

  /** Stops comparing: the files are being closed, and the last process to close them deletes the log. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #compare(file: string): string | null {
    const opened = this.#opened.get(file);
    const found = identityOf(file);
    if (opened === undefined) {
      // The log is made by the first transaction.
      if (found.identity !== null) this.#opened.set(file, found.identity);
      return null;
    }
    if (found.identity === opened) return null;
    return found.identity === null
      ? `${file} is not there any more (${found.reason}), expected the open file`
      : `${file} is another file than the open one`;
  }
}

type Found = { readonly identity: string } | { readonly identity: null; readonly reason: string };

function identityOf(file: string): Found {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return { identity: `${dev} ${ino}` };
  } catch (error) {
    return { identity: null, reason: (error as NodeJS.ErrnoException).code ?? String(error) };
  }
}
