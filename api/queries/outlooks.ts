import { LRUCache } from 'lru-cache';
import { spcOutlooks } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, monthOf, utcDate } from '../../schemas/time.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import { memoize } from '../published/memoize.ts';
import { OUTLOOK_COLUMNS, type OutlookArea } from '../rules/outlook.ts';
import { FILES, selectList } from './sql.ts';

const AREAS_SQL = `SELECT ${selectList(spcOutlooks, OUTLOOK_COLUMNS)} FROM ${FILES} ORDER BY ${spcOutlooks.order}`;
/** By paths: the months of the moment, and those that were replaced last. Their outlines are parsed once as well. */
const areas = new LRUCache<string, Promise<readonly OutlookArea[]>>({ max: 2 });

/** An outlook of day 1 may have begun yesterday; one of day 8 begins a week from now, and months are cut by that day. */
const REACH_MS = { past: 2 * MS_PER_DAY, ahead: 9 * MS_PER_DAY } as const;

/** Areas of every outlook of which an instant may be asked. */
export async function outlookAreas(
  engine: Queries,
  collection: CollectionEdition,
  at_ms: number,
): Promise<readonly OutlookArea[]> {
  const paths = collection.paths(monthAt(at_ms - REACH_MS.past), monthAt(at_ms + REACH_MS.ahead));
  if (paths.length === 0) return [];
  return memoize(areas, paths.join('\n'), () => engine.rows<OutlookArea>(AREAS_SQL, [paths]));
}

function monthAt(time_ms: number): string {
  return monthOf(utcDate(time_ms));
}
