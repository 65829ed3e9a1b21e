import { z } from 'zod';
import {
  IMPACT_RADIUS_MI,
  PORTFOLIO_IMPACTS_EXAMPLE,
  PortfolioImpacts,
} from '../../schemas/resources/portfolio-impact.ts';
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
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { dayMax } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import { dateQuery, repeatedQuery } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { deleteLocations, LOCATIONS, type Location, upsertLocations } from '../portfolio/locations.ts';
import { checkUpload } from '../portfolio/rows.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { findImpacts, impactsPage, portfolioGaps, readHailPixels } from '../queries/impacts.ts';
import { radarCoverage } from '../queries/radar-coverage.ts';
import { allOwn } from '../records/own-rows.ts';
import { rounded } from '../rules/rounded.ts';
import { flatPrice, readEndpoint, writeEndpoint } from '../server/endpoint.ts';
import { pageQuery, pageStart, readPage } from './owned.ts';

const READ = { group: 'Portfolio', scope: 'portfolio:read' } as const;
const WRITE = { ...READ, scope: 'portfolio:write' } as const;

const createLocations = writeEndpoint({
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

const listLocations = readEndpoint({
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

const deleteLocation = writeEndpoint({
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

const getPortfolioImpacts = readEndpoint({
  route: 'GET /v1/portfolio/impacts',
  ...READ,
  summary: 'Check locations against a day of hail',
  description:
    'Every location of the business with a detection (10 mm or more) of the storm date within one mile, measured to the edge of the pixel. Locations without one are left out: radar_gaps tells of which of them radar saw too little.',
  cacheable: false,
  query: z.object({
    date: dateQuery({ required: true, description: 'Storm date.' }),
    ...pageQuery('Impacts', 50, 500),
  }),
  reply: PortfolioImpacts,
  example: PORTFOLIO_IMPACTS_EXAMPLE,
  price: flatPrice('portfolio.impacts', 20),
  plan: ({ query: { date } }) => ({ dates: [date] }),
  answer: async (call) => {
    const { query, caller, edition, services } = call;
    const { date, limit, cursor } = query;
    const { engine, records, storm_day_start_hour, terrain } = services;
    const { dates } = call.plan;
    // Impacts are in the order of ids, so a cursor is its own place. It must be, or have been, a location of the business.
    const own = { business_id: caller.business_id };
    await pageStart(LOCATIONS, own, call);
    const locations = await allOwn(records.reader, 'portfolio_locations', ['id', 'name', 'lat', 'lon'], own);
    const paths = edition.paths(dayMax.name, dates, { min_size_mm: DETECTION_MIN_MM });
    const [pixels, radar] = await Promise.all([
      readHailPixels(engine, paths, date),
      radarCoverage(engine, edition, date, date, storm_day_start_hour),
    ]);
    const impacts = await findImpacts(locations, pixels);
    const without_data = datesWithoutData(edition, date, date);
    return {
      body: {
        date,
        radius_mi: IMPACT_RADIUS_MI,
        assets_checked: locations.length,
        impacted_count: impacts.length,
        ...(await impactsPage(impacts, date, cursor, limit, terrain.model())),
        radar_gaps: await portfolioGaps(locations, date, without_data, radar.at),
        data_as_of: timestamp(edition.dataAsOf(dates)),
      },
    };
  },
});

export const PORTFOLIO_ENDPOINTS = [createLocations, listLocations, deleteLocation, getPortfolioImpacts];
