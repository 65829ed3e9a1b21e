import { addDays, daysBetween, monthOf } from '../../schemas/time.ts';
import type { Edition } from '../catalog.ts';

/**
 * Storm dates from one to another, both included, of which no radar data are published, ascending: that nothing is told of
 * them says nothing. A date that was cleared is one of them.
 */
export function datesWithoutData(edition: Pick<Edition, 'provenanceOf'>, first: string, last: string): string[] {
  return datesFrom(first, last).filter((date) => edition.provenanceOf([date]) === null);
}

/** Storm dates from one to another, both included, of which no ground report can be here: of months without a file, and not begun when the feeds were heard last. */
export function datesWithoutReports(edition: Pick<Edition, 'collection'>, first: string, last: string): string[] {
  const collection = edition.collection('reports');
  return datesFrom(first, last).filter((date) => {
    if (collection === null || Date.parse(date) > collection.as_of_ms) return true;
    // A storm date that starts at noon ends on the next day.
    return collection.paths(monthOf(date), monthOf(addDays(date, 1))).length === 0;
  });
}

function datesFrom(first: string, last: string): string[] {
  return Array.from({ length: Math.max(0, daysBetween(first, last)) }, (_, day) => addDays(first, day));
}
