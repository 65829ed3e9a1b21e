import type { FileReport } from '../../schemas/tables/feeds.ts';
import { MS_PER_MIN } from '../../schemas/time.ts';

/** Largest change of an event's time by a correction. */
const CORRECTION_REACH_MS = 60 * MS_PER_MIN;
/** Positions have a precision of hundredths of a degree; those of one place differ by rounding at most. */
const PLACE_STEP_DEG = 0.01;

/**
 * The reports that stand, one for each event, in any order.
 *
 * 1. A repeated report (same feed, office, time and position) counts once: that of the newest product, within one product the larger.
 * 2. A correction replaces one earlier report of its office: the nearest in time, within an hour, at the place that its remark
 *    names, else at its own. It may thus change size, place and time. One that repeats time and position replaces by rule 1.
 * 3. A row of the Storm Prediction Center at the minute and place of a local storm report, even a replaced one, is a copy of it
 *    and is dropped: only the local storm report has its corrections.
 *
 * Simulated and observed reports are never compared.
 */
export function uniqueReports<Report extends FileReport>(reports: readonly Report[]): Report[] {
  const { unique, spent } = withoutRepeats(reports);
  const standing = withoutCorrected(unique, spent);
  const local = new Set(reports.filter(({ source }) => source === 'lsr').map((report) => placeTime(report, 0, 0)));
  return standing.filter((report) => report.source === 'lsr' || !neighbours(report).some((key) => local.has(key)));
}

/** Content of a report as text, the same for the same report of two files; the list comes last. */
export function reportText(report: FileReport): string {
  const { report_id, source, time, lat, lon, size_mm, is_measured, place, county, state, office, remark } = report;
  const { product_id, issued_at, data_source, is_correction, corrects_place, list } = report;
  const what = [report_id, source, time, lat, lon, size_mm, is_measured, place, county, state, office, remark];
  return JSON.stringify([...what, product_id, issued_at, data_source, is_correction, corrects_place, list]);
}

/** One report per feed, office, time and position; `spent` are the corrections that replaced a report by rule 1. */
function withoutRepeats<Report extends FileReport>(reports: readonly Report[]) {
  const versions = Map.groupBy(reports, (report) => `${report.data_source} ${report.report_id}`);
  const spent = new Set<Report>();
  const unique = Array.from(versions.values(), (same) => {
    const newest = same.reduce((known, report) => (isNewer(report, known) ? report : known));
    if (same.some((report) => !report.is_correction && report.product_id !== newest.product_id)) spent.add(newest);
    return newest;
  });
  return { unique, spent };
}

/** True for a report of a later product, or with a larger stone in the same product. The last comparison makes the order total. */
function isNewer(report: FileReport, known: FileReport): boolean {
  const [issued, known_issued] = [report.issued_at ?? 0, known.issued_at ?? 0];
  if (issued !== known_issued) return issued > known_issued;
  if (report.size_mm !== known.size_mm) return report.size_mm > known.size_mm;
  return reportText(report) > reportText(known);
}

/** Reports without those that a later correction replaces. Corrections apply in order of issue: one may correct another. */
function withoutCorrected<Report extends FileReport>(
  reports: readonly Report[],
  spent: ReadonlySet<FileReport>,
): Report[] {
  const places = Map.groupBy(reports, (report) => placeKey(report, report.place));
  const replaced = new Set<FileReport>();
  const corrections = reports
    .filter((report) => report.is_correction && !spent.has(report))
    .sort((a, b) => (a.issued_at ?? 0) - (b.issued_at ?? 0) || (a.report_id < b.report_id ? -1 : 1));
  for (const correction of corrections) {
    const candidates = (places.get(placeKey(correction, correction.corrects_place ?? correction.place)) ?? []).filter(
      (report) =>
        report !== correction &&
        !replaced.has(report) &&
        (report.issued_at ?? 0) < (correction.issued_at ?? 0) &&
        Math.abs(report.time - correction.time) <= CORRECTION_REACH_MS,
    );
    const away = (report: FileReport) => Math.abs(report.time - correction.time);
    candidates.sort((a, b) => away(a) - away(b) || (b.report_id < a.report_id ? -1 : 1));
    if (candidates[0] !== undefined) replaced.add(candidates[0]);
  }
  return reports.filter((report) => !replaced.has(report));
}

function placeKey({ data_source, office }: FileReport, place: string): string {
  return `${data_source} ${office} ${place.toLowerCase().replaceAll(/\s+/g, ' ')}`;
}

/** Minute and cell of a report, some rows and columns away. */
function placeTime({ data_source, time, lat, lon }: FileReport, rows: number, cols: number): string {
  const row = Math.round(lat / PLACE_STEP_DEG) + rows;
  const col = Math.round(lon / PLACE_STEP_DEG) + cols;
  return `${data_source} ${Math.round(time / MS_PER_MIN)} ${row} ${col}`;
}

function neighbours(report: FileReport): string[] {
  return [-1, 0, 1].flatMap((rows) => [-1, 0, 1].map((cols) => placeTime(report, rows, cols)));
}
