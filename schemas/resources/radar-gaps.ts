import { z } from 'zod';
import * as wire from './fields.ts';

/** A place counts as seen by radar from this share of the minutes of a storm date. */
export const SEEN_MIN_SHARE = 0.9;

const share = () => wire.probability('Share of the minutes of the storm date during which a scan saw the place.');

/** Most gaps of a storm date in an answer. */
export const GAPS_LISTED_MAX = 24;

/** A period without a scan that covers a place. */
const RadarGap = z.object({
  from: wire.time(
    'Beginning: ten minutes after the last scan that saw the place, or the next scan where that did not.',
  ),
  to: wire.time('End: the next scan that saw it, or the end of what counts of the date.'),
});

/** A storm date with gaps in the radar coverage of a place. */
export const DateSeenInPart = z.object({
  date: z.iso.date().meta({ description: 'Storm date.' }),
  share: share(),
  until: wire
    .time('Of a date that still runs its newest scan: later minutes do not count. Null for a date that is over.')
    .nullable(),
  gap_count: wire.count(
    'Times during which no scan saw the place: below a share of 0.9 all of them, else those of more than ten minutes between two scans that saw it. 0 for a date that still runs and was seen up to its newest scan.',
  ),
  gaps: z.array(RadarGap).meta({
    description: `From when to when they last, ascending; of more than ${GAPS_LISTED_MAX} the longest.`,
  }),
});
export type DateSeenInPart = z.infer<typeof DateSeenInPart>;

/** Gaps in the radar coverage of a place on some storm dates; a gap does not mean "no hail". */
export const RadarGaps = z
  .object({
    dates_without_data: z.array(z.iso.date()).meta({
      description: 'Storm dates of which no radar data are published, ascending.',
    }),
    dates_with_unknown_scans: z.array(z.iso.date()).meta({
      description: 'Those that are published as the sum of a whole day: when radar looked is not known. Ascending.',
    }),
    dates_seen_in_part: z.array(DateSeenInPart).meta({
      description:
        'Those of which a scan saw the place for less than 0.9 of the minutes, with a gap of more than ten minutes, or that still run. Ascending.',
    }),
    coverage: z
      .array(
        z.object({
          date: z.iso.date().meta({ description: 'Storm date.' }),
          share: share().nullable().meta({
            description:
              'Share of its minutes during which a scan saw the place: a scan stands for the time up to the next one, at most ten minutes, and only where a radar covered the block of 0.1 degree. Null where the scans are not known.',
            unit: '1',
          }),
        }),
      )
      .meta({ description: 'Every storm date with radar data, ascending.' }),
  })
  .meta({
    description:
      'How far silence of the radar means anything: dates and times at which it did not see the place. For dates published by older releases, where no radar looked is known of 24 scans of a date alone, each of which stands for those up to the next.',
  });
