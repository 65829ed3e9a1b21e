import { feature } from 'topojson-client';
import topology from 'us-atlas/states-10m.json' with { type: 'json' };
import { fillPolygons, type PixelRuns } from '../../../schemas/geo/fill.ts';
import { WHOLE_LATTICE } from '../../../schemas/geo/lattice.ts';
import type { Bbox } from '../../../schemas/geo/position.ts';
import type { MultiPolygon } from '../../../schemas/geo/rings.ts';
import { USPS_OF_FIPS } from '../../../schemas/reference/state-codes.ts';
import { boxOf } from '../areas.ts';

/** The minor outlying islands (UM) have a code but no outline: from Jarvis to Midway, from Baker to Wake and Navassa. */
const OUTLYING: UsState = { usps: 'UM', fips: '74', name: 'U.S. Minor Outlying Islands', polygons: [] };
const OUTLYING_BOX: Bbox = [-177.4, -0.4, 166.7, 28.4];

/** A state, district or territory; outlines `[lon, lat]`, generalised to about 1:10 million. */
type UsState = Readonly<Record<'usps' | 'fips' | 'name', string> & { polygons: MultiPolygon }>;

let loaded: ReadonlyMap<string, UsState> | null = null;
const filled = new Map<string, PixelRuns>();

/** Every state by USPS code, unpacked on first use. Source: U.S. Census Bureau through us-atlas 3. */
export function usStates(): ReadonlyMap<string, UsState> {
  loaded ??= new Map([...unpack(), OUTLYING].map((state) => [state.usps, state]));
  return loaded;
}

function unpack(): UsState[] {
  return feature(topology, topology.objects.states).features.map(({ id, properties, geometry }) => {
    const fips = String(id);
    const usps = USPS_OF_FIPS.get(fips);
    if (usps === undefined) throw new RangeError(`outline has the FIPS code '${fips}', expected one of a state`);
    const polygons = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates;
    return { usps, fips, name: properties.name, polygons };
  });
}

/** State of a USPS code; throws RangeError for a code without one. */
function usState(usps: string): UsState {
  const state = usStates().get(usps);
  if (state === undefined) throw new RangeError(`state is '${usps}', expected a USPS code`);
  return state;
}

/** Smallest box around a state; Alaska's runs from its far west to 180 E, as its outline does. */
export function stateBox(usps: string): Bbox {
  const { polygons } = usState(usps);
  return polygons.length === 0 ? OUTLYING_BOX : boxOf(polygons);
}

/** Pixels of the lattice that belong to a state: those whose centre its outline holds. Neighbours share no pixel. */
export function statePixels(usps: string): PixelRuns {
  const runs = filled.get(usps) ?? fillPolygons(usState(usps).polygons, WHOLE_LATTICE);
  filled.set(usps, runs);
  return runs;
}
