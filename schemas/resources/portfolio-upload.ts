import { z } from 'zod';
import * as wire from './fields.ts';

/** Largest upload: rows, and bytes of its body. */
export const UPLOAD_ROWS_MAX = 10_000;
export const UPLOAD_BYTES_MAX = 5_000_000;

/** Limits of a row, in characters (code points) and in tags. */
export const ROW_LIMITS = { name: 200, address: 500, tags: 20, tag: 64 } as const;

const ROWS = [
  'Rows with the fields id (optional; present: that location is replaced, which takes no quota), name, lat, lon, address, tags.',
  'Every row is judged alone: a bad row is rejected, the others are accepted.',
  'In a row with an id, address and tags that are absent are kept and empty ones are cleared.',
].join(' ');

const DEGREES = 'decimal degrees, WGS84';

/**
 * Shape of a valid row of an upload, for the OpenAPI document. Any value passes: `api/portfolio/rows.ts` checks each row by itself,
 * so that an invalid row does not reject the others.
 */
const UploadedRow = z.unknown().meta({
  id: 'UploadedRow',
  type: 'object',
  description: 'A location; a row with a field of another name is rejected.',
  properties: {
    id: { type: ['string', 'null'], description: 'Location to replace, which takes no quota; a new one without.' },
    name: { type: 'string', minLength: 1, maxLength: ROW_LIMITS.name, description: 'Name, not blank.' },
    lat: { type: 'number', minimum: 24, maximum: 50, description: `Latitude, ${DEGREES}, in CONUS.` },
    lon: { type: 'number', minimum: -125, maximum: -66, description: `Longitude, ${DEGREES}, negative in CONUS.` },
    address: {
      type: ['string', 'null'],
      maxLength: ROW_LIMITS.address,
      description: 'Address; absent in a row with an id, it is kept, empty it is cleared.',
    },
    tags: {
      type: ['array', 'null'],
      items: { type: 'string', maxLength: ROW_LIMITS.tag },
      maxItems: ROW_LIMITS.tags,
      description: 'Tags; absent in a row with an id, they are kept, an empty list clears them.',
    },
  },
  required: ['name', 'lat', 'lon'],
});

/** A bulk upload of locations. */
export const PortfolioUpload = z
  .discriminatedUnion('format', [
    z.object({
      format: z.literal('json').meta({ description: '`data` is an array of row objects.' }),
      data: z.array(UploadedRow).meta({ description: ROWS, maxItems: UPLOAD_ROWS_MAX }),
    }),
    z.object({
      format: z.literal('csv').meta({ description: '`data` is CSV text.' }),
      data: z.string().meta({
        description: `CSV (RFC 4180) with a header row, set apart by commas, semicolons or tabs; column names in any case, unknown columns are ignored, tags are separated by a vertical bar. ${ROWS}`,
      }),
    }),
  ])
  .meta({ id: 'PortfolioUpload' });
export type PortfolioUpload = z.infer<typeof PortfolioUpload>;

/** First word of every reason for which a row is rejected. */
export const REJECTIONS = [
  'malformed_row',
  'missing_name',
  'name_too_long',
  'invalid_coordinates',
  'outside_conus',
  'address_too_long',
  'invalid_tags',
  'unknown_id',
  'duplicate_id',
  'quota_exceeded',
] as const;
export type Rejection = (typeof REJECTIONS)[number];

export const AcceptedRow = wire.resource('AcceptedRow', {
  row_index: z.int().nonnegative().meta({ description: 'Position in the upload from 0; a CSV header is not counted.' }),
  id: z.string().meta({ description: 'Identifier of the location.' }),
  name: z.string().meta({ description: 'Name of the location.' }),
  action: z.enum(['created', 'updated']).meta({ description: '`updated` when the row named an id.' }),
});
export type AcceptedRow = z.infer<typeof AcceptedRow>;

export const RejectedRow = wire.resource('RejectedRow', {
  row_index: z.int().nonnegative().meta({ description: 'Position in the upload from 0; a CSV header is not counted.' }),
  name: z.string().nullable().meta({ description: 'The text found as name; null without one.' }),
  reason: z.string().meta({
    description: `Begins with a stable word (${REJECTIONS.join(', ')}), then a colon and the detail for people.`,
  }),
});
export type RejectedRow = z.infer<typeof RejectedRow>;

/** Outcome of an upload. */
export const PortfolioUploaded = wire.resource('PortfolioUploaded', {
  total_rows: z.int().nonnegative().meta({ description: 'Rows of the upload.' }),
  accepted_count: z.int().nonnegative().meta({ description: 'Rows that were stored.' }),
  rejected_count: z.int().nonnegative().meta({ description: 'Rows that were not.' }),
  accepted: z.array(AcceptedRow).meta({ description: 'In the order of the upload.' }),
  rejected: z.array(RejectedRow).meta({ description: 'In the order of the upload.' }),
  quota: z
    .object({
      point_locations_before: z.int().nonnegative().meta({ description: 'Locations before the upload.' }),
      point_locations_after: z.int().nonnegative().meta({ description: 'Locations after the upload.' }),
      limit: z.int().nonnegative().meta({ description: 'Locations that the plan allows.' }),
    })
    .meta({ description: 'Use of the quota of locations.' }),
});
export type PortfolioUploaded = z.infer<typeof PortfolioUploaded>;

export const CREATE_LOCATIONS_EXAMPLE: wire.Example<typeof PortfolioUploaded> = {
  body: { format: 'csv', data: 'name,lat,lon,tags\nDepot,35.4676,-97.5164,roof|flat\nPier,36.1,97.2,\n' },
  reply: {
    total_rows: 2,
    accepted_count: 1,
    rejected_count: 1,
    accepted: [{ row_index: 0, id: 'loc_01KAJ3W9QZ6R8V2T4X5Y7A9B0C', name: 'Depot', action: 'created' }],
    rejected: [
      {
        row_index: 1,
        name: 'Pier',
        reason: 'outside_conus: lon is 97.2, expected -125 to -66, longitudes west of Greenwich are negative',
      },
    ],
    quota: { point_locations_before: 0, point_locations_after: 1, limit: 10_000 },
  },
};
