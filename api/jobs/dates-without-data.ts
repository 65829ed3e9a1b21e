import { addDays } from '../../schemas/time.ts';
import type { Edition } from '../catalog.ts';

/** Storm dates from one to another, both included, that are not published, ascending: that nothing is told of them says nothing. */
export function datesWithoutData(edition: Pick<Edition, 'dates'>, first: string, last: string): readonly string[] {
  const published = new Set(edition.dates);
  const missing: string[] = [];
  for (let date = first; date <= last; date = addDays(date, 1)) if (!published.has(date)) missing.push(date);
  return missing;
}
