import { boxAround } from '../../schemas/geo/around.ts';
import { isOnLattice } from '../../schemas/geo/lattice.ts';
import type { Bbox, Position } from '../../schemas/geo/position.ts';
import { combineProvenances, type MixedProvenance } from '../../schemas/provenance.ts';
import { VERIFICATION_RADIUS_MI, type Verification } from '../../schemas/resources/verification.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { type GroundReport, groundReports } from '../../schemas/tables/feeds.ts';
import { detections } from '../../schemas/tables/radar.ts';
import { addDays, MS_PER_DAY, monthOf, timestamp, utcDate } from '../../schemas/time.ts';
import { EARLIER_MAX, type EarlierHail } from '../pdf/report-material.ts';
import type { CollectionEdition, Edition } from '../published/catalog.ts';
import type { Queries } from '../published/duckdb.ts';
import type { Terrain } from '../published/terrain.ts';
import { qualityAt } from '../rules/detection-quality.ts';
import { pixelKey, pixelsAround } from '../rules/pixel-distance.ts';
import { radarGapsOf } from '../rules/radar-coverage.ts';
import { rounded } from '../rules/rounded.ts';
import {
  eventOf,
  methodologyOf,
  needsTimes,
  SIGNAL_MIN_MM,
  type Signs,
  signsAround,
  VERIFICATION_RADIUS_M,
  verificationHash,
} from '../rules/verification.ts';
import { collectedDates, datesWithoutData } from './dates-without-data.ts';
import { readPixelDays } from './history.ts';
import { radarCoverage } from './radar-coverage.ts';
import { FILES, readTable } from './sql.ts';

/** Asks whether hail fell at a point on any storm date of a range, both ends included. */
type VerificationQuestion = Position & Readonly<Record<'date_start' | 'date_end', string>>;

/** `engine`: of answers or of jobs. `storm_day_start_hour`: hour of UTC at which a storm date begins. */
type VerificationSources = Readonly<{ engine: Queries; terrain: Terrain; storm_day_start_hour: number }>;

/** A verification, and the material of its report: a `Signs` for each event, and what radar and reports it rests on. */
export type ReadVerification = Awaited<ReturnType<typeof readVerification>>;

/** Storm dates before the range in which a report lists earlier hail. */
const DAYS_BEFORE = 365;
/** The first date that can be written. */
const FIRST_DATE_MS = Date.parse('0000-01-01');

/**
 * Pixels are read this far around a point. Verdicts measure to the edge of a pixel, but the bounds of files are those of the
 * centres, so the search is wider than the radius of a verification.
 */
const READ_RADIUS_KM = 10;

/**
 * Whether hail fell at a point, day by day: a pure function of the question, the edition and the methodology, independent of the
 * clock. The point is rounded to the five decimals that the answer shows, so that the answer is enough to repeat it.
 */
export async function readVerification(
  { engine, terrain, storm_day_start_hour }: VerificationSources,
  edition: Edition,
  { lat, lon, date_start, date_end }: VerificationQuestion,
) {
  const point = { lat: rounded(lat, 5), lon: rounded(lon, 5) };
  const span = { first: date_start, last: date_end };
  const collection = edition.collection('reports');
  const found = await readSigns(engine, edition, { ...point, ...span, min_size_mm: SIGNAL_MIN_MM });
  const open = found.filter(needsTimes).map(({ storm_date }) => storm_date);
  const [times, radar, report_gaps] = await Promise.all([
    detectionTimes(engine, edition, point, open),
    radarCoverage(engine, edition, date_start, date_end, storm_day_start_hour),
    collectedDates(engine, edition, date_start, date_end, storm_day_start_hour),
  ]);
  const coverage = radar.at(point);
  const { block } = qualityAt(point, Number(date_start.slice('YYYY-'.length, 'YYYY-MM'.length)), terrain.model());
  const events = found.map((signs) =>
    eventOf(signs, {
      hdqi: block.hdqi,
      has_radar: edition.provenanceOf([signs.storm_date]) !== null,
      gaps: coverage.get(signs.storm_date) ?? null,
      times: times.get(signs.storm_date) ?? null,
    }),
  );
  const radar_source = edition.provenanceOf(edition.datesBetween(date_start, date_end));
  const data_source = sourceOf(radar_source, found);
  const dates_without_data = datesWithoutData(edition, date_start, date_end);
  const reported = new Set(found.flatMap(({ storm_date, reports }) => (reports.length > 0 ? [storm_date] : [])));
  const dates_without_reports = report_gaps.dates_without_reports.filter((date) => !reported.has(date));
  const judged = {
    location: point,
    date_range: { start: date_start, end: date_end },
    methodology: methodologyOf(data_source, {
      hasReports: collection !== null,
      without_data: dates_without_data.length,
      storm_day_start_hour,
      without_reports: dates_without_reports.length,
      isPublished: isOnLattice(point),
    }),
    events,
  };
  const { location, date_range, methodology } = judged;
  const verification: Verification = {
    location,
    date_range,
    radius_mi: VERIFICATION_RADIUS_MI,
    methodology,
    detection_quality: block,
    events,
    event_count: events.length,
    radar_gaps: radarGapsOf(dates_without_data, coverage),
    report_gaps,
    verification_hash: verificationHash(judged),
    data_source,
    data_as_of: timestamp(dataAsOf(edition, collection, found, span)),
  };
  return {
    verification,
    /** One for each event, in their order. */
    events: found,
    /** Provenance of the radar data alone; null without published radar data in the range. Reports do not change it. */
    radar_source,
    /** Storm dates of the range without collected ground reports, ascending: on them the absence of reports proves nothing. */
    dates_without_reports,
  };
}

