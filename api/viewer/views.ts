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
