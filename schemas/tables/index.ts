import { blockage } from './blockage.ts';
import { cells } from './cells.ts';
import { climatology } from './climatology.ts';
import { collectedReports } from './collected-reports.ts';
import { dayMax } from './day-max.ts';
import { detections } from './detections.ts';
import { eventDays } from './event-days.ts';
import { forecast } from './forecast.ts';
import { frames } from './frames.ts';
import { groundReports } from './ground-reports.ts';
import { outlook } from './outlook.ts';
import { probsevere } from './probsevere.ts';
import { scores } from './scores.ts';
import { spcOutlooks } from './spc-outlooks.ts';
import { swaths } from './swaths.ts';
import { tracks } from './tracks.ts';
import { uncovered } from './uncovered.ts';
import { warnings } from './warnings.ts';
import { watches } from './watches.ts';

/** Tables that each scan adds rows to. */
export const SCAN_TABLES = [detections, cells, tracks, dayMax, frames, uncovered, probsevere] as const;
/** Tables that are derived from a whole storm date and replaced as one. */
export const DAY_TABLES = [swaths, eventDays] as const;
/** Tables of scores of a storm date, made on request. */
export const SCORE_TABLES = [scores] as const;
/** Static tables: they belong to no date and are replaced as one. */
export const STATIC_TABLES = [blockage, climatology] as const;
/** Tables of collections, which feeds other than the grids fill. */
export const COLLECTION_TABLES = [
  groundReports,
  collectedReports,
  warnings,
  watches,
  spcOutlooks,
  forecast,
  outlook,
] as const;
export const TABLES = [...SCAN_TABLES, ...DAY_TABLES, ...SCORE_TABLES, ...STATIC_TABLES, ...COLLECTION_TABLES] as const;

export type TableName = (typeof TABLES)[number]['name'];
