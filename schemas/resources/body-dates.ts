import { z } from 'zod';
import { isCalendarDate } from '../time.ts';

/** History runs from this date; between it and the first published data a question is valid and finds nothing. */
export const HISTORY_FIRST_DATE = '2020-01-01';

/** A storm date in a body. What the clock decides is checked beside it. */
export const bodyDate = (description: string) =>
  z
    .string()
    .refine(isCalendarDate, { error: 'is no date of the calendar, expected YYYY-MM-DD', abort: true })
    .refine((date) => date >= HISTORY_FIRST_DATE, {
      error: `is before the first date of history, expected ${HISTORY_FIRST_DATE} or later`,
    })
    .meta({ description, format: 'date' });
