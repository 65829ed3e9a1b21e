import { type SpcOutlook, spcOutlooks } from '../../schemas/tables/feeds.ts';
import { MS_PER_DAY, monthOf, utcDate } from '../../schemas/time.ts';
import type { CollectionEdition } from '../published/catalog.ts';
import type { OutlookArea } from '../rules/outlook.ts';
import type { CollectionRows, CollectionView } from './collection-rows.ts';

const COLUMNS = [
  'forecast_date',
  'day',
  'hazard',
  'part',
  'label',
  'probability_pct',
  'issue_time',
  'valid_time',
  'expire_time',
  'fetched_at',
  'is_complete',
  'geometry',
  'data_source',
] as const satisfies readonly (keyof SpcOutlook)[];

const OUTLOOKS: CollectionView<OutlookArea, readonly OutlookArea[]> = {
  table: spcOutlooks,
  columns: COLUMNS,
  time: null,
  make: (rows) => rows,
};

/** An outlook of day 1 may have begun yesterday; one of day 8 begins a week from now, and months are cut by that day. */
const REACH_MS = { past: 2 * MS_PER_DAY, ahead: 9 * MS_PER_DAY } as const;

/** Areas of every outlook of which an instant may be asked. */
export function outlookAreas(
  rows: CollectionRows,
  { paths }: CollectionEdition,
  at_ms: number,
): Promise<readonly OutlookArea[]> {
  return rows.of(OUTLOOKS, paths(monthAt(at_ms - REACH_MS.past), monthAt(at_ms + REACH_MS.ahead)));
}

function monthAt(time_ms: number): string {
  return monthOf(utcDate(time_ms));
}
