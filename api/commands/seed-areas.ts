import { z } from 'zod';
import { AREA_LIMITS, AREA_PRIORITIES, AREA_PURPOSES } from '../../schemas/resources/area.ts';
import type { AreaToMake } from '../alerts/areas.ts';
import {
  type AreaShape,
  type GeometryFault,
  isFault,
  pointShape,
  polygonShape,
  submittedRing,
} from '../rules/area-geometry.ts';

const text = (most: number) =>
  z
    .string()
    .refine((given) => given.trim() !== '' && [...given].length <= most, `expected 1 to ${most} characters, not blank`);

const Point = z.object({ type: z.literal('Point'), coordinates: z.tuple([z.number(), z.number()], z.number()) });

/** An area: its GeoJSON geometry, which decides its kind, and the fields that an operator sets. */
const SeedArea = z
  .strictObject({
    name: text(AREA_LIMITS.name),
    geometry: z.unknown(),
    description: text(AREA_LIMITS.description).nullable().default(null),
    tags: z.array(text(AREA_LIMITS.tag)).max(AREA_LIMITS.tags).default([]),
    priority: z.enum(AREA_PRIORITIES).default('normal'),
    real_time: z.boolean().default(false),
    purpose: z.enum(AREA_PURPOSES).default('monitoring'),
    group_id: text(AREA_LIMITS.group_id).nullable().default(null),
  })
  .transform(({ geometry, ...said }, context): AreaToMake => {
    const point = Point.safeParse(geometry);
    const kind = point.success ? 'point' : 'polygon';
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (kind === 'polygon' && said.group_id !== null) fault('group_id', 'is of point areas only');
    if (kind === 'point' && said.real_time) fault('real_time', 'is of polygon areas only');
    if (kind === 'point' && said.purpose !== 'monitoring') fault('purpose', 'is of polygon areas only');
    const shape = point.success ? shapeOfPoint(point.data) : shapeOfPolygon(geometry);
    if (!isFault(shape)) return { ...said, kind, shape };
    fault('geometry', `${shape.pointer}${shape.pointer === '' ? '' : ' '}${shape.reason}`);
    return z.NEVER;
  });

/** Areas of a business in a seed file: a list of them, or a GeoJSON FeatureCollection with their fields as properties. */
export const SeedAreas = z.preprocess(featuresAsAreas, z.array(SeedArea).default([]));

function shapeOfPoint({ coordinates: [lon, lat] }: z.infer<typeof Point>): AreaShape | GeometryFault {
  return pointShape({ lat, lon });
}

function shapeOfPolygon(geometry: unknown): AreaShape | GeometryFault {
  const ring = submittedRing(geometry);
  return isFault(ring) ? ring : polygonShape(ring);
}

function featuresAsAreas(given: unknown): unknown {
  const collection = z
    .object({ type: z.literal('FeatureCollection'), features: z.array(z.unknown()) })
    .safeParse(given);
  if (!collection.success) return given;
  return collection.data.features.map((value) => {
    const feature = z
      .object({ type: z.literal('Feature'), geometry: z.unknown(), properties: z.record(z.string(), z.unknown()) })
      .safeParse(value);
    return feature.success ? { ...feature.data.properties, geometry: feature.data.geometry } : value;
  });
}
