import fc from 'fast-check';
import type { MultiPolygon, Ring } from '../../../schemas/geo/rings.ts';
import { findConflicts } from '../../../schemas/geo/validity.ts';

/** Positions of `-98 35, -97 35`. */
export function positionsOf(text: string): number[][] {
  return text.split(', ').map((position) => position.split(' ').map(Number));
}

type Place = readonly [lon: number, lat: number];

/** A star around a place: as many arms as radii, degrees. */
export function starRing([lon, lat]: Place, radii: readonly number[]): Ring {
  const ring = radii.map((radius, i) => {
    const angle = (2 * Math.PI * i) / radii.length;
    return [lon + radius * Math.cos(angle), lat + radius * Math.sin(angle)];
  });
  return [...ring, [...(ring[0] as number[])]];
}

/** A band along a polyline that runs from west to east: its south edge there, its north edge back. */
export function bandRing(line: readonly Place[], width: number): Ring {
  const south = line.map(([lon, lat]) => [lon, lat]);
  const north = line.map(([lon, lat]) => [lon, lat + width]).reverse();
  return [...south, ...north, [...(south[0] as number[])]];
}

/** A band of 4,560 vertices, 0.03 degrees from south to north, that swings 0.6 degrees up and down two hundred times on its way east. */
export function corridorRing([west, south]: Place): Ring {
  const line = Array.from({ length: 2_280 }, (_, k): Place => {
    const share = k / 2_279;
    return [west + 4 * share, south + 0.3 + 0.3 * Math.sin(400 * Math.PI * share)];
  });
  return bandRing(line, 0.03);
}

/** A comb: a back 9 degrees long, and on it teeth of 0.012 degrees, 0.018 apart, a degree high. */
export function combRing([west, south]: Place, teeth = 300): Ring {
  const tops = Array.from({ length: teeth }, (_, k) => {
    const [left, right] = [west + 0.03 * k, west + 0.03 * k + 0.012];
    return [left, right].flatMap((lon, side) => {
      const ends = [south + 0.05, south + 1.05].map((lat) => [lon, lat]);
      return side === 0 ? ends : ends.toReversed();
    });
  }).flat();
  const east = (tops.at(-1) as number[])[0] as number;
  return [[east, south], [west, south], ...tops, [east, south]];
}

const vertexCount = { minLength: 3, maxLength: 60 };
const centre = fc.tuple(fc.double({ min: -120, max: -71, noNaN: true }), fc.double({ min: 29, max: 45, noNaN: true }));

const star = fc
  .tuple(centre, fc.array(fc.double({ min: 0.05, max: 4, noNaN: true }), vertexCount))
  .map(([place, radii]) => starRing(place, radii));

const band = fc
  .tuple(
    fc.array(fc.tuple(fc.double({ min: 0.01, max: 0.5, noNaN: true }), fc.double({ min: 26, max: 48, noNaN: true })), {
      minLength: 2,
      maxLength: 80,
    }),
    fc.double({ min: 0.001, max: 1, noNaN: true }),
  )
  .map(([steps, width]) => {
    let lon = -124;
    return bandRing(
      steps.map(([step, lat]) => {
        lon += step;
        return [lon, lat];
      }),
      width,
    );
  });

/** Closed rings in CONUS that neither cross nor touch themselves, wound either way. */
export const simpleRing: fc.Arbitrary<Ring> = fc
  .tuple(fc.oneof(star, band), fc.boolean())
  .map(([ring, isReversed]) => (isReversed ? ring.toReversed() : ring));
/** Why a MultiPolygon is not valid; null when it is. */
export function isValidMultiPolygon(polygons: MultiPolygon): string | null {
  return findConflicts(polygons)[0]?.reason ?? null;
}
