import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../errors.ts';

/** Metadata of every answer of the earlier variant. */
export const EarlierMeta = z
  .object({
    request_id: z.string().meta({ description: 'Correlates with the logs.' }),
    timestamp: z.string().meta({ description: 'Data clock when the request was accepted.', format: 'date-time' }),
  })
  .meta({ id: 'Meta' });
export type EarlierMeta = z.infer<typeof EarlierMeta>;

/** A success of the earlier variant. */
export function enveloped<Data extends z.ZodType>(data: Data) {
  return z.object({ data, meta: EarlierMeta });
}

export const EarlierErrorBody = z
  .object({
    error: z.object({
      code: z
        .enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])
        .meta({ description: 'Stable machine-readable code.' }),
      message: z.string().meta({ description: 'For people; may change, must not be parsed.' }),
    }),
    meta: EarlierMeta,
  })
  .meta({ id: 'EarlierError', description: 'Every answer that is not a success.' });
export type EarlierErrorBody = z.infer<typeof EarlierErrorBody>;
