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
