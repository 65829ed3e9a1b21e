import { z } from 'zod';
import {
  DELETE_LOCATIONS_EXAMPLE,
  DELETED_IDS_MAX,
  LIST_LOCATIONS_EXAMPLE,
  PortfolioDeleted,
  PortfolioDeletion,
  type PortfolioLocation,
  PortfolioLocations,
} from '../../schemas/resources/portfolio-location.ts';
import {
  CREATE_LOCATIONS_EXAMPLE,
  PortfolioUpload,
  PortfolioUploaded,
  UPLOAD_BYTES_MAX,
  UPLOAD_ROWS_MAX,
} from '../../schemas/resources/portfolio-upload.ts';
import { repeatedQuery } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { deleteLocations, LOCATIONS, type Location, upsertLocations } from '../portfolio/locations.ts';
import { checkUpload } from '../portfolio/rows.ts';
import { rounded } from '../rules/rounded.ts';
import { flatPrice, readEndpoint, writeEndpoint } from '../server/endpoint.ts';
import { pageQuery, readPage } from './owned.ts';

const READ = { group: 'Portfolio', scope: 'portfolio:read' } as const;
const WRITE = { ...READ, scope: 'portfolio:write' } as const;

export const createLocations = writeEndpoint({
  route: 'POST /v1/portfolio/locations',
  ...WRITE,
  summary: 'Upload locations',
  description: `Creates and updates up to ${UPLOAD_ROWS_MAX} point locations in CONUS. Rows are judged one by one: what is wrong with one rejects that row alone. The call costs the same however many rows are accepted.`,
  idempotent: true,
  body: PortfolioUpload,
  body_limit_bytes: UPLOAD_BYTES_MAX,
  reply: PortfolioUploaded,
  example: CREATE_LOCATIONS_EXAMPLE,
  price: flatPrice('portfolio.locations.upsert', 10),
  prepare: ({ body }) => checkUpload(body),
  write: async ({ caller }, writer, rows) => ({
    body: await upsertLocations(writer, rows, caller.plan.quotas.locations),
  }),
});

export const listLocations = readEndpoint({
  route: 'GET /v1/portfolio/locations',
  ...READ,
  summary: 'List locations',
  description: 'Locations of the business by name (code points), then id, in pages.',
  query: z.object(pageQuery('Locations', 50, 200)),
  reply: PortfolioLocations,
  example: LIST_LOCATIONS_EXAMPLE,
  price: flatPrice('portfolio.locations.list', 1),
  answer: async (call) => {
    const { page, ...rest } = await readPage(LOCATIONS, { business_id: call.caller.business_id }, call);
    return { body: { locations: page.map(resourceOf), ...rest } };
  },
});

export const deleteLocation = writeEndpoint({
  route: 'DELETE /v1/portfolio/locations',
  ...WRITE,
  summary: 'Delete locations',
  description: `Deletes up to ${DELETED_IDS_MAX} locations. The ids come in the body or, where a proxy drops the body of a DELETE, as repeated query parameters; not both. Ids without a location do not fail the call.`,
  query: z.object({
    ids: repeatedQuery({ maxItems: DELETED_IDS_MAX, description: 'Id of a location; may be repeated.' }),
  }),
  body: PortfolioDeletion.optional(),
  reply: PortfolioDeleted,
  example: DELETE_LOCATIONS_EXAMPLE,
  price: flatPrice('portfolio.locations.delete', 5),
  write: async ({ query, body }, writer) => {
    const ids = [...new Set(idsAsked(query.ids, body?.ids))];
    const deleted = await deleteLocations(writer, ids);
    const gone = new Set(deleted);
    const not_found = ids.filter((id) => !gone.has(id));
    const counts = { deleted_count: deleted.length, not_found_count: not_found.length };
    return { body: { ...counts, deleted: [...deleted], not_found } };
  },
});

function idsAsked(inQuery: readonly string[], inBody: readonly string[] | undefined): readonly string[] {
  if (inBody !== undefined && inQuery.length > 0)
    throw new ApiError('bad_request', 'ids are given in the body and in the query, expected one of them');
  if (inBody === undefined && inQuery.length === 0)
    throw new ApiError('bad_request', '/ids: missing, expected ids in the body or in the query');
  return inBody ?? inQuery;
}

function resourceOf({ business_id: _, lat, lon, tags, ...rest }: Location): PortfolioLocation {
  return { ...rest, lat: rounded(lat, 5), lon: rounded(lon, 5), tags: JSON.parse(tags) as string[] };
}

export const LOCATION_ENDPOINTS = [createLocations, listLocations, deleteLocation];
