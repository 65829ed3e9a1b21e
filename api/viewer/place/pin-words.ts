/*
 * What is asked about a pinned place, what it costs, and the answers in words.
 */
import { distanceKm } from '../../../schemas/geo/distance.ts';
import type { HailHistory, HistoryEvent } from '../../../schemas/resources/history-event.ts';
import type { ReportJob } from '../../../schemas/resources/report-job.ts';
import type { Verification, VerificationEvent } from '../../../schemas/resources/verification.ts';
import { DETECTION_MIN_MM } from '../../../schemas/size.ts';
import { addDays, MS_PER_DAY } from '../../../schemas/time.ts';
import type { Frame, LngLat } from '../data/day.ts';
import type { Service } from '../data/service.ts';
import { remembered } from '../page/page.ts';
import { stepOf } from '../page/palette.ts';
import { counted, dateInWords, KM_PER_MILE, localInWords, sizeInWords, stormDateInWords } from '../page/words.ts';

/** Prices of the calls of a pin, credits; those of history by the days that it looks back. */
export const CREDITS = { history: { 30: 15, 90: 25, 365: 60 }, coverage: 5, verify: 50, report: 100 };
export const RADII_MI = [1, 3, 10] as const;
export const HISTORY_DAYS = 365;
/** What fell is asked for of dates among the last 30 or 90 days; of an earlier date a verification costs less. */
const FELL_DAYS = [30, 90] as const;
const REPORT_POLL_MS = 1500;
/** So often a report is looked at for one press of the button. */
const REPORT_POLLS = 40;
/** Radar saw a date where its scans cover this share of the minutes. */
const SEEN_MIN_SHARE = 0.9;
/** Storms farther away say nothing about a place. */
const STORM_MAX_KM = 50;

/** What fell at a place on a date: the largest detection within each of `RADII_MI`; null where there is none. */
export interface Fell extends Pick<Verification, 'radar_gaps' | 'detection_quality'> {
  readonly date: string;
  readonly within: readonly (HistoryEvent | null)[];
  readonly covered: boolean;
}

/** How far back `fell` looks for a date, days; undefined where it is too long ago. The last day of a band costs no more than its first. */
export function fellDays(date: string, now_ms: number) {
  const days = Math.floor((now_ms - Date.parse(date)) / MS_PER_DAY) + 1;
  return FELL_DAYS.find((most) => days <= most);
}

/** Price of `fell`, credits: a history for each distance, and the coverage. */
export const fellPrice = (days: (typeof FELL_DAYS)[number]) =>
  RADII_MI.length * CREDITS.history[days] + CREDITS.coverage;

/** Calls about a pinned place. Equal questions of a visit are asked, and charged, once. */
export function openPinCalls({ call }: Pick<Service, 'call'>) {
  const known = new Map<string, ReturnType<typeof call>>();
  const nameOf = (path: string, body?: object) => `${path} ${JSON.stringify(body)}`;
  const once = (path: string, body?: object) => remembered(known, nameOf(path, body), () => call(path, body));
  const pointOf = ({ lat, lng }: LngLat) => `lat=${lat.toFixed(5)}&lon=${lng.toFixed(5)}`;
  const history = (at: LngLat, miles: number, days: number = HISTORY_DAYS): Promise<HailHistory> => {
    const radius_km = (miles * KM_PER_MILE).toFixed(3);
    return once(`/hail/history?${pointOf(at)}&radius_km=${radius_km}&days=${days}&limit=200`);
  };
  /** A date and the next: an evening in the United States lies on the next storm date. */
  const verification = ({ lat, lng }: LngLat, date: string) => {
    return { lat, lon: lng, date_start: date, date_end: addDays(date, 1) };
  };
  return {
    /** What fell on one of the last `days` days. */
    async fell(at: LngLat, date: string, days: number): Promise<Fell> {
      const [{ covered, detection_quality }, ...histories] = await Promise.all([
        once(`/coverage?${pointOf(at)}`),
        ...RADII_MI.map((miles) => history(at, miles, days)),
      ]);
      const within = histories.map(({ events }) => events.find(({ storm_date }) => storm_date === date) ?? null);
      return { date, within, covered, detection_quality, radar_gaps: histories[0].radar_gaps };
    },
    history,
    verify: (at: LngLat, date: string): Promise<Verification> => once('/verify', verification(at, date)),
    /** A report, which is ordered once unless it fails, and then looked at for nothing. */
    report(at: LngLat, date: string, reference: string) {
      const order = ['/verify/report', { ...verification(at, date), reference }] as const;
      const name = nameOf(...order);
      return {
        credits: () => (known.has(name) ? 0 : CREDITS.report),
        /** Waits for it: the address of the PDF; null while it is still being made. */
        async wait(): Promise<string | null> {
          const { report_id } = await once(...order);
          const look = async (): Promise<ReportJob> => {
            await new Promise((resolve) => setTimeout(resolve, REPORT_POLL_MS));
            return call(`/verify/report/${report_id}`);
          };
          let job = await look().catch(look);
          for (let looks = 1; job.status === 'pending' && looks < REPORT_POLLS; looks++) job = await look().catch(look);
          if (job.status !== 'failed') return job.pdf_url;
          known.delete(name);
          throw new Error(`The report could not be made: ${job.message}.`);
        },
      };
    },
  };
}

/** `2.3 mi`. */
export const milesInWords = (km: number): string => `${(km / KM_PER_MILE).toFixed(1)} mi`;

const row = (name: string, value: string) => [name, value] as const;

