import { addDays } from '../../schemas/time.ts';
import type { Edition } from '../catalog.ts';

/**
 * Storm dates from one to another, both included, of which no radar data are published, ascending: that nothing is told of
 * them says nothing. A date that was cleared is one of them.
 */
export function datesWithoutData(edition: Pick<Edition, 'provenanceOf'>, first: string, last: string): string[] {
  const missing: string[] = [];
  for (let date = first; date <= last; date = addDays(date, 1))
    if (edition.provenanceOf([date]) === null) missing.push(date);
  return missing;
}
