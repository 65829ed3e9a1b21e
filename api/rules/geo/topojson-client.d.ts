/** Types of the used part of topojson-client; the package has none. */
declare module 'topojson-client' {
  import type { FeatureCollection, MultiLineString, MultiPolygon, Polygon } from 'geojson';

  /** Features of a geometry collection. */
  export function feature(
    topology: object,
    collection: object,
  ): FeatureCollection<Polygon | MultiPolygon, { name: string }>;
  /** Lines between its geometries, each once: those that pass the filter. */
  export function mesh(
    topology: object,
    collection: object,
    filter?: (a: object, b: object) => boolean,
  ): MultiLineString;
}
