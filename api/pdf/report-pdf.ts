import { answer } from './answer.ts';
import { blockHeight, eventBlock } from './event-block.ts';
import { furniture } from './furniture.ts';
import { hashBlock, hashHeight } from './hash-block.ts';
import { detectionQuality, limits, mapLegend, method } from './method.ts';
import { notRealMark } from './provenance-words.ts';
import { isHail, MAPS_MAX, type ReportEvent, reportEvents } from './report-events.ts';
import { furtherReports } from './report-list.ts';
import type { ReportMaterial } from './report-material.ts';
import { closeSheet, heading, openSheet, paragraph, type Sheet, sectionHeight } from './sheet.ts';
import { SMALL } from './styles.ts';
import { DOCUMENT_NAME, titleBlock } from './title-block.ts';
import { verdictTable } from './verdict-table.ts';
import { coordinates, counted, reportName } from './words.ts';

/** Two lines that say which events have maps, points. */
const INTRO_HEIGHT = 2 * SMALL.leading + 6;
/** More between two events than below any block: two with three reports each, below their section's title, just fit a page. */
const EVENT_GAP = 5;

/** `compress` false leaves the pages readable in the file, for tests. */
export interface ReportPdfOptions {
  readonly compress?: boolean;
}

/**
 * The document of a verification: US Letter, text that can be selected, structure for readers that speak, nothing fetched from
 * anywhere. Equal material gives equal bytes.
 * Throws RangeError where the material's events are not those of the verification.
 */
export async function reportPdf(material: ReportMaterial, { compress = true }: ReportPdfOptions = {}): Promise<Buffer> {
  const { verification, storm_day_start_hour } = material;
  const events = reportEvents(material);
  const not_real = notRealMark(material.data_source);
  const sheet = openSheet({ info: infoOf(material), compress });
  titleBlock(sheet, material);
  answer(sheet, material, events, not_real);
  if (events.length > 0) {
    verdictTable(sheet, events, storm_day_start_hour);
    detectionQuality(sheet, verification);
    if (events.some(({ has_map }) => has_map)) mapLegend(sheet);
    drawEvents(sheet, events, { point: verification.location, not_real });
  } else detectionQuality(sheet, verification);
  method(sheet, material);
  // The hash never stands alone on the last page.
  limits(sheet, sectionHeight(hashHeight(sheet)));
  hashBlock(sheet, verification.verification_hash);
  furniture(sheet, material, not_real);
  return closeSheet(sheet);
}

/** A block with a map for each storm date with hail, in their order; where there are too many, the others only list their reports. */
function drawEvents(sheet: Sheet, events: readonly ReportEvent[], around: Parameters<typeof eventBlock>[2]): void {
  const mapped = events.filter(({ has_map }) => has_map);
  const others = events.filter(({ has_map }) => !has_map);
  const [first] = mapped;
  if (first !== undefined) {
    const intro = unmappedInWords(events);
    heading(
      sheet,
      'Detections and reports by storm date',
      (intro === '' ? 0 : INTRO_HEIGHT) + blockHeight(sheet, first, around),
    );
    if (intro !== '') paragraph(sheet, intro, SMALL, 6);
  }
  for (const [k, event] of mapped.entries()) {
    if (k > 0) sheet.y += EVENT_GAP;
    eventBlock(sheet, event, around);
  }
  furtherReports(sheet, others);
}

/** Which storm dates have no map, and why; empty where all have one. */
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
