import { type Bbox, boxRing, enclosing } from '../../schemas/geo/position.ts';
import type { MultiPolygon } from '../../schemas/geo/rings.ts';
import type { Watch } from '../../schemas/tables/feeds.ts';
import { hasGeometry, polygonsOf } from './areas.ts';
import { stateBox, usStates } from './geo/us-states.ts';
import { CONUS_BOX } from './region.ts';

type WatchPlace = Pick<Watch, 'areas' | 'geometry' | 'west' | 'south' | 'east' | 'north'>;

/**
 * Box of a watch or discussion: that of its outline; without one, that of the states that its text names; without any, CONUS,
 * so that every question finds a watch whose area is not known.
 */
export function watchBox({ areas, west, south, east, north }: WatchPlace): Bbox {
  if (west !== null && south !== null && east !== null && north !== null) return [west, south, east, north];
  return enclosing(statesIn(areas ?? '').map(stateBox)) ?? CONUS_BOX;
}

/** Area of a watch: its outline, or its box. */
export function watchPolygons(watch: WatchPlace): MultiPolygon {
  return hasGeometry(watch) ? polygonsOf(watch) : [[boxRing(watchBox(watch))]];
}

/** Codes of the states that a text names: `NE SD`, or names in words. Two letters within words are none (`IN`, `OR`). */
function statesIn(areas: string): string[] {
  const states = [...usStates().values()].filter(({ polygons }) => polygons.length > 0);
  if (/^[A-Z]{2}( [A-Z]{2})*$/.test(areas)) {
    const codes = new Set(areas.split(' '));
    return states.filter(({ usps }) => codes.has(usps)).map(({ usps }) => usps);
  }
  let rest = areas;
  // The longest first: West Virginia before Virginia.
  return states
    .toSorted((a, b) => b.name.length - a.name.length)
    .filter(({ name }) => {
      const without = rest.replaceAll(new RegExp(`\\b${name}\\b`, 'gi'), '');
      const is_named = without !== rest;
      rest = without;
      return is_named;
    })
    .map(({ usps }) => usps);
}
