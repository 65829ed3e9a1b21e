import { blockage, climatology, eventDays, ground, swaths } from './derived.ts';
import { collectedReports, groundReports, spcOutlooks, warnings, watches } from './feeds.ts';
import { forecast, outlook } from './forecast.ts';
import { cells, dayMax, detections, frames, probsevere, tracks, uncovered } from './radar.ts';

/** Tables that each scan adds rows to. */
export const SCAN_TABLES = [detections, cells, tracks, dayMax, frames, uncovered, probsevere] as const;
/** Tables that are derived from a whole storm date and replaced as one. */
export const DAY_TABLES = [swaths, eventDays] as const;
/** Static tables: they belong to no date and are replaced as one. */
const STATIC_TABLES = [blockage, ground, climatology] as const;
/** Tables of collections, which feeds other than the grids fill. */
const COLLECTION_TABLES = [groundReports, collectedReports, warnings, watches, spcOutlooks, forecast, outlook] as const;
export const TABLES = [...SCAN_TABLES, ...DAY_TABLES, ...STATIC_TABLES, ...COLLECTION_TABLES] as const;

export type TableName = (typeof TABLES)[number]['name'];
