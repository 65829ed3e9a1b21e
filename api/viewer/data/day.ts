import type { TileFrame } from '../../../schemas/resources/tile-frame.ts';

/** Swaths of a whole day, or one scan. */
export type View = 'day' | 'scan';

/** The last 24 hours, or one storm date. */
export type Span = 'recent' | 'date';

/** Centre and zoom of the map. */
export interface MapPlace {
  readonly zoom: number;
  readonly lat: number;
  readonly lon: number;
}

export interface LngLat {
  readonly lng: number;
  readonly lat: number;
}

/** One scan of a date, as GET /v1/tiles/scan lists it. */
export type Frame = Pick<
  TileFrame,
  'scan_id' | 'scan_time' | 'url' | 'reflectivity_url' | 'max_prob' | 'max_size_mm' | 'storms'
>;

/** Archives of a date; `date` is null while nothing is published. */
export interface DayIndex {
  readonly date: string | null;
  readonly frames: readonly Frame[];
  /** Swaths of whole dates, those on top last. */
  readonly daily_urls: readonly string[];
  readonly data_as_of: string | null;
  /** `observed`, `simulated` or `mixed`; null without data. */
  readonly source: string | null;
  /** The day before the newest date, as far as it belongs to the last 24 hours. */
  readonly before?: {
    readonly date: string;
    /** Scans of this date are the first of the list. */
    readonly scans: number;
    /** Begin of the last 24 hours. */
    readonly from: string;
    /** Its swaths also show hail from before the last 24 hours. */
    readonly shows_earlier: boolean;
  };
}
