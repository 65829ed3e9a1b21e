import { z } from 'zod';
import { table } from '../columns.ts';
import { type Provenance, provenanceColumn } from '../provenance.ts';
import * as column from '../units.ts';

/** Feeds that carry ground reports: the daily lists of the Storm Prediction Center, and local storm reports. */
export const REPORT_FEEDS = ['spc', 'lsr'] as const;

/** Daily lists of the Storm Prediction Center. */
const REPORT_LISTS = ['raw', 'filtered'] as const;

/** One observation of hail on the ground as received; `is_current` marks one row an event, after corrections and copies are joined. */
export const GroundReport = z.object({
  storm_date: column.stormDate('Storm date of the time.'),
  report_id: column.text('Feed, office, time and position: the same event has the same id in every file of a feed.'),
  source: column.word('Feed the report came from.', REPORT_FEEDS),
  time: column.instant('When the hail fell, as reported; usually good to 5 to 15 minutes.'),
  lat: column.latitude('Position as reported; usually good to 1 to 5 km.'),
  lon: column.longitude('Position as reported.'),
  size_mm: column.millimetres('Largest hailstone, from inches; sizes cluster at those of known objects.'),
  is_measured: column.flag('The stone was measured, not estimated; null where the feed does not say.').nullable(),
  place: column.text('Distance and direction from a named place.'),
  county: column.text('County, or marine zone such as AMZ454 over water.'),
  state: column.text('USPS code of the state.'),
  office: column
    .text('Forecast office that took the report, three letters; null where the feed does not say.')
    .nullable(),
  remark: column.text('Words of the report.').nullable(),
  product_id: column
    .text('Product that carried the report; null in the lists of the Storm Prediction Center.')
    .nullable(),
  issued_at: column
    .instant('When that product was issued; null in the lists of the Storm Prediction Center.')
    .nullable(),
  data_source: provenanceColumn('Who wrote the report.'),
  is_correction: column.flag('Its remark corrects an earlier report of the same office.'),
  corrects_place: column.text('Place of the corrected report; null where the remark names none.').nullable(),
  list: column.word('Daily list of the Storm Prediction Center; null for another source.', REPORT_LISTS).nullable(),
  received_at: column.instant('When it was received: first, or in a list last.'),
  withdrawn_at: column.instant('When a newer version of its list no longer had it; null while it stands.').nullable(),
  is_current: column.flag(
    'False for a report that is withdrawn, corrected, repeated or a copy of a local storm report: count current rows only.',
  ),
});
export type GroundReport = z.infer<typeof GroundReport>;

/** A report as in its file. */
export type FileReport = Omit<GroundReport, 'storm_date' | 'received_at' | 'withdrawn_at' | 'is_current'>;

export const groundReports = table({
  name: 'ground-reports',
  row: GroundReport,
  schema_version: 2,
  order: 'time, report_id, data_source, product_id, list, received_at, size_mm, place, remark',
});

/** A period for which a source of ground reports was collected, with or without reports. */
export const CollectedReports = z.object({
  storm_date: column.stormDate('Storm date that the time lies in.'),
  source: column.word('Source that was collected.', REPORT_FEEDS),
  collected_from: column.instant('Beginning of the time whose reports were collected.'),
  collected_until: column.instant('End of it: what was reported of later times was not collected yet.'),
  data_source: provenanceColumn('Provenance of what was collected.'),
});
export type CollectedReports = z.infer<typeof CollectedReports>;

/** A period for which a source was collected. */
export interface CollectedSpan {
  readonly source: CollectedReports['source'];
  /** Null while the last collected list is the newest one: its period goes on up to the end of its day. */
  readonly from_ms: number | null;
  readonly until_ms: number;
  readonly data_source: Provenance;
}

export const collectedReports = table({
  name: 'collected-reports',
  row: CollectedReports,
  schema_version: 1,
  order: 'storm_date, source, collected_from, data_source',
});

/** Events of alerts that are warnings of severe storms; other events are left out. */
export const WARNING_EVENTS = ['Severe Thunderstorm Warning', 'Tornado Warning'] as const;
export const CAP_SEVERITIES = ['Extreme', 'Severe', 'Moderate', 'Minor', 'Unknown'] as const;
export const TORNADO_DETECTIONS = ['OBSERVED', 'RADAR_INDICATED', 'POSSIBLE'] as const;
export const MESSAGE_TYPES = ['Alert', 'Update', 'Cancel'] as const;

/** One message about a Severe Thunderstorm or Tornado Warning, as the National Weather Service sent it. */
export const Warning = z.object({
  warning_id: column.text('Identifier of the message at its source.'),
  event: column.word('What is warned of.', WARNING_EVENTS),
  message_type: column.word('First message, update, or cancellation.', MESSAGE_TYPES),
  severity: column.word('CAP word of the source.', CAP_SEVERITIES),
  office: column.text('Name of the forecast office.'),
  headline: column.text('Headline of the source.').nullable(),
  areas: column.text('Counties and zones in words.').nullable(),
  issued_at: column.instant('When the message was sent.'),
  expires_at: column.instant('End of the event, not of the message.'),
  tornado_detection: column.word('Tornado tag of the warning.', TORNADO_DETECTIONS).nullable(),
  hail_size_mm: column.millimetres('Largest hail expected, from inches; 0 means none.').nullable(),
  gust_kmh: column.kilometresPerHour('Strongest gust expected, from miles per hour.').nullable(),
  speed_kmh: column.kilometresPerHour('Speed of the storm, from knots.').nullable(),
  direction_deg: column
    .degrees('Direction towards which the storm moves, 0 = north; the source says from where.')
    .nullable(),
  vtec_action: column.text('Action of the VTEC line, such as NEW, CON, CAN, EXP.').nullable(),
  vtec_event: column
    .text('Office, phenomenon, significance and number of the VTEC line: all messages of one event share it.')
    .nullable(),
  replaces: column.text('Identifiers of the messages that this one replaces, separated by spaces.'),
  positions: column.count('Positions of the polygon as sent; 0 where there is none.'),
  geometry: column.geometry('Polygon, RFC 7946 winding; null where none was sent or it was refused.').nullable(),
  west: column.longitude('Western edge of the polygon.').nullable(),
  south: column.latitude('Southern edge of the polygon.').nullable(),
  east: column.longitude('Eastern edge of the polygon.').nullable(),
  north: column.latitude('Northern edge of the polygon.').nullable(),
  is_refused_polygon: column.flag('A polygon was sent but is broken, so where the warning holds is not known here.'),
  data_source: provenanceColumn('Who wrote the warning.'),
  received_at: column.instant('When it was received first; of two messages with one id the later one stays.'),
});
export type Warning = z.infer<typeof Warning>;

