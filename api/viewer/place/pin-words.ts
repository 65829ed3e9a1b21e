import { distanceKm } from '../../../schemas/geo/distance.ts';
import type { Verification, VerificationEvent } from '../../../schemas/resources/verification.ts';
import type { Frame, LngLat } from '../data/day.ts';
import { stepOf } from '../page/palette.ts';
import { clockInWords, counted, dateInWords, KM_PER_MILE, sizeInWords, timeInWords } from '../page/words.ts';
import { type Fell, type HailDay, RADII_MI, type Verified } from './pin-calls.ts';

/** Radar saw a date where its scans cover this share of the minutes. */
const SEEN_MIN_SHARE = 0.9;
/** Storms farther away say nothing about a place. */
const STORM_MAX_KM = 50;
/** Smallest hail that is a detection, mm. */
const DETECTION_MM = 10;

/** An answer as text: headline with its colour, names with values, and lines below them. */
export interface AnswerWords {
  readonly headline: string;
  readonly color: string | null;
  readonly rows: readonly (readonly [string, string])[];
  readonly lines: readonly string[];
}

/** `2.3 mi`. */
export function milesInWords(km: number): string {
  return `${(km / KM_PER_MILE).toFixed(1)} mi`;
}

/** What fell at a place on a date. "No hail" only where radar looked and detected none. */
export function fellInWords({ date, within, radar_gaps, covered, detection_quality }: Fell): AnswerWords {
  const near_mm = within[0]?.hail.estimated_size_mm;
  const isAnywhere = within.some((day) => day !== null);
  const look = lookInWords(date, radar_gaps, covered);
  const rows = within.map((day, i): [string, string] => [
    `Within ${counted(RADII_MI[i], 'mile')}`,
    day === null ? `none of ${DETECTION_MM} mm or more detected` : hailInWords(day),
  ]);
  const isKnown = look.seen !== 'none' || isAnywhere;
  const none = `No hail ${look.seen === 'all' ? '' : 'detected '}${isAnywhere ? 'within 1 mile' : 'here'}`;
  const empty = isKnown ? none : 'Not known';
  return {
    headline: near_mm === undefined ? empty : sizeInWords(near_mm),
    color: near_mm === undefined ? null : stepOf(near_mm).color,
    rows: [...(isKnown ? rows : []), qualityInWords(detection_quality)],
    lines: [look.line],
  };
}

function hailInWords({ hail, distance_km, first_detected, last_detected }: HailDay): string {
  const period = [...new Set([first_detected, last_detected])].map((time) => time.slice(11, 16)).join('–');
  return `${sizeInWords(hail.estimated_size_mm)}, ${milesInWords(distance_km)} away, ${period} UTC`;
}

/** `good (0.78), KTLX 14.0 mi away`. */
function qualityInWords({
  detection_word,
  hdqi,
  nearest_radar,
}: Verification['detection_quality']): readonly [string, string] {
  const radar = nearest_radar && `, ${nearest_radar.id} ${milesInWords(nearest_radar.distance_km)} away`;
  return ['Radar quality', `${detection_word} (${hdqi.toFixed(2)})${radar ?? ''}`];
}

/** Whether radar looked at a place on a date: all day, in part, or not so that it is known. */
function lookInWords(date: string, gaps: Verification['radar_gaps'], covered = true) {
  if (!covered) return { seen: 'none', line: 'No radar covers this place: hail or none is not known.' };
  if (gaps.dates_without_data.includes(date))
    return { seen: 'none', line: `No radar data are published for ${dateInWords(date)}: hail or none is not known.` };
  const share = gaps.coverage.find((day) => day.date === date)?.share ?? null;
  if (share === null) return { seen: 'part', line: 'When radar looked on this date is not known.' };
  const until = gaps.dates_seen_in_part.find((day) => day.date === date)?.until;
  const percent = share > 0 && share < 0.01 ? 'less than 1 %' : `${Math.floor(100 * share)} %`;
  const looked = `Radar looked ${percent} of the time${until ? ` up to ${clockInWords(until)}; the day still runs` : ''}`;
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
  return `Nearest storm: ${milesInWords(nearest.km)} away at ${clockInWords(nearest.scan_time)}, ${sizeInWords(nearest.mm)}`;
}

/** Verdicts, the strongest first. */
const VERDICTS = [
  ['hit', 'Hit: hail fell at or near this place'],
  ['marginal', 'Marginal: hail near this place, the evidence is weak'],
  ['miss', 'Miss: only an echo too weak for hail'],
] as const;

/** A verification in words: the strongest verdict, then each storm date. */
export function verifiedInWords({ date_range, events, detection_quality, radar_gaps }: Verified): AnswerWords {
  const strongest = VERDICTS.find(([verdict]) => events.some((event) => event.verdict === verdict));
  const looks = [date_range.start, date_range.end].map((date) => ({ date, ...lookInWords(date, radar_gaps) }));
  const partly = looks.filter(({ seen }) => seen !== 'all');
  const worst_mm = Math.max(0, ...events.map(({ max_size_mm }) => max_size_mm ?? 0));
  return {
    headline: strongest?.[1] ?? `No sign of hail within 5 miles${partly.length > 0 ? ', as far as radar looked' : ''}`,
    color: strongest && strongest[0] !== 'miss' ? stepOf(worst_mm).color : null,
    rows: [
      ...events.map((event): [string, string] => [dateInWords(event.event_date), verdictInWords(event)]),
      qualityInWords(detection_quality),
    ],
    lines: [
      ...events.flatMap(({ note }) => note ?? []),
      ...partly.map(({ date, line }) => `${dateInWords(date)}: ${line}`),
    ],
  };
}

function verdictInWords(event: VerificationEvent): string {
  const { verdict, max_size_mm, ml_confidence, first_detected, last_detected, ground_truth } = event;
  const [report] = ground_truth.nearest_reports;
  const parts = [
    verdict,
    max_size_mm !== null && `largest within 5 miles ${sizeInWords(max_size_mm)}`,
    first_detected && last_detected && `${timeInWords(first_detected)} to ${clockInWords(last_detected)}`,
    ml_confidence === null ? 'no radar data' : `confidence ${Math.round(100 * ml_confidence)} %`,
    report &&
      `nearest ground report ${sizeInWords(report.max_size_mm)}, ${milesInWords(report.distance_m / 1000)} away`,
    ground_truth.corroborated && 'radar and report agree',
  ];
  return parts.filter(Boolean).join(' · ');
}
