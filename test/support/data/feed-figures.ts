import { readFileSync } from 'node:fs';
import { sharedData } from './shared-folder.ts';

/** Figures of the real files of the text and GeoJSON feeds, as measured by tools that are not ours. */
interface FeedFigures {
  readonly reports: {
    readonly spc: Readonly<
      Record<string, { readonly convective_day: string; readonly sections: Readonly<Record<string, SpcSection>> }>
    >;
    readonly lsr: Readonly<Record<string, LsrFigures>>;
    readonly iem_lsr: Readonly<Record<string, IemFigures>>;
  };
  readonly outlooks: {
    readonly points: Readonly<Record<string, OutlookFigures>>;
    readonly geojson: Readonly<Record<string, OutlookFeatureFigures>>;
  };
  readonly warnings: {
    readonly alerts: Readonly<Record<string, AlertFigures>>;
    readonly watches: Readonly<Record<string, WatchFigures>>;
    readonly discussions: Readonly<Record<string, DiscussionFigures>>;
    readonly text: Readonly<Record<string, { readonly polygons: readonly OutlineFigures[] }>>;
  };
}

interface SpcSection {
  readonly rows: number;
  readonly first_utc: string;
  readonly last_utc: string;
  readonly rows_on_next_utc_date: number;
  readonly per_utc_date: Readonly<Record<string, number>>;
  readonly states: Readonly<Record<string, number>>;
  readonly size_counts: Readonly<Record<string, number>>;
  readonly largest_mm: number;
  readonly largest_at: readonly {
    utc: string;
    location: string;
    county: string;
    state: string;
    lat: number;
    lon: number;
  }[];
  readonly bbox: readonly number[];
}

interface LsrFigures {
  readonly wfo: string;
  readonly tz: string;
  readonly issued_utc: string;
  readonly reports: readonly {
    readonly utc: string;
    readonly event: string;
    readonly location: string;
    readonly lat: number;
    readonly lon: number;
    readonly magnitude_text: string | null;
    readonly magnitude: number | null;
    readonly qualifier: string | null;
    readonly county: string;
    readonly state: string;
    readonly source: string;
  }[];
}

interface IemFigures {
  readonly features: number;
  readonly by_type: Readonly<Record<string, number>>;
  readonly hail_rows: number;
  readonly largest_inch: number;
  readonly distinct_hail_time_place: number;
  readonly hail: readonly {
    readonly utc: string;
    readonly inch: number;
    readonly city: string;
    readonly state: string;
    readonly lon: number;
    readonly lat: number;
    readonly product_id: string;
  }[];
}

interface OutlookFigures {
  readonly valid_ddhhmm: readonly [string, string];
  readonly issue_line: string;
  readonly sections: readonly {
    readonly day: string;
    readonly section: string;
    readonly groups: readonly {
      readonly label: string;
      readonly lines: number;
      readonly points: readonly number[];
      readonly closed: readonly boolean[];
      readonly first_lonlat: readonly number[];
    }[];
  }[];
}

interface OutlookFeatureFigures {
  readonly features: number;
  readonly points: number;
  readonly contains: Readonly<Record<string, boolean>>;
  readonly bbox: readonly number[];
}

interface AlertFigures {
  readonly features: number;
  readonly by_event: Readonly<Record<string, number>>;
  readonly relative_times: number;
  readonly maxHailSize: readonly {
    readonly event: string;
    readonly maxHailSize: readonly string[];
    readonly maxWindGust: readonly string[];
    readonly sender: string;
    readonly id: string;
  }[];
  readonly severe_thunderstorm_or_tornado_warnings: readonly {
    readonly event: string;
    readonly area: string;
    readonly expires: string;
    readonly polygon_points: number;
  }[];
}

interface OutlineFigures {
  readonly points_in_text: number;
  readonly valid_simple_polygon: boolean;
  readonly bbox: readonly number[];
  readonly ring_lonlat: readonly (readonly number[])[];
}

interface WatchFigures {
  readonly kind: string;
  readonly watch: number;
  readonly type: string;
  readonly cancelled?: boolean;
  readonly areas?: string;
  readonly issued_ddhhmm?: string;
  readonly valid_from_ddhhmm?: string;
  readonly valid_to_ddhhmm?: string;
  readonly expires_ddhhmm?: string;
  readonly wmo_ddhhmm?: string;
  readonly hail_inch?: number;
  readonly gust_kt?: number;
  readonly max_hail_inch?: number;
  readonly max_gust_kt?: number;
  readonly pds?: boolean;
  readonly probabilities?: Readonly<Record<string, string>>;
  readonly polygon: OutlineFigures | null;
}

interface DiscussionFigures {
  readonly number: number;
  readonly valid_utc: readonly [string, string];
  readonly concerning: string;
  readonly watch_probability_percent: number | null;
  readonly polygon: OutlineFigures;
}

/** The figures; only where the folder of real files is there. */
export function feedFigures(): FeedFigures {
  return JSON.parse(readFileSync(sharedData('expected.json'), 'utf8')) as FeedFigures;
}

/** Minutes of an instant as the figures write them. */
export function minuteOf(time_ms: number): string {
  return `${new Date(time_ms).toISOString().slice(0, 16)}Z`;
}

/** How often each word occurs. */
export function tally(words: Iterable<string | number>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
