import { createHash } from 'node:crypto';
import { canonical } from '../../../api/http/reply.ts';
import type { EventMaterial, ReportedHail, ReportMaterial, ReportPixel } from '../../../api/pdf/report-material.ts';
import { pixelDistanceM } from '../../../api/rules/pixel-distance.ts';
import { destination, distanceKm } from '../../../schemas/geo/distance.ts';
import { colLon, latRow, lonCol, rowLat } from '../../../schemas/geo/lattice.ts';
import type { MixedProvenance } from '../../../schemas/provenance.ts';
import type { Verification, VerificationEvent } from '../../../schemas/resources/verification.ts';
import { addDays } from '../../../schemas/time.ts';

/** Where the documents of the tests speak of. */
export const REPORT_POINT = { lat: 39.11423, lon: -94.62752 };
const GENERATED_MS = Date.parse('2026-11-02T14:05:00Z');
const DESCRIPTION =
  'Storm date by storm date, MESH (maximum estimated size of hail) of NOAA MRMS within 5 miles of the point is compared with reports of hail on the ground. A detection is a pixel of 10 mm or more in one scan; a signal is 5 mm or more, or a report. Hit: a detection that a report of 13 mm or more corroborates (within 5 miles, 60 minutes and 8 km of a detection), or 38 mm or more within a mile in three detections with a confidence of 0.70 and more. Marginal: any other detection, or a report without radar. Miss: neither.';

/** A pixel with its distance from the point. */
export function reportPixel(row: number, col: number, max_mm: number): ReportPixel {
  return { row, col, max_mm, max_time: 0, distance_m: pixelDistanceM(REPORT_POINT, row, col) };
}

/** Pixels of a storm core that passes at a bearing and distance: the size falls off with the distance from it, to `floor_mm`. */
function stormPixels(
  core: Readonly<Record<'bearing_deg' | 'distance_km' | 'peak_mm' | 'width_km', number>>,
  half = 10,
  floor_mm = 0,
): ReportPixel[] {
  const centre = destination(REPORT_POINT, core.bearing_deg, core.distance_km);
  const [row, col] = [latRow(REPORT_POINT.lat), lonCol(REPORT_POINT.lon)];
  const pixels: ReportPixel[] = [];
  for (let r = row - half; r <= row + half; r++)
    for (let c = col - half; c <= col + half; c++) {
      const [lat, lon] = [rowLat(r), colLon(c)];
      // Storms leave streaks: longer from west-southwest to east-northeast than across.
      const east_km = (lon - centre.lon) * 86;
      const north_km = (lat - centre.lat) * 111;
      const along_km = east_km * 0.94 + north_km * 0.34;
      const across_km = -east_km * 0.34 + north_km * 0.94;
      const wobble = 1 + 0.12 * Math.sin(r * 1.7 + c * 0.9);
      const falloff = Math.exp(-((along_km / (3 * core.width_km)) ** 2) - (across_km / core.width_km) ** 2);
      const max_mm = Math.max(floor_mm, Math.round(10 * core.peak_mm * wobble * falloff) / 10);
      if (max_mm >= 5) pixels.push(reportPixel(r, c, max_mm));
    }
  return pixels;
}

/** A report of so many millimetres at a bearing and distance from the point. */
export function reportAt(
  bearing_deg: number,
  distance_km: number,
  size_mm: number,
  time: string,
  more: Partial<ReportedHail> = {},
): ReportedHail {
  const { lat, lon } = destination(REPORT_POINT, bearing_deg, distance_km);
  const distance_m = Math.round(1000 * distanceKm(REPORT_POINT, { lat, lon }));
  return { source: 'lsr', time: Date.parse(time), lat, lon, size_mm, place: '2 WSW Fairway', distance_m, ...more };
}

/** A verdict with plausible figures; what is given counts. */
export function verdictOf(event_date: string, given: Partial<VerificationEvent> = {}): VerificationEvent {
  return {
    event_date,
    verdict: 'marginal',
    band: '1-3mi',
    max_size_mm: 21.7,
    ml_confidence: 0.31,
    n_detections: 7,
    first_detected: `${event_date}T21:04:00Z`,
    last_detected: `${event_date}T21:22:00Z`,
    ground_truth: { corroborated: false, nearest_reports: [] },
    note: null,
    ...given,
  };
}

/** What is given of a material: what is left out is unremarkable. */
export type GivenMaterial = Partial<
  ReportMaterial & Verification['radar_gaps'] & Pick<Verification['report_gaps'], 'dates_collected_in_part'>
>;

