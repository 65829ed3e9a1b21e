import { z } from 'zod';
import {
  IMPACT_RADIUS_MI,
  PORTFOLIO_IMPACTS_EXAMPLE,
  PortfolioImpacts,
} from '../../schemas/resources/portfolio-impact.ts';
import { DETECTION_MIN_MM } from '../../schemas/size.ts';
import { dayMax } from '../../schemas/tables/radar.ts';
import { timestamp } from '../../schemas/time.ts';
import { dateQuery } from '../http/decode.ts';
import { LOCATIONS } from '../portfolio/locations.ts';
import { datesWithoutData } from '../queries/dates-without-data.ts';
import { findImpacts, impactsPage, portfolioGaps, readHailPixels } from '../queries/impacts.ts';
import { radarCoverage } from '../queries/radar-coverage.ts';
import { allOwn } from '../records/own-rows.ts';
import { flatPrice, readEndpoint } from '../server/endpoint.ts';
import { pageQuery, pageStart } from './owned.ts';

export const getPortfolioImpacts = readEndpoint({
  route: 'GET /v1/portfolio/impacts',
  group: 'Portfolio',
  summary: 'Check locations against a day of hail',
  description:
    'Every location of the business with a detection (10 mm or more) of the storm date within one mile, measured to the edge of the pixel. Locations without one are left out: radar_gaps tells of which of them radar saw too little.',
  scope: 'portfolio:read',
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
