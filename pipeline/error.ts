/**
 * A failure the pipeline explains to people: `stage subject: what was found, what was expected`.
 * `reason` is lower case, without a full stop, values in the text. The original error travels as `cause`.
 */
export class PipelineError extends Error {
  readonly stage: string;
  readonly subject: string;
  readonly reason: string;

  constructor(stage: string, subject: string, reason: string, options?: ErrorOptions) {
    super(`${stage} ${subject}: ${reason}`, options);
    this.name = 'PipelineError';
    this.stage = stage;
    this.subject = subject;
    this.reason = reason;
  }
}

/** A file whose content cannot be used: it is moved aside with this reason, and costs nothing else. */
export class BadInput extends PipelineError {
  constructor(stage: string, subject: string, reason: string, options?: ErrorOptions) {
    super(stage, subject, reason, options);
    this.name = 'BadInput';
  }
}

/** Stage of a file of simulated data among observed ones, or the other way round: sound in itself, refused as long as that holds. */
export const PROVENANCE_STAGE = 'provenance';

/** A mistake on the command line: exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** Somebody or something else is in the way, such as another pipeline on the data root: exit code 4. */
export class Conflict extends PipelineError {
  constructor(stage: string, subject: string, reason: string, options?: ErrorOptions) {
    super(stage, subject, reason, options);
    this.name = 'Conflict';
  }
}

/** What was asked for does not exist: exit code 3. */
export class NotFound extends PipelineError {
  constructor(stage: string, subject: string, reason: string, options?: ErrorOptions) {
    super(stage, subject, reason, options);
    this.name = 'NotFound';
  }
}

/**
 * A file that the file system does not give: it has gone, may not be read, is a link in a circle. Nothing is said about its
 * content, so it is not put aside: it costs itself only and may be there with the next look.
 */
export class Unreadable extends PipelineError {
  /** True when nothing is there any more. */
  readonly is_gone: boolean;

  constructor(subject: string, reason: string, options: ErrorOptions & { is_gone?: boolean } = {}) {
    super('read', subject, reason, options);
    this.name = 'Unreadable';
    this.is_gone = options.is_gone ?? false;
  }
}

/** The disk takes no more for now: nothing was published by half, and the same work succeeds once there is room. */
export class DiskRefusal extends PipelineError {
  constructor(stage: string, subject: string, cause: unknown) {
    super(
      stage,
      subject,
      `cannot be written: the disk takes no more (${firstLine(cause)}); nothing was published by half`,
      { cause },
    );
    this.name = 'DiskRefusal';
  }
}

/** The data root is no longer the one that was locked: whoever goes on writing there destroys somebody else's data. */
export class RootLost extends PipelineError {
  constructor(subject: string, reason: string) {
    super('lock', subject, reason);
    this.name = 'RootLost';
  }
}

/** True for faults that may pass by themselves, so that the same work is worth another try. */
export function isTransient(error: unknown): error is DiskRefusal | Unreadable {
  return error instanceof DiskRefusal || error instanceof Unreadable;
}

/** True for a fault of what was worked on, which costs that only: neither one that passes nor one of the data root. */
export function isIsolated(error: unknown): error is PipelineError {
  const concerns_others = isTransient(error) || error instanceof RootLost || error instanceof Conflict;
  return !concerns_others && error instanceof PipelineError;
}

/** True for the errors of a disk that takes no more: full, over quota, file too large, read-only. */
export function isDiskRefusal(error: unknown): boolean {
  if (error instanceof DiskRefusal || ['ENOSPC', 'EDQUOT', 'EFBIG', 'EROFS'].includes(codeOf(error))) return true;
  // DuckDB and SQLite report the refusal of the disk in words, without a code.
  return /No space left on device|disk is full|File too large|Disk quota exceeded|Read-only file system/i.test(
    error instanceof Error ? error.message : String(error),
  );
}

/** Errors by which the file system says that it does not give this one path; a process out of descriptors is none. */
const NOT_GIVEN = ['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG', 'EISDIR', 'EIO', 'ESTALE', 'ENXIO'];

/** `error` as Unreadable when the file system does not give `path`; any other error as it is. */
export function asUnreadable(path: string, error: unknown): unknown {
  const code = codeOf(error);
  if (!NOT_GIVEN.includes(code)) return error;
  const is_gone = code === 'ENOENT' || code === 'ENOTDIR';
  return new Unreadable(path, is_gone ? `is not there (${code})` : `cannot be read (${code})`, {
    cause: error,
    is_gone,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function firstLine(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? '';
}
