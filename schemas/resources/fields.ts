import { z } from 'zod';
import { SIZE_CATEGORIES } from '../size.ts';
import { daysBetween, isCalendarDate } from '../time.ts';

/** Fields of answers; the unit is in the metadata next to the description. */
const measure = (description: string, unit: string) => z.number().meta({ description, unit });

export const lat = (what = 'Latitude, 5 decimals.') => measure(what, 'deg');
export const lon = (what = 'Longitude, 5 decimals.') => measure(what, 'deg');
/** Point of a question as it was understood. */
export const askedPoint = () => z.object({ lat: lat('As asked, 5 decimals.'), lon: lon('As asked, 5 decimals.') });
export const km = (what: string) => measure(what, 'km');
export const km2 = (what: string) => measure(what, 'km2');
export const mm = (what: string) => measure(what, 'mm');
export const minutes = (what: string) => measure(what, 'min');
export const speed = (what: string) => measure(what, 'km/h');
export const direction = (what: string) => measure(what, 'deg');
export const number = (what: string, unit: string) => measure(what, unit);
export const probability = (what: string) => z.number().min(0).max(1).meta({ description: what, unit: '1' });
export const percent = (what: string) => z.number().min(0).max(100).meta({ description: what, unit: '%' });
export const count = (what: string) => z.int().nonnegative().meta({ description: what, unit: '1' });
const instant = (what: string, pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .meta({ description: `${what} ISO 8601 UTC.`, format: 'date-time' });
/** Instant such as `2026-05-01T20:12:00Z`. */
export const time = (what: string) => instant(what, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
/** When a record was written, such as `2026-05-01T20:12:00.123Z`. */
export const written = (what: string) => instant(what, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);

export const category = (what: string) =>
  z
    .enum(SIZE_CATEGORIES)
    .nullable()
    .meta({ description: `${what} Null below 19 mm.` });

export const DETAILS = ['standard', 'advanced'] as const;
export const detail = () => z.enum(DETAILS).meta({ description: 'Level of detail as asked.' });
export type Detail = (typeof DETAILS)[number];

/** Whether something is in range now. The time of the newest scan shows whether a false means no hail or no data. */
export const active = (what: string) =>
  z.boolean().meta({
    description: `True when ${what} is in range. False says nothing about now where the newest scan is more than ten minutes old, nor where radars do not look (GET /v1/coverage).`,
  });
export const dataTimestamp = () =>
  time('Observation time of the newest scan; null while nothing is published.').nullable();
export const dataAsOf = () =>
  time('Observation time of the newest scan of what was read; null while nothing is published.').nullable();

/** Why nothing can be known of what was asked for, whatever the time; null where it can. */
export const outsideNote = () =>
  z.string().nullable().meta({ description: 'Why no data can exist of what was asked for; null where they can.' });

/** Requested storm dates without published data: an empty result for them means nothing. */
export const datesWithoutData = () =>
  z.array(z.iso.date()).meta({
    description:
      'Storm dates asked for of which no radar data are published, ascending: that nothing is found on them says nothing.',
  });

/** A place in a body, anywhere on the globe. */
export const bodyLat = (what: string) => z.number().min(-90).max(90).meta({ description: what, unit: 'deg' });
export const bodyLon = (what: string) => z.number().min(-180).max(180).meta({ description: what, unit: 'deg' });

/** A storm date in a body: any date of the calendar. Limits that depend on the clock are checked separately. */
export const bodyDate = (description: string) =>
  z
    .string()
    .refine(isCalendarDate, { error: 'is no date of the calendar, expected YYYY-MM-DD', abort: true })
    .meta({ description, format: 'date' });

/** Checks of the first and the last date of a range, by their names: in order, at most `most` days with both ends. */
export const dateRange = <Name extends string>(start: Name, end: Name, most: number) =>
  [
    z.refine<Readonly<Record<Name, string>>>((dates) => dates[start] <= dates[end], {
      path: [end],
      error: `is before ${start}, expected the same date or a later one`,
      abort: true,
    }),
    z.refine<Readonly<Record<Name, string>>>((dates) => daysBetween(dates[start], dates[end]) <= most, {
      path: [end],
      error: `is too far from ${start}, expected at most ${most} days with both ends`,
    }),
  ] as const;

/** Cursor of the page after this one: an id or an operation name. */
export const nextCursor = z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' });

/** Items on this page. */
export const pageCount = z.int().nonnegative().meta({ description: 'Items on this page.' });

/** An object that the description of the interface names and refers to. */
export const resource = <Shape extends z.ZodRawShape>(id: string, shape: Shape) => z.object(shape).meta({ id });

/** A question and its answer, for the documentation. */
export interface Example<Reply extends z.ZodType> {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly reply: z.input<Reply>;
}
