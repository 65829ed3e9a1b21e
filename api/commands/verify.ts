import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import type { RadarGaps } from '../../schemas/resources/radar-gaps.ts';
import { ReportRequest } from '../../schemas/resources/report-job.ts';
import { VERIFICATION_DAYS_MAX, type Verification } from '../../schemas/resources/verification.ts';
import { decimal, MM_PER_INCH } from '../../schemas/units.ts';
import { openCatalog } from '../catalog.ts';
import type { Config } from '../config.ts';
import { DataUnavailable } from '../data-root.ts';
import { shown } from '../decode.ts';
import { JOBS, openEngine } from '../duckdb.ts';
import { writeReport } from '../jobs/report.ts';
import { datesInWords, reportGapsInWords, seenInPartInWords } from '../pdf/words.ts';
import { readVerification } from '../queries/verification.ts';
import { rangeFault } from '../rules/date-range.ts';
import { openTerrain } from '../terrain.ts';
import { CommandError, print, requireDataRoot, table } from './cli.ts';
import { refuseToReplace, writeWhole } from './whole-file.ts';

/** What the command needs of the settings: it reads the data root, and neither records nor server. */
export type VerifyConfig = Pick<Config, 'data_root' | 'storm_day_start_hour' | 'now'>;

/** `hail-api verify`: the answer of POST /v1/verify without the service, uncharged. */
export function verifyCommand(config: () => VerifyConfig): Command {
  return new Command('verify')
    .description(
      `verify hail at a point from a storm date to another, at most ${VERIFICATION_DAYS_MAX} days with both ends: the answer of POST /v1/verify, uncharged`,
    )
    .argument('<lat>', 'latitude, WGS84', degrees(90))
    .argument('<lon>', 'longitude, WGS84; negative in the west', degrees(180))
    .argument('<from>', 'first storm date, YYYY-MM-DD')
    .argument('<to>', 'last storm date, included')
    .option('--pdf <file>', 'write the document of POST /v1/verify/report as well; a file that exists is left alone')
    .option('--reference <text>', 'print a number of the claim or file on the document')
    .option('--address <text>', 'print the address of the location on the document; it is not looked up')
    .option('--prepared-for <text>', 'print on the document whom it is for')
    .option('--force', 'replace a file that exists')
    .option('--json', 'print the answer as one JSON object')
    .action(async (lat: number, lon: number, from: string, to: string, options: Options) => {
      const { json, pdf: file } = options;
      const settings = config();
      if (file !== undefined) refuseToReplace('verify', file, options);
      const request = requestOf({ lat, lon, date_start: from, date_end: to, ...labelsOf(options) }, settings.now());
      requireDataRoot(settings);
      const { verification, pdf } = await verified(settings, request, file !== undefined);
      if (file !== undefined && pdf !== null) await writeWhole(file, (path) => writeFile(path, pdf));
      print(json, verification, [...linesOf(verification), ...(file === undefined ? [] : [`Wrote ${file}.`])]);
    });
}

interface Options {
  readonly pdf?: string;
  readonly reference?: string;
  readonly address?: string;
  readonly preparedFor?: string;
  readonly force?: true;
  readonly json?: true;
}

/** Texts to print on the document. Throws CommandError where no document was requested. */
function labelsOf({ pdf, reference, address, preparedFor }: Options): Partial<ReportRequest> {
  const labels = Object.fromEntries(
    Object.entries({ reference, address, prepared_for: preparedFor }).filter(([, text]) => text !== undefined),
  );
  if (pdf === undefined && Object.keys(labels).length > 0)
    throw new CommandError(
      EXIT.usage,
      `${Object.keys(labels).join(', ')} is printed on a document, expected --pdf as well`,
    );
  return labels;
}

/** Argument parser: degrees up to a limit either way. */
function degrees(limit: number): (text: string) => number {
  return (text) => {
    const value = decimal(text);
    if (value === null || Math.abs(value) > limit)
      throw new InvalidArgumentError(`Found '${shown(text)}', expected a number from -${limit} to ${limit}.`);
    return value;
  };
}

function requestOf(given: ReportRequest, now_ms: number): ReportRequest {
  const parsed = ReportRequest.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new CommandError(EXIT.usage, `${issue?.path.join('.')} ${issue?.message}`);
  }
  const fault = rangeFault(parsed.data, now_ms);
  if (fault !== null) throw new CommandError(EXIT.usage, `${fault.name} ${fault.reason}`);
  return parsed.data;
}

