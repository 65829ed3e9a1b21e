import { readFileSync } from 'node:fs';
import { sharedData } from './shared-folder.ts';

/** Figures of the real files of the text and GeoJSON feeds, as measured by tools that are not ours. */
interface FeedFigures {
  readonly reports: {
    readonly spc: Named<{ readonly convective_day: string; readonly sections: Named<SpcSection> }>;
    readonly iem_lsr: Named<{
      readonly by_type: Named<number>;
      readonly hail_rows: number;
      readonly distinct_hail_time_place: number;
      readonly hail: readonly object[];
    }>;
  };
  readonly outlooks: { readonly geojson: Named<OutlookFeatureFigures> };
  readonly warnings: {
    readonly alerts: Named<AlertFigures>;
    readonly watches: Named<WatchFigures>;
    readonly discussions: Named<DiscussionFigures>;
    readonly text: Named<{ readonly polygons: readonly OutlineFigures[] }>;
  };
}

type Named<Value> = Readonly<Record<string, Value>>;

interface SpcSection {
  readonly rows: number;
  readonly first_utc: string;
  readonly last_utc: string;
  readonly per_utc_date: Named<number>;
  readonly states: Named<number>;
  readonly size_counts: Named<number>;
  readonly largest_mm: number;
  readonly largest_at: readonly object[];
  readonly bbox: readonly number[];
}

interface OutlookFeatureFigures {
  readonly features: number;
  readonly points: number;
  readonly contains: Named<boolean>;
  readonly bbox: readonly number[];
}

interface AlertFigures {
  readonly features: number;
  readonly by_event: Named<number>;
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
  readonly watch: number;
  readonly type: string;
  readonly cancelled?: boolean;
  readonly areas?: string;
  readonly valid_from_ddhhmm?: string;
  readonly valid_to_ddhhmm?: string;
  readonly wmo_ddhhmm?: string;
  readonly hail_inch?: number;
  readonly gust_kt?: number;
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
