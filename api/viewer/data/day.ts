/** One scan of a date, as GET /v1/tiles/scan lists it. */
export interface Frame {
  readonly scan_id: string;
  readonly scan_time: string;
  readonly url: string;
  readonly reflectivity_url: string | null;
  readonly max_prob: number | null;
  readonly max_size_mm: number | null;
  readonly storms: readonly { readonly lat: number; readonly lon: number; readonly mm: number }[];
}

/** Archives of a date; `date` is null while nothing is published. */
export interface DayIndex {
  readonly date: string | null;
  readonly frames: readonly Frame[];
  readonly daily_url: string | null;
  readonly data_as_of: string | null;
  /** `observed`, `simulated` or `mixed`; null without data. */
  readonly source: string | null;
  /** Set for the last 24 hours, which also hold scans of the date before. */
  readonly before?: DayBefore;
}

/** The day before the newest date, as far as it belongs to the last 24 hours. */
export interface DayBefore {
  readonly date: string;
  /** Swaths of the whole date; null where the last 24 hours have none of it. */
  readonly daily_url: string | null;
  /** Scans of this date are the first of the list. */
  readonly scans: number;
  /** Begin of the last 24 hours. */
  readonly from: string;
  /** Its swaths also show hail from before the last 24 hours. */
  readonly shows_earlier: boolean;
}
