import {
  drawDetectionQuality,
  drawHash,
  drawLimits,
  drawMapLegend,
  drawMethod,
  hashHeight,
} from './closing-sections.ts';
import { drawEvent, eventHeight } from './event-block.ts';
import { drawOverview } from './overview.ts';
import { drawPageFrames } from './page-frame.ts';
import { notRealMark } from './provenance-words.ts';
import { isHail, MAPS_MAX, type ReportEvent, reportEvents } from './report-events.ts';
import { drawUnmappedReports } from './report-list.ts';
import type { ReportMaterial } from './report-material.ts';
import { closeSheet, heading, openSheet, paragraph, type Sheet, sectionHeight } from './sheet.ts';
import { SMALL } from './styles.ts';
import { DOCUMENT_NAME, drawTitleBlock } from './title-block.ts';
import { drawVerdictTable } from './verdict-table.ts';
import { coordinates, counted, reportName } from './words.ts';

/** Height of the two lines on events without maps, points. */
const INTRO_HEIGHT = 2 * SMALL.leading + 6;
/** Extra space between two events, points: two events with three reports each just fit a page below the section's title. */
const EVENT_GAP = 5;

/** `compress` false leaves the pages readable in the file, for tests. */
interface ReportPdfOptions {
  readonly compress?: boolean;
}

/**
 * The document of a verification: US Letter, selectable text, structure for screen readers, no external resources. Equal
 * material gives equal bytes.
 * Throws RangeError where the material's events are not those of the verification.
 */
export async function reportPdf(material: ReportMaterial, { compress = true }: ReportPdfOptions = {}): Promise<Buffer> {
  const { verification, storm_day_start_hour } = material;
  const events = reportEvents(material);
  const not_real = notRealMark(material.data_source);
  const sheet = openSheet({ info: infoOf(material), compress });
  drawTitleBlock(sheet, material);
  drawOverview(sheet, material, events, not_real);
  if (events.length > 0) {
    drawVerdictTable(sheet, events, storm_day_start_hour);
    drawDetectionQuality(sheet, verification);
    if (events.some(({ has_map }) => has_map)) drawMapLegend(sheet);
    drawEvents(sheet, events, { point: verification.location, not_real });
  } else drawDetectionQuality(sheet, verification);
  drawMethod(sheet, material);
  // Keeps the hash from standing alone on the last page.
  drawLimits(sheet, sectionHeight(hashHeight(sheet)));
  drawHash(sheet, verification.verification_hash);
  drawPageFrames(sheet, material, not_real);
  return closeSheet(sheet);
}

/** Draws a block with a map for each storm date with hail, up to `MAPS_MAX`; the others only list their reports. */
function drawEvents(sheet: Sheet, events: readonly ReportEvent[], around: Parameters<typeof drawEvent>[2]): void {
  const mapped = events.filter(({ has_map }) => has_map);
  const others = events.filter(({ has_map }) => !has_map);
  const [first] = mapped;
  if (first !== undefined) {
    const intro = unmappedInWords(events);
    heading(
      sheet,
      'Detections and reports by storm date',
      (intro === '' ? 0 : INTRO_HEIGHT) + eventHeight(sheet, first, around),
    );
    if (intro !== '') paragraph(sheet, intro, SMALL, 6);
  }
  for (const [k, event] of mapped.entries()) {
    if (k > 0) sheet.y += EVENT_GAP;
    drawEvent(sheet, event, around);
  }
  drawUnmappedReports(sheet, others);
}

/** Storm dates without a map and the reason; empty where all have one. */
function unmappedInWords(events: readonly ReportEvent[]): string {
  const hail = events.filter(({ event }) => isHail(event)).length;
  const weak = events.length - hail;
  return [
    ...(hail > MAPS_MAX
      ? [
          `Maps are drawn for ${MAPS_MAX} of ${hail} storm dates with hail, those with the strongest verdicts and the largest hail; of the others the table of verdicts has the radar's part, and a list after the maps every report.`,
        ]
      : []),
    ...(weak > 0
      ? [
          `${counted(weak, 'storm date')} with a weak echo only ${weak === 1 ? 'has' : 'have'} no map: the table of verdicts has the sizes.`,
        ]
      : []),
  ].join(' ');
}

function infoOf({ generated_ms, verification, data_source, report_id }: ReportMaterial): PDFKit.DocumentInfo {
  const { location, date_range } = verification;
  const place = coordinates(location);
  const not_real = notRealMark(data_source);
  const kind = not_real === null ? '' : ` (${not_real.title})`;
  return {
    Title: `${DOCUMENT_NAME} at ${place}, ${date_range.start} to ${date_range.end}${kind}`,
    Author: 'hail',
    Creator: 'hail',
    Producer: 'hail',
    Subject: `${reportName(report_id)}, ${verification.verification_hash}`,
    Keywords: 'hail, date of loss, verification, MESH',
    CreationDate: new Date(generated_ms),
  };
}
