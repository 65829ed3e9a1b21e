import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiParameters, ZodOpenApiResponsesObject } from 'zod-openapi';
import type { ErrorCode } from '../schemas/errors.ts';
import { SIGNED_URL_SECONDS } from '../schemas/resources/report-job.ts';
import { PMTILES_TYPE } from '../schemas/resources/tile-frame.ts';
import { mediaType } from './http/negotiate.ts';
import { FILE_KINDS } from './jobs/export-format.ts';
import {
  CURRENT_ANSWERS,
  commonHeaderRefs,
  errorResponses,
  fixedMessage,
  headerRefs,
  WITHOUT_KEY,
} from './openapi-components.ts';

/** Group of the operations on files. */
export const FILES_GROUP = 'Files';

const RANGE_HEADERS = z.object({
  Range: z
    .string()
    .optional()
    .meta({ description: 'One range of bytes; several get the whole file.', example: 'bytes=0-16383' }),
  'If-Range': z
    .string()
    .optional()
    .meta({ description: 'The tag that the range is of: another content is sent whole.' }),
  'If-Match': z.string().optional().meta({ description: 'Tags of which the content must have one, else 412.' }),
  'If-None-Match': z.string().optional().meta({ description: 'Tags of contents that are at hand.' }),
});

/** GET operations for files, by path: signed addresses of reports and exports, tile archives. */
export function filePaths(): Readonly<Record<string, ZodOpenApiOperationObject>> {
  const date = z.string().meta({ description: 'Storm date, YYYY-MM-DD.', format: 'date' });
  const file = z.string().meta({ description: 'File name as /v1/tiles/scan gives it, with its content in it.' });
  const tileArchive = (what: string, path: z.ZodObject): ZodOpenApiOperationObject =>
    fileOperation({
      id: `get${what}Archive`,
      summary: `Archive of ${{ Scan: 'a scan', Reflectivity: 'the reflectivity of a scan', Daily: 'a day' }[what]}`,
      description:
        'A PMTiles archive, free and without a key: readers ask for ranges of it. `/v1/tiles/scan` and `/v1/tiles/daily` tell where archives are.',
      params: { path, header: RANGE_HEADERS },
      media_types: [PMTILES_TYPE],
      refusals: ['not_found', 'overloaded'],
    });
  const scan = z.object({ date, file });
  return {
    '/v1/files/{job}': fileOperation({
      id: 'getJobFile',
      summary: 'The file of a report or an export',
      description: `Free and without a key, at an address that the poll of its job gives and that is good for ${SIGNED_URL_SECONDS} seconds. CSV and GeoJSON are compressed for clients that take gzip, unless they ask for a range.`,
      params: {
        path: z.object({ job: z.string().meta({ description: 'Id of the job.' }) }),
        query: z.object({
          exp: z.string().meta({ description: 'Unix seconds until which the address is good.' }),
          sig: z.string().meta({ description: 'Signature of the address.' }),
        }),
        header: RANGE_HEADERS,
      },
      media_types: ['application/pdf', ...Object.values(FILE_KINDS).map(({ media_type }) => mediaType(media_type))],
      refusals: ['forbidden', 'not_found', 'overloaded', 'metering_unavailable'],
    }),
    '/tiles/scan/{date}/{file}': tileArchive('Scan', scan),
    '/tiles/reflectivity/{date}/{file}': tileArchive('Reflectivity', scan),
    '/tiles/daily/{date}.pmtiles': tileArchive('Daily', z.object({ date })),
  };
}

interface FileOperation {
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  readonly params: ZodOpenApiParameters;
  readonly media_types: readonly string[];
  readonly refusals: readonly ErrorCode[];
}

const ALWAYS: readonly ErrorCode[] = [
  'bad_request',
  'method_not_allowed',
  'precondition_failed',
  'uri_too_long',
  'range_not_satisfiable',
  'headers_too_large',
  'internal_error',
];

function fileOperation({
  id,
  summary,
  description,
  params,
  media_types,
  refusals,
}: FileOperation): ZodOpenApiOperationObject {
  const own = { ...commonHeaderRefs(CURRENT_ANSWERS), ...headerRefs(['ETag', 'Accept-Ranges', 'X-Data-Source']) };
  const content = Object.fromEntries(
    media_types.map((type) => [type, { schema: { type: 'string' as const, format: 'binary' } }]),
  );
  return {
    operationId: id,
    tags: [FILES_GROUP],
    summary,
    description,
    ...WITHOUT_KEY,
    requestParams: params,
    responses: {
      '200': {
        description: 'The whole file.',
        headers: { ...own, ...headerRefs(['Content-Length', 'Content-Encoding']) },
        content,
      },
      '206': {
        description: 'The range.',
        headers: { ...own, ...headerRefs(['Content-Length', 'Content-Range']) },
        content,
      },
      '304': { description: 'The content at hand is still right.', headers: own },
      ...fileErrors([...ALWAYS, ...refusals]),
    },
  };
}

function fileErrors(codes: readonly ErrorCode[]): ZodOpenApiResponsesObject {
  const found = errorResponses(codes, fixedMessage, CURRENT_ANSWERS) as Record<
    string,
    { headers: Record<string, unknown> }
  >;
  const unsatisfiable = found['416'];
  if (unsatisfiable !== undefined) Object.assign(unsatisfiable.headers, headerRefs(['Content-Range']));
  return found as ZodOpenApiResponsesObject;
}
