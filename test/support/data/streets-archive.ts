import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { Feature, Position } from 'geojson';
import GeoJSONVT, { type LegacyTile } from 'geojson-vt';
import { type ArchiveTile, gzip, writePmtiles } from '../../../schemas/geo/pmtiles.ts';

const EXTENT = 4096;
const MAX_ZOOM = 12;

function box([west, south]: Position, size_deg: number): Position[][] {
  const [lon, lat] = [west as number, south as number];
  const ring = [
    [lon, lat],
    [lon + size_deg, lat],
    [lon + size_deg, lat + size_deg],
    [lon, lat + size_deg],
    [lon, lat],
  ];
  return [ring];
}

/** A small archive as Protomaps lays its layers out: a square of land with a pond, a motorway and a town in its middle. */
export function streetsArchive({ lon, lat, town }: { lon: number; lat: number; town: string }): Uint8Array {
  const feature = (geometry: Feature['geometry'], properties: Feature['properties']): Feature => ({
    type: 'Feature',
    geometry,
    properties,
  });
  const layers: Readonly<Record<string, Feature>> = {
    earth: feature({ type: 'Polygon', coordinates: box([lon - 0.5, lat - 0.5], 1) }, { kind: 'earth' }),
    water: feature({ type: 'Polygon', coordinates: box([lon + 0.05, lat - 0.05], 0.05) }, { kind: 'lake' }),
    roads: feature(
      {
        type: 'LineString',
        coordinates: [
          [lon - 0.4, lat - 0.03],
          [lon + 0.4, lat - 0.03],
        ],
      },
      { kind: 'highway', kind_detail: 'motorway', name: 'Test Turnpike', min_zoom: 3 },
    ),
    places: feature(
      { type: 'Point', coordinates: [lon, lat] },
      { kind: 'locality', name: town, population_rank: 11, min_zoom: 4 },
    ),
  };
  const tiles = new Map<string, { z: number; x: number; y: number; layers: Record<string, LegacyTile> }>();
  for (const [name, content] of Object.entries(layers)) {
    const index = new GeoJSONVT(
      { type: 'FeatureCollection', features: [content] },
      { maxZoom: MAX_ZOOM, indexMaxZoom: MAX_ZOOM, indexMaxPoints: 0, extent: EXTENT },
    );
    for (const { z, x, y } of index.tileCoords) {
      const tile = index.getTile(z, x, y);
      if (tile === null) continue;
      const filled = tiles.get(`${z}/${x}/${y}`) ?? { z, x, y, layers: {} };
      filled.layers[name] = tile;
      tiles.set(`${z}/${x}/${y}`, filled);
    }
  }
  return writePmtiles({
    tiles: [...tiles.values()].map(
      ({ z, x, y, layers }): ArchiveTile => ({
        z,
        x,
        y,
        data: gzip(fromGeojsonVt(layers, { version: 2, extent: EXTENT })),
      }),
    ),
    metadata: { name: 'streets', vector_layers: Object.keys(layers).map((id) => ({ id, fields: {} })) },
    bounds: [lon - 0.5, lat - 0.5, lon + 0.5, lat + 0.5],
    center: { lon, lat, zoom: 9 },
    minZoom: 0,
    maxZoom: MAX_ZOOM,
  });
}