/** The verification, and its document if requested. */
async function verified(
  { data_root, storm_day_start_hour, now }: VerifyConfig,
  request: ReportRequest,
  withDocument: boolean,
): Promise<{ readonly verification: Verification; readonly pdf: Uint8Array | null }> {
  await using opened = new AsyncDisposableStack();
  try {
    const engine = await openEngine(data_root, JOBS);
    opened.defer(engine.close);
    const catalog = await openCatalog(data_root, storm_day_start_hour);
    opened.defer(catalog.close);
    const terrain = await openTerrain(engine, catalog);
    const services = { engine, terrain, storm_day_start_hour };
    const edition = catalog.edition();
    if (!withDocument)
      return { verification: (await readVerification(services, edition, request)).verification, pdf: null };
    // No record has an id for it, and a random one would make each document different.
    const head = { report_id: null, generated_ms: now() };
    return await writeReport(services, edition, request, head);
  } catch (error) {
    if (error instanceof DataUnavailable) throw new CommandError(EXIT.failure, error.message);
    throw error;
  }
}

const HEAD = ['storm date', 'verdict', 'band', 'MESH', 'confidence', 'detections', 'from', 'to (UTC)', 'reports'];

function linesOf(verification: Verification): readonly string[] {
  const {
    location,
    date_range,
    events,
    event_count,
    radar_gaps,
    report_gaps,
    detection_quality,
    data_source,
    data_as_of,
  } = verification;
  const rows = events.map((event) => [
    event.event_date,
    event.verdict,
    event.band,
    event.max_size_mm === null ? '-' : sizeText(event.max_size_mm),
    event.ml_confidence.toFixed(3),
    String(event.n_detections),
    clock(event.first_detected),
    clock(event.last_detected),
    reportsText(event.ground_truth),
  ]);
  return [
    `${location.lat}, ${location.lon} from ${date_range.start} to ${date_range.end}: ${counted(event_count, 'storm date')} with a signal within 5 miles.`,
    '',
    ...table(
      HEAD,
      rows,
      'No echo of 5 mm and no report in what is published. Absence of evidence is not proof of absence.',
    ),
    '',
    ...events.flatMap(({ event_date, note }) => (note === null ? [] : [`${event_date}: ${note}`])),
    ...gapLines(radar_gaps),
    ...reportGapLines(report_gaps),
    `Radar sees hail there: ${detection_quality.detection_word} (${detection_quality.hdqi}). Data: ${data_source ?? 'none'}, as of ${data_as_of ?? '-'}.`,
    verification.methodology.description,
    `Methodology ${verification.methodology.version}, ${verification.verification_hash}`,
  ];
}

/** The dates and times at which radar did not see the point. */
function gapLines({ dates_without_data, dates_with_unknown_scans, dates_seen_in_part }: RadarGaps): string[] {
  const line = (what: string, dates: readonly string[]) =>
    dates.length === 0 ? [] : [`${what}: ${datesInWords(dates)}.`];
  return [
    ...line('Without radar data', dates_without_data),
    ...line('As the sum of a whole day, so that it is not known when radar looked', dates_with_unknown_scans),
    ...dates_seen_in_part.map((date) => `Seen in part: ${seenInPartInWords(date)}.`.replaceAll('\u00a0', ' ')),
  ];
}

/** The dates and times of which ground reports were not collected. */
function reportGapLines({ dates_without_reports, dates_collected_in_part }: Verification['report_gaps']): string[] {
  return [
    ...(dates_without_reports.length === 0
      ? []
      : [`Ground reports not collected: ${datesInWords(dates_without_reports)}.`]),
    ...dates_collected_in_part.map((date) => `Ground reports collected in part: ${reportGapsInWords(date)}.`),
  ];
}

function sizeText(size_mm: number): string {
  return `${size_mm} mm (${(size_mm / MM_PER_INCH).toFixed(2)} in)`;
}

/** `20:12:00` of an instant; a storm date may end on the day after it. */
function clock(time: string | null): string {
  return time === null ? '-' : time.slice('YYYY-MM-DDT'.length, -1);
}

function reportsText({ corroborated, nearest_reports }: Verification['events'][number]['ground_truth']): string {
  const reports = nearest_reports.map(
    ({ source, max_size_mm, distance_m }) =>
      `${source} ${sizeText(max_size_mm)} at ${(distance_m / 1000).toFixed(1)} km`,
  );
  return `${corroborated ? 'agree: ' : ''}${reports.length === 0 ? '-' : reports.join('; ')}`;
}
