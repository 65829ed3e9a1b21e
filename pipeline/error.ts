/**
 * A failure with an explanation for people: `stage subject: found, expected`.
 * `reason` is lower case, without a full stop, values in the text. The original error travels as `cause`.
 */
export class PipelineError extends Error {
  override name = 'PipelineError';
  readonly stage: string;
  readonly subject: string;
  readonly reason: string;

  constructor(stage: string, subject: string, reason: string, options?: ErrorOptions) {
    super(`${stage} ${subject}: ${reason}`, options);
    this.stage = stage;
    this.subject = subject;
    this.reason = reason;
  }
}

/** A file with unusable content: it is rejected with this reason; other files are processed. */
export class BadInput extends PipelineError {
  override name = 'BadInput';
}

/** Stage of the error for a simulated file among observed ones, or the reverse: rejected while its date holds the other provenance. */
export const PROVENANCE_STAGE = 'provenance';

/** A mistake on the command line: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** The present state does not allow the request, for example because of another pipeline on the data root: exit code 4. */
export class Conflict extends PipelineError {
  override name = 'Conflict';
}

/** Another process holds the lock of the data root. */
export class RootHeld extends Conflict {
  override name = 'RootHeld';
}

/** The requested thing does not exist: exit code 3. */
export class NotFound extends PipelineError {
  override name = 'NotFound';
}

/**
 * A file that cannot be opened: missing, not permitted, a circular link. It is not rejected; the next poll tries it again.
 */
export class Unreadable extends PipelineError {
  override name = 'Unreadable';
  /** True when the path no longer exists. */
  readonly is_gone: boolean;

  constructor(subject: string, reason: string, options: ErrorOptions & { is_gone?: boolean } = {}) {
    super('read', subject, reason, options);
    this.is_gone = options.is_gone ?? false;
  }
}

/** The disk is full or read-only: nothing is partly published, and a retry succeeds once there is room. */
export class DiskRefusal extends PipelineError {
  override name = 'DiskRefusal';

  constructor(stage: string, subject: string, cause: unknown) {
    const reason = `the disk takes no more (${firstLine(cause)}); nothing was published by half`;
    super(stage, subject, `cannot be written: ${reason}`, { cause });
  }
}

/** The data root is no longer the one that was locked: further writes there could destroy the data of another pipeline. */
export class RootLost extends PipelineError {
  override name = 'RootLost';

  constructor(subject: string, reason: string) {
    super('lock', subject, reason);
  }
}

/** True for faults that may resolve by themselves, so that a retry is worthwhile. */
export function isTransient(error: unknown): error is DiskRefusal | Unreadable {
  return error instanceof DiskRefusal || error instanceof Unreadable;
}

/** True for a permanent fault of one item, after which the other items can be processed. */
export function isIsolated(error: unknown): error is PipelineError {
  const concerns_others = isTransient(error) || error instanceof RootLost || error instanceof Conflict;
  return !concerns_others && error instanceof PipelineError;
}

/** True for errors of a disk that refuses a write: full, over quota, file too large, read-only. */
export function isDiskRefusal(error: unknown): boolean {
  if (error instanceof DiskRefusal || ['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'].includes(codeOf(error))) return true;
  // DuckDB and SQLite report such errors in words, without a code.
  return /No space left on device|disk is full|File too large|Disk quota exceeded|Read-only file system/i.test(
    error instanceof Error ? error.message : String(error),
  );
}

/** Error codes that concern one path only; running out of file descriptors is not among them. */
const NOT_GIVEN = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG', 'EISDIR', 'EIO', 'ESTALE', 'ENXIO'];

/** `error` as Unreadable when it concerns `path` only; any other error unchanged. */
export function asUnreadable(path: string, error: unknown): unknown {
  const code = codeOf(error);
  if (!NOT_GIVEN.includes(code)) return error;
  const is_gone = code === 'ENOENT' || code === 'ENOTDIR';
  const reason = is_gone ? `is not there (${code})` : `cannot be read (${code})`;
  return new Unreadable(path, reason, { cause: error, is_gone });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function firstLine(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? '';
}
