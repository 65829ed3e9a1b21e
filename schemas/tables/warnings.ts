import { z } from 'zod';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import * as column from '../units.ts';

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
});
export type Warning = z.infer<typeof Warning>;

export const warnings = table({ name: 'warnings', row: Warning, schema_version: 1, order: 'issued_at, warning_id' });
