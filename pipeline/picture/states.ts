import { feature, mesh } from 'topojson-client';
import topology from 'us-atlas/states-10m.json' with { type: 'json' };
import type { MultiPolygon } from '../../schemas/geo/rings.ts';

/** One state, District or territory of the United States; `[lon, lat]`. */
export interface State {
  readonly name: string;
  readonly polygons: MultiPolygon;
}

/** Outlines for a basemap, generalised to about 1:10 million. Source: U.S. Census Bureau through us-atlas 3. */
export type States = ReturnType<typeof unpack>;

let loaded: States | null = null;

/** State outlines, decoded on first use. */
export function loadStates(): States {
  loaded ??= unpack();
  return loaded;
}

function unpack() {
  const { states } = topology.objects;
  return {
    states: feature(topology, states).features.map(
      ({ properties, geometry }): State => ({
        name: properties.name,
        polygons: geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates,
      }),
    ),
    /** Lines between two states, each once. */
    borders: mesh(topology, states, (a, b) => a !== b).coordinates,
    /** Coasts and borders to other countries. */
    coasts: mesh(topology, states, (a, b) => a === b).coordinates,
  };
}