/** VTEC actions that end an event: cancelled, expired, upgraded to another. */
const ENDING_ACTIONS = ['CAN', 'EXP', 'UPG'];

/** True for a message after which its warning is no longer in force. */
export function endsWarning({ message_type, vtec_action }: Pick<Warning, 'message_type' | 'vtec_action'>): boolean {
  return message_type === 'Cancel' || ENDING_ACTIONS.includes(vtec_action ?? '');
}

export const warnings = table({ name: 'warnings', row: Warning, schema_version: 2, order: 'issued_at, warning_id' });

const WATCH_TYPES = ['tornado_watch', 'severe_thunderstorm_watch', 'mesoscale_discussion'] as const;

/** A watch or mesoscale discussion of the Storm Prediction Center. */
export const Watch = z.object({
  watch_id: column.text('Kind, year and number: numbers start again every year.'),
  type: column.word('What it is.', WATCH_TYPES),
  number: column.count('Number of the watch or discussion within its year.'),
  issued_at: column.instant('When its newest text was issued.'),
  begins_at: column.instant('Start of its validity; null for a cancellation.').nullable(),
  expires_at: column.instant(
    'End of its validity; for a cancelled watch the moment of the cancellation, for a replaced one the issue of the one that replaces it.',
  ),
  headline: column.text('Line that says what it is about; of a discussion the CONCERNING line.'),
  areas: column.text('Areas in words.').nullable(),
  watch_probability_pct: column.percent('Probability that a watch follows; discussions only.').nullable(),
  hail_size_mm: column.millimetres('Largest hail expected, from inches.').nullable(),
  gust_kmh: column.kilometresPerHour('Strongest gust expected, from knots or miles per hour.').nullable(),
  is_cancelled: column.flag('The watch was cancelled before its end.'),
  replaces: column.text('Numbers of the watches that this one replaces, separated by spaces.'),
  geometry: column.geometry('Polygon, RFC 7946 winding; null where no text gave one or it was refused.').nullable(),
  west: column.longitude('Western edge of the polygon.').nullable(),
  south: column.latitude('Southern edge of the polygon.').nullable(),
  east: column.longitude('Eastern edge of the polygon.').nullable(),
  north: column.latitude('Northern edge of the polygon.').nullable(),
  data_source: provenanceColumn('Who wrote the texts.'),
  received_at: column.instant('When its newest text was received.'),
  is_current: column.flag('False for one of the texts of a watch; the current row of a watch joins them.'),
});
export type Watch = z.infer<typeof Watch>;

export const watches = table({
  name: 'watches',
  row: Watch,
  schema_version: 2,
  order: 'issued_at, watch_id, is_current',
});

/** Hazards of the layers of an outlook; `any_severe` is the combined value of day 3 and days 4 to 8. */
export const OUTLOOK_HAZARDS = ['categorical', 'tornado', 'hail', 'wind', 'any_severe'] as const;
export type OutlookHazard = (typeof OUTLOOK_HAZARDS)[number];
/** Part of a layer that a file holds: probabilities and areas of significant severity may come in files of their own. */
const OUTLOOK_PARTS = ['all', 'probabilities', 'significant'] as const;
export type OutlookPart = (typeof OUTLOOK_PARTS)[number];

/**
 * One area of one layer of a convective outlook. A layer without any area has one row whose label and geometry are null:
 * the forecast was issued and shows nothing, unlike a forecast that is missing.
 */
export const SpcOutlook = z.object({
  forecast_date: column.stormDate('Date of the 12 UTC at which the forecast day starts.'),
  day: column.count('Day of the outlook, 1 to 8.'),
  hazard: column.word('Layer.', OUTLOOK_HAZARDS),
  part: column.word('Part of the layer that its file holds.', OUTLOOK_PARTS),
  label: column
    .text('Label of the area: TSTM … HIGH, 0.02 … 0.60, SIGN, CIG1 …; null for a layer without areas.')
    .nullable(),
  probability_pct: column
    .percent('Probability within 25 miles of a point; null for categories and intensity areas.')
    .nullable(),
  issue_time: column.instant('When the forecast was issued.'),
  valid_time: column.instant('Start of its validity.'),
  expire_time: column.instant('End of its validity.'),
  fetched_at: column.instant('When the file was received first.'),
  is_complete: column.flag(
    'False when an area of this layer was refused: outside of what is left nothing is known then.',
  ),
  geometry: column.geometry('MultiPolygon, RFC 7946 winding.').nullable(),
  data_source: provenanceColumn('Who wrote the forecast.'),
});
export type SpcOutlook = z.infer<typeof SpcOutlook>;

export const spcOutlooks = table({
  name: 'spc-outlooks',
  row: SpcOutlook,
  schema_version: 2,
  order: 'forecast_date, day, hazard, part, label',
});
