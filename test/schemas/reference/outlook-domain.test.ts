import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import test from 'ava';
import { usStates } from '../../../api/rules/geo/us-states.ts';
import { OUTLOOK_DOMAIN } from '../../../schemas/reference/outlook-domain.ts';
import { isValidMultiPolygon } from '../../support/data/valid-multi-polygon.ts';

const OUTSIDE = new Set(['AK', 'HI', 'AS', 'GU', 'MP', 'PR', 'UM', 'VI']);

test('the border of the outlook domain is one simple ring, clockwise', (t) => {
  t.is(isValidMultiPolygon([[OUTLOOK_DOMAIN.toReversed()]]), null);
});

test('the outlook domain holds every position of the outlines of the 48 states', (t) => {
  const domain = { type: 'Polygon' as const, coordinates: [OUTLOOK_DOMAIN] };
  const positions = [...usStates().values()]
    .filter(({ usps }) => !OUTSIDE.has(usps))
    .flatMap(({ polygons }) => polygons.flat(2));
  t.true(positions.length > 5000);
  t.deepEqual(
    positions.filter((position) => !booleanPointInPolygon(position, domain)),
    [],
  );
});
