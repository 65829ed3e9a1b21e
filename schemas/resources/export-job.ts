import { z } from 'zod';
import { type Bbox, checkBbox, parseBbox } from '../geo/position.ts';
import { isStateCode } from '../reference/state-codes.ts';
import * as wire from './fields.ts';
import { isOneRegion, ONE_REGION } from './region-box.ts';
import { jobStatus, pollUrl, SIGNED_URL_SECONDS } from './report-job.ts';

/** Datasets of exports. */
export const DATASETS = ['detections', 'swaths', 'reports'] as const;
export type Dataset = (typeof DATASETS)[number];

/** File formats of exports. */
export const EXPORT_FORMATS = ['csv', 'geojson', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Most storm dates in one export, first and last included. */
const EXPORT_DAYS_MAX = 31;

/** Most rows of a file; the latest rows beyond are left out. Swaths need no cap: they have a row for each date and size tier. */
export const EXPORT_ROW_CAPS = {
  detections: 250_000,
  reports: 50_000,
  swaths: Number.POSITIVE_INFINITY,
} as const satisfies Record<Dataset, number>;

/** Days that an export is kept after it was asked for. */
export const EXPORT_KEPT_DAYS = 30;

const BBOX_EXPECTED = 'expected [minLon, minLat, maxLon, maxLat] with each minimum below its maximum';

const NUMBER_TEXT = String.raw`-?\d+(\.\d+)?([eE][+-]?\d+)?`;
const BBOX_TEXT = `^${NUMBER_TEXT}(,${NUMBER_TEXT}){3}$`;

/** Box of a body: four numbers, or the text that queries take. */
const requestBbox = z
  .union([z.array(z.unknown()), z.string()], { error: BBOX_EXPECTED })
  .transform((given, context): Bbox => {
    const bbox = typeof given === 'string' ? parseBbox(given) : checkBbox(given);
    if (typeof bbox !== 'string') return bbox;
    context.addIssue({ code: 'custom', message: BBOX_EXPECTED, input: given });
    return z.NEVER;
  })
  .meta({
    description: 'Region: minLon, minLat, maxLon, maxLat; not together with state. CONUS when both are left out.',
    unit: 'deg',
    override: ({ jsonSchema }) => {
      delete jsonSchema.anyOf;
      jsonSchema.oneOf = [
        { type: 'array', items: { type: 'number' }, minItems: 4, maxItems: 4 },
        { type: 'string', pattern: BBOX_TEXT },
      ];
    },
  });

/** Request of an export. Limits that depend on the clock are checked by the route. */
export const ExportRequest = z
  .object({
    dataset: z.enum(DATASETS).meta({
      description: `detections: every pixel and scan of 10 mm and more, at most ${EXPORT_ROW_CAPS.detections} rows; swaths: the convex hull of each storm date and size tier; reports: hail on the ground, at most ${EXPORT_ROW_CAPS.reports} rows.`,
    }),
    date_start: wire.bodyDate('First storm date.'),
    date_end: wire.bodyDate(
      `Last storm date, included; at most ${EXPORT_DAYS_MAX} days in all. Tomorrow (UTC) counts as today, later is refused.`,
    ),
    bbox: requestBbox.nullish().transform((bbox) => bbox ?? null),
    state: z
      .string()
      .refine(isStateCode, { error: 'expected a two-letter USPS state code' })
      .nullish()
      .transform((state) => state ?? null)
      .meta({ description: 'Region as the USPS code of a state; not together with bbox.' }),
    format: z.enum(EXPORT_FORMATS).meta({ description: 'Format of the file.' }),
  })
  .check(...wire.dateRange('date_start', 'date_end', EXPORT_DAYS_MAX))
  .refine(isOneRegion, ONE_REGION)
  .meta({ id: 'ExportRequest' });

/** Validated parameters of an export: dates exist and are in order, at most one of bbox and state is set. */
export type ExportParams = z.infer<typeof ExportRequest>;

/** Fields of every export. */
export const ExportSummary = z.object({
  row_count: wire.count('Rows in the file.'),
  truncated: z.boolean().meta({ description: 'There were more rows than an export may have: the latest are missing.' }),
});
export type ExportSummary = z.infer<typeof ExportSummary>;

const job_id = z.string().meta({ description: 'Id of the export, `exp_` and a ULID.' });

/** An export that was accepted. */
export const ExportAccepted = wire.resource('ExportAccepted', {
  job_id,
  status: z.literal('pending'),
  poll_url: pollUrl(),
  message: z.string().meta({ description: 'What happens next, for people.' }),
});

/** The parameters that were used. */
const ExportedRequest = z.object({
  dataset: z.enum(DATASETS).meta({ description: 'Data set.' }),
  date_start: z.string().meta({ description: 'First storm date.', format: 'date' }),
  date_end: z.string().meta({ description: 'Last storm date, included: today (UTC) at the latest.', format: 'date' }),
  bbox: z
    .tuple([z.number(), z.number(), z.number(), z.number()])
    .readonly()
    // `readonly` for our code alone: in JSON Schema it means a field that no request may have.
    .meta({ override: ({ jsonSchema }) => void delete jsonSchema.readOnly })
    .nullable()
    .meta({ description: 'minLon, minLat, maxLon, maxLat: the part of the box that lies in CONUS.', unit: 'deg' }),
  state: z.string().nullable().meta({ description: 'USPS code.' }),
  format: z.enum(EXPORT_FORMATS).meta({ description: 'Format of the file.' }),
});

/** State of an export; fields that are not known yet are null. */
export const ExportJob = wire.resource('ExportJob', {
  job_id,
  status: jobStatus(),
  poll_url: pollUrl(),
  message: z.string().nullable().meta({ description: 'Why it failed, for people; null unless it did.' }),
  note: wire.outsideNote(),
  params: ExportedRequest.meta({ description: 'The request as it was carried out.' }),
  row_count: ExportSummary.shape.row_count.nullable(),
  truncated: ExportSummary.shape.truncated.nullable(),
  generated_at: wire.time('When the file was made.').nullable(),
  data_as_of: wire
    .time(
      'Up to when the file goes: the newest scan of its dates, or the newest issue of the reports. Rows of a date that still runs end here.',
    )
    .nullable(),
  download_url: z.string().nullable().meta({
    description: 'Where the file is, open to whoever has the address until it expires; a new one with every poll.',
  }),
  download_url_expires_in_seconds: z
    .int()
    .nullable()
    .meta({ description: 'For how long download_url is good.', unit: 's' }),
  error: z.literal('export_generation_failed').nullable().meta({ description: 'Null unless it failed.' }),
});

const EXAMPLE_ID = 'exp_01KAJ3W9QZ6R8V2T4X5Y7A9B0C';

const EXAMPLE_BODY = {
  dataset: 'detections',
  date_start: '2026-05-01',
  date_end: '2026-05-01',
  bbox: [-98, 34, -96, 36],
  state: null,
  format: 'parquet',
} as const;

const EXAMPLE_POLL = `https://hail.example.com/v1/exports/${EXAMPLE_ID}`;

export const EXPORT_ACCEPTED_MESSAGE = 'the file is being made: ask poll_url until its status is done or failed';

export const CREATE_EXPORT_EXAMPLE: wire.Example<typeof ExportAccepted> = {
  body: EXAMPLE_BODY,
  reply: { job_id: EXAMPLE_ID, status: 'pending', poll_url: EXAMPLE_POLL, message: EXPORT_ACCEPTED_MESSAGE },
};

export const GET_EXPORT_EXAMPLE: wire.Example<typeof ExportJob> = {
  reply: {
    job_id: EXAMPLE_ID,
    status: 'done',
    poll_url: EXAMPLE_POLL,
    message: null,
    note: null,
    params: EXAMPLE_BODY,
    row_count: 2210,
    truncated: false,
    generated_at: '2026-05-02T14:20:31Z',
    data_as_of: '2026-05-01T23:58:40Z',
    download_url: `https://hail.example.com/v1/files/${EXAMPLE_ID}?exp=1777732731&sig=cGQ7cVn0tGZ0bW9yZSB0aGFuIHRoaXMgaXMgbm90IHQ`,
    download_url_expires_in_seconds: SIGNED_URL_SECONDS,
    error: null,
  },
};
