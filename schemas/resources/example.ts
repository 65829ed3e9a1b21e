import type { z } from 'zod';

/** A question and its answer, for the documentation. */
export interface Example<Reply extends z.ZodType> {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly reply: z.input<Reply>;
}
