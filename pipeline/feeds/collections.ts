import type { Collection } from './collection.ts';
import { outlooks } from './outlooks.ts';
import { reports } from './reports.ts';
import { warnings } from './warnings.ts';
import { watches } from './watches.ts';

/** Runs `use` with a collection whose items and rows only it knows. */
export type WithCollection<Result> = <Item, Row extends Record<string, unknown>>(
  definition: Collection<Item, Row>,
) => Result;

/** What `use` makes of every collection. */
export function ofEachCollection<Result>(use: WithCollection<Result>): Result[] {
  return [use(reports), use(warnings), use(watches), use(outlooks)];
}
