import { z } from 'zod';

/** A GeoJSON polygon: shell counter-clockwise, holes clockwise, longitude before latitude, 6 decimals. */
export const PolygonGeometry = z
  .object({ type: z.literal('Polygon'), coordinates: z.array(z.array(z.array(z.number()))) })
  .meta({ description: 'GeoJSON Polygon, longitude before latitude, shell counter-clockwise.' });
export type PolygonGeometry = z.infer<typeof PolygonGeometry>;

/** The same of several polygons. */
export const MultiPolygonGeometry = z
  .object({ type: z.literal('MultiPolygon'), coordinates: z.array(z.array(z.array(z.array(z.number())))) })
  .meta({ description: 'GeoJSON MultiPolygon, longitude before latitude, shells counter-clockwise.' });

/** Media type of GeoJSON. */
export const GEOJSON_TYPE = 'application/geo+json';
