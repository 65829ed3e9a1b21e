import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiParameters } from 'zod-openapi';
import type { ErrorCode } from '../../schemas/errors.ts';
import { SIGNED_URL_SECONDS } from '../../schemas/resources/report-job.ts';
import { PMTILES_TYPE } from '../../schemas/resources/tile-frame.ts';
import { mediaType } from '../http/reply.ts';
import { FILE_KINDS } from '../jobs/export-format.ts';
import { type AnswerShape, errorResponses, headersOf } from './openapi-answers.ts';

/** Members of an operation that needs no key and is free. */
export const WITHOUT_KEY = {
  security: [],
  'x-scope': null,
  'x-feature': null,
  'x-test-key': true,
  'x-credits': 0,
  'x-credits-per': 'call',
  'x-operation': null,
};
/** Error codes of every operation without a key. */
export const ANYWHERE = ['bad_request', 'method_not_allowed', 'uri_too_long', 'headers_too_large'] as const;

const text = (description: string) => z.string().meta({ description });
const optional = (description: string) => z.string().optional().meta({ description });
const RANGE_HEADERS = z.object({
  Range: optional('One range of bytes; several get the whole file.').meta({ example: 'bytes=0-16383' }),
  'If-Range': optional('The tag that the range is of: another content is sent whole.'),
  'If-Match': optional('Tags of which the content must have one, else 412.'),
  'If-None-Match': optional('Tags of contents that are at hand.'),
});
const DATE = text('Storm date, YYYY-MM-DD.').meta({ format: 'date' });
const SCAN = z.object({ date: DATE, file: text('File name as /v1/tiles/scan gives it, with its content in it.') });

/** GET operations for files, by path: signed addresses of reports and exports, tile archives. */
export function fileOperations(shape: AnswerShape): Readonly<Record<string, ZodOpenApiOperationObject>> {
  const archive = (operationId: string, of: string, path: z.ZodObject) => ({
    operationId,
    summary: `Archive of ${of}`,
    description:
      'A PMTiles archive, free and without a key: readers ask for ranges of it. `/v1/tiles/scan` and `/v1/tiles/daily` tell where archives are.',
    ...fileParts(shape, { path }, [PMTILES_TYPE], ['not_found']),
  });
  const signed = {
    path: z.object({ job: text('Id of the job.') }),
    query: z.object({
      exp: text('Unix seconds until which the address is good.'),
      sig: text('Signature of the address.'),
    }),
  };
  const types = ['application/pdf', ...Object.values(FILE_KINDS).map(({ media_type }) => mediaType(media_type))];
  return {
    '/v1/files/{job}': {
      operationId: 'getJobFile',
      summary: 'The file of a report or an export',
      description: `Free and without a key, at an address that the poll of its job gives and that is good for ${SIGNED_URL_SECONDS} seconds. CSV and GeoJSON are compressed for clients that take gzip, unless they ask for a range.`,
      ...fileParts(shape, signed, types, ['forbidden', 'not_found', 'metering_unavailable']),
    },
    '/tiles/scan/{date}/{file}': archive('getScanArchive', 'a scan', SCAN),
    '/tiles/reflectivity/{date}/{file}': archive('getReflectivityArchive', 'the reflectivity of a scan', SCAN),
    '/tiles/daily/{date}.pmtiles': archive('getDailyArchive', 'a day', z.object({ date: DATE })),
  };
}

function fileParts(
  shape: AnswerShape,
  params: ZodOpenApiParameters,
  media_types: readonly string[],
  refusals: readonly ErrorCode[],
) {
  const binary = { schema: { type: 'string' as const, format: 'binary' } };
  const content = Object.fromEntries(media_types.map((type) => [type, binary]));
  const headers = (...more: readonly string[]) => headersOf('ETag', 'Accept-Ranges', 'X-Data-Source', ...more);
  const codes = [...ANYWHERE, 'precondition_failed', 'range_not_satisfiable', 'internal_error', ...refusals] as const;
  return {
    ...WITHOUT_KEY,
    tags: ['Files'],
    requestParams: { ...params, header: RANGE_HEADERS },
    responses: {
      '200': { description: 'The whole file.', headers: headers('Content-Length', 'Content-Encoding'), content },
      '206': { description: 'The range.', headers: headers('Content-Length', 'Content-Range'), content },
      '304': { description: 'The content at hand is still right.', headers: headers() },
      ...errorResponses(codes, shape),
    },
  };
}
