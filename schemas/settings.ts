import { z } from 'zod';

const wholeNumber = (low: number, high: number) =>
  z
    .string()
    .regex(/^\d+$/, `expected a whole number from ${low} to ${high}`)
    .transform(Number)
    .pipe(z.number().int().min(low).max(high));

/**
 * Every setting, its default and its meaning: the table in README is made from this object.
 * Science is not a setting: thresholds are named constants beside their algorithm.
 */
export const Settings = z.object({
  HAIL_DATA: z.string().min(1).default('data').meta({ description: 'data root' }),
  HAIL_NOW: z.iso
    .datetime({ offset: false })
    .optional()
    .meta({ description: 'fixes the data clock, for tests and demos; waits stay on the monotonic clock' }),
  HAIL_STORM_DAY_START_HOUR: wholeNumber(0, 23)
    .default(0)
    .meta({ description: '12 makes the storm date the convective day' }),
  HAIL_MRMS_URL: z
    .url({ protocol: /^https?$/ })
    .default('https://noaa-mrms-pds.s3.amazonaws.com')
    .meta({ description: 'base address of the public MRMS bucket' }),
  HAIL_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .meta({ description: 'how much is logged' }),
});
export type Settings = z.infer<typeof Settings>;