/** The newest storm dates, within the year before a date, with a detection or report within the radius of a point. */
export async function earlierHail(
  engine: Queries,
  edition: Edition,
  { lat, lon }: Position,
  date_start: string,
): Promise<EarlierHail> {
  const before = (days: number) => utcDate(Math.max(FIRST_DATE_MS, Date.parse(date_start) - days * MS_PER_DAY));
  const span = { first: before(DAYS_BEFORE), last: before(1) };
  const found = await readSigns(engine, edition, { lat, lon, ...span, min_size_mm: DETECTION_MIN_MM });
  const listed = found.toReversed().slice(0, EARLIER_MAX);
  return {
    ...span,
    days: listed,
    count: found.length,
    without_data: datesWithoutData(edition, span.first, span.last).length,
    data_source: sourceOf(edition.provenanceOf(listed.map(({ storm_date }) => storm_date)), listed),
  };
}

/** Provenance of radar data and of the reports among some signs; null without either. */
function sourceOf(radar: MixedProvenance | null, found: readonly Signs<GroundReport>[]): MixedProvenance | null {
  const reports = found.flatMap((signs) => signs.reports.map(({ data_source }) => data_source));
  return combineProvenances([...(radar === null ? [] : [radar]), ...reports]);
}

/** Storm dates of a span with signs within the radius, radar from a size on, ascending. */
async function readSigns(
  engine: Queries,
  edition: Edition,
  asked: Position & { readonly first: string; readonly last: string; readonly min_size_mm: number },
): Promise<Signs<GroundReport>[]> {
  const [pixels, reports] = await Promise.all([
    readPixelDays(engine, edition, { ...asked, radius_km: READ_RADIUS_KM }),
    reportsAround(engine, edition.collection('reports'), asked, asked),
  ]);
  return signsAround(asked, pixels, reports);
}

function reportsAround(
  engine: Queries,
  collection: CollectionEdition | null,
  point: Position,
  { first, last }: { readonly first: string; readonly last: string },
): Promise<GroundReport[]> {
  // Files hold the months of UTC times; a storm date may end in the month after its own.
  const files = collection?.paths(monthOf(first), monthOf(addDays(last, 1))) ?? [];
  const [west, south, east, north] = boxAround(point, VERIFICATION_RADIUS_M / 1000);
  const isCut = west < -180 || east > 180;
  const box = isCut ? [-180, south, 180, north] : [west, south, east, north];
  const where = `WHERE is_current AND storm_date BETWEEN $2::DATE AND $3::DATE
    AND lon BETWEEN $4 AND $6 AND lat BETWEEN $5 AND $7`;
  return readTable(engine, groundReports, files, where, [first, last, ...box]);
}

const TIMES_SQL = `
  SELECT storm_date::VARCHAR AS storm_date, "row"::INTEGER AS r, col::INTEGER AS c, list(epoch_ms(scan_time)::DOUBLE) AS scan_times
  FROM ${FILES} WHERE "row" BETWEEN $2::USMALLINT AND $3::USMALLINT AND col BETWEEN $4::USMALLINT AND $5::USMALLINT
    AND storm_date IN (SELECT unnest($6::VARCHAR[])::DATE) GROUP BY storm_date, r, c`;

/** Instants of all detections around the point on some dates, by date and `pixelKey`. */
async function detectionTimes(
  engine: Queries,
  edition: Edition,
  point: Position,
  dates: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<number, readonly number[]>>> {
  const bbox: Bbox = boxAround(point, READ_RADIUS_KM);
  const paths = edition.paths(detections.name, dates, { bbox });
  if (paths.length === 0) return new Map();
  const { row0, row1, col0, col1 } = pixelsAround(point, VERIFICATION_RADIUS_M);
  const asked = [paths, row0, row1, col0, col1, dates];
  const rows = await engine.rows<{ storm_date: string; r: number; c: number; scan_times: number[] }>(TIMES_SQL, asked);
  const byDate = [...Map.groupBy(rows, ({ storm_date }) => storm_date)];
  return new Map(
    byDate.map(([date, ofDate]) => [date, new Map(ofDate.map(({ r, c, scan_times }) => [pixelKey(r, c), scan_times]))]),
  );
}

/**
 * Time at which the newest of the rows behind some signs were ingested: radar rows by their storm dates, local storm reports by
 * their issue, and the lists of the Storm Prediction Center, which have none, by the last change of the collection. Without a sign,
 * that of the storm dates of the range, or, if no date of it is published, of any date; null while nothing is published.
 */
function dataAsOf(
  edition: Edition,
  collection: CollectionEdition | null,
  found: readonly Signs<GroundReport>[],
  { first, last }: { readonly first: string; readonly last: string },
): number | null {
  const committed_ms = collection?.committed_ms ?? null;
  const seen = found.filter(({ pixels }) => pixels.length > 0).map(({ storm_date }) => storm_date);
  const reported = found.flatMap(({ reports }) => reports.map(({ issued_at }) => issued_at ?? committed_ms));
  const instants = [edition.ingestedAt(seen), ...reported].filter((instant) => instant !== null);
  if (instants.length > 0) return Math.max(...instants);
  return edition.ingestedAt(edition.datesBetween(first, last)) ?? edition.ingestedAt(edition.dates) ?? committed_ms;
}
