import { z } from 'zod';
import { isCalendarDate } from '../time.ts';

/** A storm date in a body: any date of the calendar. Limits that depend on the clock are checked separately. */
export const bodyDate = (description: string) =>
  z
    .string()
    .refine(isCalendarDate, { error: 'is no date of the calendar, expected YYYY-MM-DD', abort: true })
    .meta({ description, format: 'date' });
