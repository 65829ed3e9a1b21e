import { boxAround } from '../../schemas/geo/around.ts';
import { isOnLattice } from '../../schemas/geo/lattice.ts';
import { boxesMeet, type Position } from '../../schemas/geo/position.ts';
import { isInOutlookDomain } from '../../schemas/reference/outlook-domain.ts';
import { boxOf } from './areas.ts';
import { usStates } from './geo/us-states.ts';

/** Note for a place where no radar data can exist. */
export const OFF_RADAR =
  'The point lies outside the published area, 20 to 55 N and 130 to 60 W: no data can exist there.';

const NOTES = {
  radar: OFF_RADAR,
  outlooks: 'The point lies outside the 48 states that convective outlooks are made for: they say nothing of it.',
  warnings: 'The point lies outside of the United States: the National Weather Service warns of nothing there.',
} as const;

/** What knows something of a place, and whether it does. A warning counts within a radius of the place. */
const COVERS: Readonly<Record<keyof typeof NOTES, (place: Position, radius_km: number) => boolean>> = {
  radar: isOnLattice,
  outlooks: isInOutlookDomain,
  warnings: (place, radius_km) => isInOutlookDomain(place) || isNearState(place, radius_km),
};

/** Why a source can know nothing of a place, whatever the time; null where it can. */
export function outsideNote(source: keyof typeof NOTES, place: Position, radius_km = 0): string | null {
  return COVERS[source](place, radius_km) ? null : NOTES[source];
}

/** True where the box around a part of a state or territory comes that near. */
function isNearState(place: Position, radius_km: number): boolean {
  const reach = boxAround(place, radius_km);
  return usStates()
    .values()
    .some(({ polygons }) => polygons.some((polygon) => boxesMeet(boxOf([polygon]), reach)));
}
