import type { HistoryEvent } from '../../../schemas/resources/history-event.ts';
import type { ReportJob } from '../../../schemas/resources/report-job.ts';
import type { Verification } from '../../../schemas/resources/verification.ts';
import { addDays } from '../../../schemas/time.ts';
import type { LngLat } from '../data/day.ts';
import type { Service } from '../data/service.ts';
import { remembered } from '../page/page.ts';
import { KM_PER_MILE } from '../page/words.ts';

/** Prices of the calls of a pin, credits; those of history by the days that it looks back. */
export const CREDITS = { history: { 30: 15, 90: 25, 365: 60 }, coverage: 5, verify: 50, report: 100 };
export const RADII_MI = [1, 3, 10] as const;
export const HISTORY_DAYS = 365;
/** What fell is asked for of dates among the last 30 or 90 days; of an earlier date a verification costs less. */
const FELL_DAYS = [30, 90] as const;
const DAY_MS = 86_400_000;
const REPORT_POLL_MS = 1500;

/** The largest hail of a storm date around a place. */
export type HailDay = Pick<HistoryEvent, 'storm_date' | 'distance_km' | 'first_detected' | 'last_detected'> & {
  readonly hail: Pick<HistoryEvent['hail'], 'estimated_size_mm'>;
};

/** Storm dates with hail around a place, the largest first, and when radar looked. */
export type PlaceHistory = Pick<Verification, 'radar_gaps'> & { readonly events: readonly HailDay[] };

/** What fell at a place on a date: the largest detection within each of `RADII_MI`; null where there is none. */
export interface Fell extends Pick<Verification, 'radar_gaps' | 'detection_quality'> {
  readonly date: string;
  readonly within: readonly (HailDay | null)[];
  readonly covered: boolean;
}

export type Verified = Pick<Verification, 'date_range' | 'events' | 'detection_quality' | 'radar_gaps'>;

/** Calls about a pinned place. Equal questions of a visit are asked, and charged, once. */
export function openPinCalls({ call }: Pick<Service, 'call'>) {
  const known = new Map<string, ReturnType<typeof call>>();
  const once = (path: string, body?: object) =>
    remembered(known, `${path} ${JSON.stringify(body)}`, () => call(path, body));
  const history = (at: LngLat, miles: number, days: number): Promise<PlaceHistory> =>
    once(`/hail/history?${pointQuery(at)}&radius_km=${(miles * KM_PER_MILE).toFixed(3)}&days=${days}&limit=200`);

  return {
    /** What fell on one of the last `days` days. */
    async fell(at: LngLat, date: string, days: number): Promise<Fell> {
      const [{ covered, detection_quality }, ...histories] = await Promise.all([
        once(`/coverage?${pointQuery(at)}`),
        ...RADII_MI.map((miles) => history(at, miles, days)),
      ]);
      const within = histories.map(({ events }) => events.find(({ storm_date }) => storm_date === date) ?? null);
      return { date, within, covered, detection_quality, radar_gaps: histories[0].radar_gaps };
    },
    history: (at: LngLat, miles: number) => history(at, miles, HISTORY_DAYS),
    verify: (at: LngLat, date: string): Promise<Verified> => once('/verify', verification(at, date)),
    /** Orders a report and waits for it; the address of the PDF. */
    async report(at: LngLat, date: string, reference: string): Promise<string> {
      let job: ReportJob = await call('/verify/report', { ...verification(at, date), reference });
      while (job.status === 'pending') {
        await new Promise((resolve) => setTimeout(resolve, REPORT_POLL_MS));
        job = await call(`/verify/report/${job.report_id}`);
      }
      if (job.pdf_url === null)
        throw new Error(`The report could not be made${job.message ? `: ${job.message}` : ''}.`);
      return job.pdf_url;
    },
  };
}

/** A date and the next: an evening in the United States lies on the next storm date. */
function verification({ lat, lng }: LngLat, date: string) {
  return { lat, lon: lng, date_start: date, date_end: addDays(date, 1) };
}

const pointQuery = ({ lat, lng }: LngLat) => `lat=${lat.toFixed(5)}&lon=${lng.toFixed(5)}`;

/** How far back `fell` looks for a date, days; undefined where it is too long ago. The last day of a band costs no more than its first. */
export function fellDays(date: string, now_ms: number) {
  const days = Math.floor((now_ms - Date.parse(date)) / DAY_MS) + 1;
  return FELL_DAYS.find((most) => days <= most);
}

/** Price of `fell`, credits: a history for each distance, and the coverage. */
export const fellPrice = (days: (typeof FELL_DAYS)[number]) =>
  RADII_MI.length * CREDITS.history[days] + CREDITS.coverage;
