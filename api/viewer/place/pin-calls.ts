import type { DetectionQualityBlock } from '../../../schemas/resources/detection-quality.ts';
import type { HistoryEvent } from '../../../schemas/resources/history-event.ts';
import type { ReportJob } from '../../../schemas/resources/report-job.ts';
import type { Verification } from '../../../schemas/resources/verification.ts';
import type { LngLat } from '../data/day.ts';
import type { Service } from '../data/service.ts';
import { addDays, KM_PER_MILE } from '../page/words.ts';

/** Prices of the calls of a pin, credits. History is priced by the days that it looks back. */
export const CREDITS = {
  history: [
    { days: 30, credits: 15 },
    { days: 90, credits: 25 },
    { days: 365, credits: 60 },
  ],
  coverage: 5,
  verify: 50,
  report: 100,
} as const;

export const RADII_MI = [1, 3, 10] as const;
export const HISTORY_DAYS = 365;
/** Farther back a verification costs less than what fell at each of the distances. */
const FELL_DAYS_MAX = 90;
const DAY_MS = 86_400_000;
const HISTORY_LIMIT = 200;

/** The largest hail of a storm date around a place. */
export type HailDay = Pick<HistoryEvent, 'storm_date' | 'distance_km' | 'first_detected' | 'last_detected'> & {
  readonly hail: Pick<HistoryEvent['hail'], 'estimated_size_mm'>;
};

export type RadarGaps = Verification['radar_gaps'];

/** What fell at a place on a date: the largest detection within each of `RADII_MI`; null where there is none. */
export interface Fell {
  readonly date: string;
  readonly within: readonly (HailDay | null)[];
  readonly gaps: RadarGaps;
  readonly covered: boolean;
  readonly quality: DetectionQualityBlock;
}

export interface PlaceHistory {
  readonly events: readonly HailDay[];
  readonly gaps: RadarGaps;
}

export type Verified = Pick<Verification, 'date_range' | 'events' | 'detection_quality' | 'radar_gaps'>;
export type Report = Pick<ReportJob, 'report_id' | 'status' | 'message' | 'pdf_url'>;

/** Calls about a pinned place. Equal questions of a visit are asked, and charged, once. */
export function openPinCalls({ call }: Pick<Service, 'call'>) {
  const known = new Map<string, ReturnType<typeof call>>();
  const once = (path: string, scope: string, body?: object) => {
    const name = `${path} ${JSON.stringify(body)}`;
    const asked = known.get(name) ?? call(path, { scope, body });
    known.set(name, asked);
    asked.catch(() => known.delete(name));
    return asked;
  };
  const history = (at: LngLat, radius_mi: number, days: number): Promise<PlaceHistory> =>
    once(
      `/hail/history?${pointQuery(at)}&radius_km=${(radius_mi * KM_PER_MILE).toFixed(3)}&days=${days}&limit=${HISTORY_LIMIT}`,
      'hail:read',
    ).then(({ events, radar_gaps }) => ({ events, gaps: radar_gaps }));

  return {
    /** From far to near: where the largest within 10 miles lies within 1 mile, one call answers for all distances. */
    async fell(at: LngLat, date: string, now_ms: number): Promise<Fell> {
      const band = fellBand(date, now_ms);
      if (!band) throw new Error(`${date} is not within the last ${FELL_DAYS_MAX} days`);
      const ask = async (radius_mi: number) => {
        const { events, gaps } = await history(at, radius_mi, band.days);
        return { largest: events.find(({ storm_date }) => storm_date === date) ?? null, gaps };
      };
      const farthest = await ask(RADII_MI[RADII_MI.length - 1]);
      const within: (HailDay | null)[] = [farthest.largest];
      for (const radius_mi of RADII_MI.slice(0, -1).reverse()) {
        const wider = within[0];
        const isNear = wider === null || wider.distance_km <= radius_mi * KM_PER_MILE;
        within.unshift(isNear ? wider : (await ask(radius_mi)).largest);
      }
      const { covered, detection_quality } = await once(`/coverage?${pointQuery(at)}`, 'coverage:read');
      return { date, within, gaps: farthest.gaps, covered, quality: detection_quality };
    },
    history: (at: LngLat, radius_mi: number) => history(at, radius_mi, HISTORY_DAYS),
    verify: (at: LngLat, date: string): Promise<Verified> => once('/verify', 'verify:write', verification(at, date)),
    order: (at: LngLat, date: string, reference: string): Promise<Report> =>
      call('/verify/report', { scope: 'verify:write', body: { ...verification(at, date), reference } }),
    report: (id: string): Promise<Report> => call(`/verify/report/${id}`, { scope: 'verify:read' }),
  };
}

/** A date and the next: an evening in the United States lies on the next storm date. */
function verification({ lat, lng }: LngLat, date: string) {
  return { lat, lon: lng, date_start: date, date_end: addDays(date, 1) };
}

const pointQuery = ({ lat, lng }: LngLat) => `lat=${lat.toFixed(5)}&lon=${lng.toFixed(5)}`;

/** The history that `fell` asks for on a date; undefined where it is too long ago. The last day of a band costs no more than its first. */
function fellBand(date: string, now_ms: number) {
  const days = Math.floor((now_ms - Date.parse(`${date}T00:00:00Z`)) / DAY_MS) + 1;
  return days > FELL_DAYS_MAX ? undefined : CREDITS.history.find((band) => days <= band.days);
}

/** What `fell` costs at least and at most; null for a date for which it is not asked. */
export function fellPrice(date: string, now_ms: number): { least: number; most: number } | null {
  const band = fellBand(date, now_ms);
  if (!band) return null;
  return { least: band.credits + CREDITS.coverage, most: RADII_MI.length * band.credits + CREDITS.coverage };
}