/** The material of a document about these events. */
export function reportMaterial(
  range: { readonly start: string; readonly end: string },
  events: readonly {
    readonly event: VerificationEvent;
    readonly pixels: readonly ReportPixel[];
    readonly reports: readonly ReportedHail[];
  }[],
  {
    dates_without_data = [],
    dates_seen_in_part = [],
    dates_with_unknown_scans = [],
    dates_collected_in_part = [],
    ...more
  }: GivenMaterial = {},
  data_source: MixedProvenance | null = 'observed',
): ReportMaterial {
  const told = events.map(({ event, reports }) => ({
    ...event,
    ground_truth: {
      ...event.ground_truth,
      nearest_reports: reports
        .slice(0, 5)
        .map(({ source, size_mm, distance_m }) => ({ source, max_size_mm: size_mm, distance_m })),
    },
  }));
  const version = '1.1.0';
  const hashed = { date_range: range, events: told, location: REPORT_POINT, methodology: { version } };
  const verification: Verification = {
    location: REPORT_POINT,
    date_range: range,
    radius_mi: 5,
    methodology: { version, description: DESCRIPTION, bands_mi: [1, 3, 5] },
    detection_quality: {
      hdqi: 0.78,
      detection_word: 'good',
      resolution: 'fine (<1 km)',
      components: { sample_coverage: 0.83, beam_blockage: 1, dual_pol_availability: 1 },
      nearest_radar: { id: 'KEAX', distance_km: 45.3 },
      beam_height_m: 523,
      freezing_level_m: 3950,
    },
    events: told,
    event_count: told.length,
    radar_gaps: { dates_without_data, dates_seen_in_part, dates_with_unknown_scans, coverage: [] },
    report_gaps: { dates_without_reports: [], dates_collected_in_part, sources: [] },
    verification_hash: `sha256:${createHash('sha256').update(canonical(hashed)).digest('hex')}`,
    data_source,
    data_as_of: data_source === null ? null : '2026-10-30T08:12:00Z',
  };
  const materials: EventMaterial[] = events.map(({ event, pixels, reports }) => ({
    pixels: pixels.map((pixel) => ({ ...pixel, max_time: Date.parse(`${event.event_date}T21:12:00Z`) })),
    reports: [...reports].sort((a, b) => a.distance_m - b.distance_m),
  }));
  return {
    report_id: 'rpt_01KB1WZ5YV9T0S7R3Q2P4N6M8K',
    generated_ms: GENERATED_MS,
    labels: { prepared_for: null, reference: null, address: null },
    verification,
    events: materials,
    warnings: null,
    earlier: {
      first: addDays(range.start, -365),
      last: addDays(range.start, -1),
      days: [],
      count: 0,
      without_data: 0,
      data_source,
    },
    radar_source: data_source,
    dates_without_reports: [],
    storm_day_start_hour: 0,
    ...more,
  };
}

/** A typical claim: a hit with reports, a marginal day, and a miss. */
export function claimMaterial(more: GivenMaterial = {}, data_source: MixedProvenance = 'observed'): ReportMaterial {
  const hit = verdictOf('2026-05-01', {
    verdict: 'hit',
    band: '0-1mi',
    max_size_mm: 44.2,
    ml_confidence: 0.92,
    n_detections: 156,
    first_detected: '2026-05-01T20:12:00Z',
    last_detected: '2026-05-01T21:04:00Z',
    ground_truth: { corroborated: true, nearest_reports: [] },
  });
  const marginal = verdictOf('2026-05-12', {
    last_detected: '2026-05-13T00:06:00Z',
    first_detected: '2026-05-12T23:44:00Z',
    note: 'Radars did not cover the point in 31 % of the scans: the confidence is capped at 0.5.',
  });
  const miss = verdictOf('2026-05-24', {
    verdict: 'miss',
    band: '3-5mi',
    max_size_mm: 7.7,
    ml_confidence: 0.04,
    n_detections: 0,
    first_detected: null,
    last_detected: null,
  });
  return reportMaterial(
    { start: '2026-05-01', end: '2026-05-30' },
    [
      {
        event: hit,
        pixels: stormPixels({ bearing_deg: 200, distance_km: 1.1, peak_mm: 42, width_km: 2 }),
        reports: [
          reportAt(160, 1.34, 44.45, '2026-05-01T20:31:00Z', { place: '1 SSE Kansas City' }),
          reportAt(190, 2.2, 38.1, '2026-05-01T20:34:00Z', { source: 'spc', place: '2 S KANSAS CITY' }),
          reportAt(195, 2.3, 38.1, '2026-05-01T20:35:00Z', { place: '2 S Kansas City' }),
          reportAt(75, 5.9, 25.4, '2026-05-01T20:52:00Z', { place: '4 ENE Kansas City' }),
          reportAt(300, 7.4, 19.05, '2026-05-01T20:15:00Z', { place: '5 WNW Kansas City' }),
        ],
      },
      {
        event: marginal,
        pixels: stormPixels({ bearing_deg: 310, distance_km: 3.6, peak_mm: 20, width_km: 1.3 }),
        reports: [],
      },
      {
        event: miss,
        pixels: stormPixels({ bearing_deg: 80, distance_km: 6.5, peak_mm: 7.5, width_km: 1.1 }),
        reports: [],
      },
    ],
    more,
    data_source,
  );
}

/** So many storm dates, each with the same number of pixels and of reports. */
export function longMaterial(days: number, pixels: number, reports: number): ReportMaterial {
  const dates = Array.from({ length: days }, (_, k) => addDays('2026-04-01', k));
  return reportMaterial(
    { start: dates[0] as string, end: dates.at(-1) as string },
    dates.map((date, k) => {
      const peak_mm = 8 + ((k * 37) % 80);
      const core = { bearing_deg: (k * 71) % 360, distance_km: k % 7, peak_mm, width_km: 1.5 + (k % 4) };
      const drawn = stormPixels(core, Math.ceil(Math.sqrt(pixels) / 2), 5).slice(0, pixels);
      return {
        event: verdictOf(date, {
          verdict: k % 7 === 0 ? 'hit' : k % 3 === 0 ? 'miss' : 'marginal',
          max_size_mm: drawn.reduce((most, { max_mm }) => Math.max(most, max_mm), pixels === 0 ? peak_mm : 0),
        }),
        pixels: drawn,
        reports: Array.from({ length: reports }, (_, n) =>
          reportAt(
            (n * 67 + k * 13) % 360,
            0.4 + ((n * 0.83) % 7.4),
            12.7 + 6.35 * (n % 5),
            `${date}T21:1${n % 10}:00Z`,
          ),
        ),
      };
    }),
  );
}
