import { z } from 'zod';
import { table } from '../columns.ts';
import { provenanceColumn } from '../provenance.ts';
import * as column from '../units.ts';

/** Hazards of the layers of an outlook; `any_severe` is the combined value of day 3 and days 4 to 8. */
export const OUTLOOK_HAZARDS = ['categorical', 'tornado', 'hail', 'wind', 'any_severe'] as const;
export type OutlookHazard = (typeof OUTLOOK_HAZARDS)[number];
/** Part of a layer that a file holds: probabilities and areas of significant severity may come in files of their own. */
export const OUTLOOK_PARTS = ['all', 'probabilities', 'significant'] as const;
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
  format: column.word('Format it was read from.', ['geojson', 'points'] as const),
  fetched_at: column.instant('When the file came.'),
  is_complete: column.flag(
    'False when an area of this layer was refused: outside of what is left nothing is known then.',
  ),
  geometry: column.geometry('MultiPolygon, RFC 7946 winding.').nullable(),
  data_source: provenanceColumn('Who wrote the forecast.'),
});
export type SpcOutlook = z.infer<typeof SpcOutlook>;
/** An area as in its file. */
export type FileOutlook = Omit<SpcOutlook, 'fetched_at'>;

export const spcOutlooks = table({
  name: 'spc-outlooks',
  row: SpcOutlook,
  schema_version: 1,
  order: 'forecast_date, day, hazard, part, label',
});
