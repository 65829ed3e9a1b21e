/** Exit codes of every command of both sides. */
export const EXIT = { done: 0, failure: 1, usage: 2, not_found: 3, conflict: 4, check_found: 5 } as const;

/** Signals that stop a command cleanly; a second one of the same kind ends it at once. SIGHUP arrives when its terminal closes. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Lets a command run to its end, with its own exit code, after the reader of its output has left (`| head -1`). Any other failure
 * of standard output, such as a full disk, prints a line on standard error and sets the exit code to 1.
 */
export function outliveReaders(name: string): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      process.exitCode = EXIT.failure;
      if (stream === process.stdout) process.stderr.write(`${name}: standard output: ${error.message}\n`);
    });
}

/**
 * An error of the operating system as one sentence that begins with its path; null for any other error, which is printed with its
 * stack.
 */
export function systemFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return null;
  const reason = /^\w+: ([^,]+)/.exec(error.message)?.[1];
  return path === undefined || reason === undefined ? error.message : `${path}: ${reason} (${code}, ${syscall})`;
}

/** Exit code and message of an error that a command has no words of its own for. A bug shows its stack. */
export function explainOtherError(error: unknown): { code: number; message: string } {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: EXIT.failure, message: systemFault(error) ?? stack };
}

/** What commander's `Command` has for the ends of commands. */
interface Ending {
  readonly commands: readonly Ending[];
  exitOverride(): unknown;
}

/** Has a command, and those below it, throw instead of ending the process. */
export function throwOnExit(command: Ending): void {
  command.exitOverride();
  for (const each of command.commands) throwOnExit(each);
}

/** Columns of text two spaces apart; an `r` in `align` at the index of a column aligns it right, all others are aligned left. */
export function columns(rows: readonly (readonly string[])[], align = 'l'): string {
  const widths = (rows[0] ?? []).map((_, k) => Math.max(...rows.map((row) => row[k]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, k) => (align[k] === 'r' ? cell.padStart(widths[k] ?? 0) : cell.padEnd(widths[k] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Bytes with a unit, in powers of a thousand: `1.5 MB`. */
export function readableBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** `1234567` as `1,234,567`. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

/** A count and its noun, in the plural unless the count is 1: `3 scans`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}
