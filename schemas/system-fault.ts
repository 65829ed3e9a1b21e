/**
 * What the operating system refused, as one sentence with the path in front; null for any other error. Such an error is about
 * the machine, not the program: people need the path and the reason, not a stack trace.
 */
export function systemFault(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return null;
  const reason = /^\w+: ([^,]+)/.exec(error.message)?.[1];
  return path === undefined || reason === undefined ? error.message : `${path}: ${reason} (${code}, ${syscall})`;
}
