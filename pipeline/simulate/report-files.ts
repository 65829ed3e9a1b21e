import { MS_PER_DAY, MS_PER_HOUR, MS_PER_MIN, stormDateStart, timestamp, utcDate } from '../../schemas/time.ts';
import { type HailReport, hailReports } from './reports.ts';
import type { Scenario } from './scenario.ts';

/** Longest interval between scans that counts as observed. */
const MAX_SCAN_GAP_MS = 10 * MS_PER_MIN;
/** Smallest hail of the SPC list, inches: severe. */
const SPC_SMALLEST_IN = 1;

/** A text file below the output folder. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Ground reports at `to_ms`: the SPC hail list of each convective day that [from_ms, to_ms) touches, and the local storm reports of
 * each UTC date in the form of the Iowa archive. Only hail at observed times is reported. `scan_times`: all scans of those days,
 * ascending. Each file holds its whole day so far, so that a later run replaces it by a longer one.
 */
export function reportFiles(
  scenario: Scenario,
  from_ms: number,
  to_ms: number,
  scan_times: readonly number[],
): TextFile[] {
  const reportsOf = (start_ms: number) =>
    hailReports(scenario, start_ms, start_ms + MS_PER_DAY, to_ms).filter(({ valid_ms }) =>
      isSeen(valid_ms, scan_times),
    );
  return [
    ...daysOf(from_ms, to_ms, 12).map(({ date, start_ms }) => ({
      path: `reports/spc/${date.slice(2).replaceAll('-', '')}_rpts_hail.csv`,
      text: spcCsv(reportsOf(start_ms)),
    })),
    ...daysOf(from_ms, to_ms, 0).map(({ date, start_ms }) => ({
      path: `reports/lsr/lsr_${date.replaceAll('-', '')}.geojson`,
      text: lsrGeoJson(reportsOf(start_ms)),
    })),
  ];
}

/** True for an instant between two scans that follow one another without a gap. */
function isSeen(time_ms: number, scan_times: readonly number[]): boolean {
  const next = scan_times.findIndex((scan_time) => scan_time >= time_ms);
  const after = scan_times[next];
  if (after === undefined) return false;
  const before = scan_times[next - 1];
  return after === time_ms || (before !== undefined && after - before <= MAX_SCAN_GAP_MS);
}

function daysOf(from_ms: number, to_ms: number, start_hour: number): { date: string; start_ms: number }[] {
  const days = [];
  let date = utcDate(from_ms - start_hour * MS_PER_HOUR);
  for (let start_ms = stormDateStart(date, start_hour); start_ms < to_ms; start_ms += MS_PER_DAY) {
    date = utcDate(start_ms);
    days.push({ date, start_ms });
  }
  return days;
}

/** SPC hail list: the last report of each event with hail >= 1 inch; times are HHMM UTC, sizes hundredths of an inch. */
function spcCsv(reports: readonly HailReport[]): string {
  const corrected = new Set(reports.filter(({ kind }) => kind === 'corrects').map(eventOf));
  const rows = reports
    .filter((report) => report.size_in >= SPC_SMALLEST_IN)
    .filter((report) => report.kind !== 'first' || !corrected.has(eventOf(report)))
    .map((report) =>
      [
        timestamp(report.valid_ms).slice(11, 16).replace(':', ''),
        Math.round(100 * report.size_in),
        report.location,
        'SIMULATED',
        'XX',
        report.lat.toFixed(2),
        report.lon.toFixed(2),
        'SIMULATED REPORT. (SIM)',
      ].join(','),
    );
  return `${['Time,Size,Location,County,State,Lat,Lon,Comments', ...rows].join('\n')}\n`;
}

function eventOf({ valid_ms, lat, lon, storm_id }: HailReport): string {
  return `${storm_id} ${valid_ms} ${lat} ${lon}`;
}

function lsrGeoJson(reports: readonly HailReport[]): string {
  const features = reports.map((report) => ({
    type: 'Feature',
    properties: {
      valid: timestamp(report.valid_ms),
      magnitude: report.size_in,
      city: report.location,
      county: 'SIMULATED',
      state: 'XX',
      remark: remarkOf(report),
      wfo: 'SIM',
      typetext: 'HAIL',
      product_id: `${timestamp(report.issued_ms).slice(0, 16).replaceAll(/[-:T]/g, '')}-KSIM-NWUS54-LSRSIM`,
      unit: 'Inch',
      qualifier: report.measured ? 'M' : 'E',
    },
    geometry: { type: 'Point', coordinates: [report.lon, report.lat] },
  }));
  return `${JSON.stringify({ type: 'FeatureCollection', features })}\n`;
}

function remarkOf({ kind, location }: HailReport): string {
  if (kind === 'corrects') return `Corrects previous hail report from ${location}. Simulated.`;
  return 'Simulated report.';
}