/** What fell at a place on a date. "No hail" only where radar looked and detected none. */
export function fellInWords(at: LngLat, { date, within, radar_gaps, covered, detection_quality }: Fell) {
  const near_mm = within[0]?.hail.estimated_size_mm;
  const isAnywhere = within.some((day) => day !== null);
  const { seen, line } = lookInWords(at, date, radar_gaps, covered);
  const isKnown = seen !== 'none' || isAnywhere;
  const none = `No hail ${seen === 'all' ? '' : 'detected '}${isAnywhere ? 'within 1 mile' : 'here'}`;
  const empty = isKnown ? none : 'Not known';
  const rows = within.map((day, i) => row(`Within ${counted(RADII_MI[i], 'mile')}`, hailInWords(at, day)));
  return {
    headline: near_mm ? sizeInWords(near_mm) : empty,
    color: near_mm ? stepOf(near_mm).color : null,
    rows: [...(isKnown ? rows : []), qualityRow(detection_quality)],
    lines: [line],
  };
}

function hailInWords(at: LngLat, day: HistoryEvent | null): string {
  if (day === null) return `none of ${DETECTION_MIN_MM} mm or more detected`;
  const times = localInWords(at, day.first_detected, day.last_detected);
  return `${sizeInWords(day.hail.estimated_size_mm)}, ${milesInWords(day.distance_km)} away, ${times}`;
}

function qualityRow({ detection_word, hdqi, nearest_radar: radar }: Verification['detection_quality']) {
  const nearest = radar ? `, ${radar.id} ${milesInWords(radar.distance_km)} away` : '';
  return row('Radar quality', `${detection_word} (${hdqi.toFixed(2)})${nearest}`);
}

/** Whether radar looked at a place on a date: all day, in part, or not so that it is known. */
function lookInWords(at: LngLat, date: string, gaps: Verification['radar_gaps'], covered = true) {
  if (!covered) return { seen: 'none', line: 'No radar covers this place: hail or none is not known.' };
  if (gaps.dates_without_data.includes(date))
    return { seen: 'none', line: `No radar data are published for ${dateInWords(date)}: hail or none is not known.` };
  const share = gaps.coverage.find((day) => day.date === date)?.share ?? null;
  if (share === null) return { seen: 'part', line: 'When radar looked on this date is not known.' };
  const until = gaps.dates_seen_in_part.find((day) => day.date === date)?.until;
  const percent = share > 0 && share < 0.01 ? 'less than 1 %' : `${Math.floor(100 * share)} %`;
  const looked = `Radar looked ${percent} of the time${until ? ` up to ${localInWords(at, until)}; the day still runs` : ''}`;
  if (share >= SEEN_MIN_SHARE) return { seen: 'all', line: `${looked}.` };
  return { seen: share > 0 ? 'part' : 'none', line: `${looked}: hail at other times is not known.` };
}

/** The storm of the day's scans that came nearest to a place; null where none came near. */
export function nearestStorm(frames: readonly Frame[], at: LngLat): string | null {
  const storms = frames.flatMap(({ scan_time, storms }) =>
    storms.map(({ lat, lon, mm }) => ({ scan_time, mm, km: distanceKm({ lat: at.lat, lon: at.lng }, { lat, lon }) })),
  );
  const [nearest] = storms.sort((a, b) => a.km - b.km);
  if (!nearest || nearest.km > STORM_MAX_KM) return null;
  return `Nearest storm: ${milesInWords(nearest.km)} away at ${localInWords(at, nearest.scan_time)}, ${sizeInWords(nearest.mm)}`;
}

/** Verdicts, the strongest first. */
const VERDICTS = [
  ['hit', 'Hit: hail fell at or near this place'],
  ['marginal', 'Marginal: hail near this place, the evidence is weak'],
  ['miss', 'Miss: only an echo too weak for hail'],
] as const;

/** A verification in words: the strongest verdict, then each storm date. */
export function verifiedInWords(at: LngLat, { date_range, events, detection_quality, radar_gaps }: Verification) {
  const [strongest, headline] = VERDICTS.find(([one]) => events.some(({ verdict }) => verdict === one)) ?? [];
  const looks = [date_range.start, date_range.end].map((date) => ({ date, ...lookInWords(at, date, radar_gaps) }));
  const partly = looks.filter(({ seen }) => seen !== 'all');
  const none = `No sign of hail within 5 miles${partly.length > 0 ? ', as far as radar looked' : ''}`;
  const worst_mm = Math.max(0, ...events.map(({ max_size_mm }) => max_size_mm ?? 0));
  return {
    headline: headline ?? none,
    color: strongest && strongest !== 'miss' ? stepOf(worst_mm).color : null,
    rows: [
      ...events.map((event) => row(stormDateInWords(event.event_date), verdictInWords(at, event))),
      qualityRow(detection_quality),
    ],
    lines: [
      ...events.flatMap(({ note }) => note ?? []),
      ...partly.map(({ date, line }) => `${stormDateInWords(date)}: ${line}`),
    ],
  };
}

function verdictInWords(at: LngLat, event: VerificationEvent): string {
  const { verdict, max_size_mm, ml_confidence, first_detected, last_detected, ground_truth } = event;
  const [report] = ground_truth.nearest_reports;
  const parts = [
    first_detected && last_detected && localInWords(at, first_detected, last_detected),
    verdict,
    max_size_mm !== null && `largest within 5 miles ${sizeInWords(max_size_mm)}`,
    ml_confidence === null ? 'no radar data' : `confidence ${Math.round(100 * ml_confidence)} %`,
    report &&
      `nearest ground report ${sizeInWords(report.max_size_mm)}, ${milesInWords(report.distance_m / 1000)} away`,
    ground_truth.corroborated && 'radar and report agree',
  ];
  return parts.filter(Boolean).join(' · ');
}
