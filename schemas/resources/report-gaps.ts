import { z } from 'zod';
import { REPORT_FEEDS } from '../tables/feeds.ts';
import * as wire from './fields.ts';

const dates = (description: string) => z.array(z.iso.date()).meta({ description });

/** A period without any collected source of ground reports. */
export const ReportGap = z.object({ from: wire.time('Beginning.'), to: wire.time('End.') });
export type ReportGap = z.infer<typeof ReportGap>;

/** Storm dates without collected ground reports. */
export const ReportGaps = z
  .object({
    dates_without_reports: dates(
      'Storm dates for which no source was collected, or of which that is not known, ascending.',
    ),
    dates_collected_in_part: z
      .array(z.object({ date: z.iso.date(), gaps: z.array(ReportGap).meta({ description: 'Ascending.' }) }))
      .meta({ description: 'Storm dates with times for which no source was collected, ascending.' }),
    sources: z
      .array(
        z.object({
          source: z.enum(REPORT_FEEDS).meta({ description: 'Source of reports.' }),
          dates_not_collected: dates('Storm dates for which it was not collected, ascending.'),
        }),
      )
      .meta({ description: 'Each source by itself.' }),
  })
  .meta({ description: 'How far silence of the ground reports means anything.' });
export type ReportGaps = z.infer<typeof ReportGaps>;
