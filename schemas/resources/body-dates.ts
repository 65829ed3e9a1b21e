import { z } from 'zod';
import { isCalendarDate } from '../time.ts';

/** A storm date in a body: any date of the calendar. What the clock decides is checked beside it. */
export const bodyDate = (description: string) =>
  z
    .string()
    .refine(isCalendarDate, { error: 'is no date of the calendar, expected YYYY-MM-DD', abort: true })
    .meta({ description, format: 'date' });
