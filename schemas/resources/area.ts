import { z } from 'zod';
import { boxRing } from '../geo/position.ts';
import * as wire from './fields.ts';
import { PolygonGeometry } from './geometry.ts';

export const AREA_KINDS = ['polygon', 'point'] as const;
const AREA_PURPOSES = ['monitoring', 'canvassing', 'both'] as const;
const AREA_PRIORITIES = ['low', 'normal', 'high', 'critical'] as const;

/** Limits of the texts of an area, in characters (code points), and of a group, in areas. */
export const AREA_LIMITS = { name: 100, group_id: 64, description: 1000, tags: 20, tag: 64, group: 8 } as const;

/** Most positions of a submitted ring and of a ring in an answer, first and last both counted. */
export const SUBMITTED_POSITIONS_MAX = 20_000;
export const ANSWERED_POSITIONS_MAX = 499;

/** A text of 1 to `most` characters (code points), not blank. */
const label = (most: number, description: string) =>
  z
    .string()
    .refine((text) => text.trim() !== '' && [...text].length <= most, `expected 1 to ${most} characters, not blank`)
    .meta({ description, minLength: 1, maxLength: most });

const name = () => label(AREA_LIMITS.name, 'Name, not blank.');

/** Any value passes: `api/rules/area-geometry.ts` checks it and gives the reason of a refusal. The OpenAPI document describes this shape. */
const geometry = () =>
  z
    .custom((value) => value !== undefined, 'is missing, expected a GeoJSON Polygon')
    .meta({
      description: `GeoJSON Polygon with an outer ring only, in CONUS, at most ${SUBMITTED_POSITIONS_MAX} positions, closed, that neither crosses nor touches itself. Hail is matched against this ring, with six decimals; answers show it simplified to at most ${ANSWERED_POSITIONS_MAX} positions.`,
      override: {
        type: 'object',
        properties: {
          type: { type: 'string', const: 'Polygon' },
          coordinates: {
            type: 'array',
            minItems: 1,
            maxItems: 1,
            items: {
              type: 'array',
              minItems: 4,
              maxItems: SUBMITTED_POSITIONS_MAX,
              items: { type: 'array', minItems: 2, maxItems: 3, items: { type: 'number' } },
            },
          },
        },
        required: ['type', 'coordinates'],
      },
    });

/** A place in a request. */
const AreaPoint = z
  .object({
    lat: z.number().meta({ description: 'Latitude, 24 to 50.', unit: 'deg', minimum: 24, maximum: 50 }),
    lng: z
      .number()
      .optional()
      .meta({ description: 'Longitude, -125 to -66.', unit: 'deg', minimum: -125, maximum: -66 }),
    lon: z.number().optional().meta({ description: 'The same under its other name.', unit: 'deg' }),
  })
  .transform(({ lat, lng, lon }, context) => {
    const given = [lng, lon].filter((value) => value !== undefined);
    const [only] = given;
    if (only !== undefined && given.length === 1) return { lat, lon: only };
    const message = given.length === 0 ? 'is missing, expected number' : 'is given as lng and as lon';
    context.addIssue({ code: 'custom', path: ['lng'], message, input: only });
    return z.NEVER;
  });

const ofOther = (kind: (typeof AREA_KINDS)[number]) =>
  z
    .undefined({ error: `is of ${kind} areas only` })
    .optional()
    .meta({ override: { not: {} } });

/** Request that makes an area. */
export const NewArea = z
  .discriminatedUnion('kind', [
    z.object({
      kind: z.literal('polygon'),
      name: name(),
      geometry: geometry(),
      real_time: z
        .boolean()
        .default(false)
        .meta({ description: 'Matched first in each scan; counts against the quota of real-time polygons.' }),
      purpose: z
        .enum(AREA_PURPOSES)
        .default('monitoring')
        .meta({ description: 'Areas for canvassing raise no alerts.' }),
      point: ofOther('point'),
      group_id: ofOther('point'),
    }),
    z.object({
      kind: z.literal('point'),
      name: name(),
      point: AreaPoint,
      group_id: label(AREA_LIMITS.group_id, `Groups sub-zones, at most ${AREA_LIMITS.group} of them.`).optional(),
      geometry: ofOther('polygon'),
      real_time: ofOther('polygon'),
      purpose: ofOther('polygon'),
    }),
  ])
  .meta({ id: 'NewArea' });

/** Request that changes an area. */
export const AreaChange = z
  .object({
    expected_version: z.int().meta({ description: 'Version that the change is made to.' }),
    name: name().optional(),
    geometry: geometry().optional(),
    point: AreaPoint.nullish().transform((point) => point ?? undefined),
  })
  .refine(({ name, geometry, point }) => [name, geometry, point].some((value) => value !== undefined), {
    error: 'nothing to change, expected name, geometry or point',
  })
  .meta({ id: 'AreaChange' });

const areaSqMi = (what: string) => wire.number(what, 'mi2');

/** A polygon or point that a business watches, without its geometry. */
export const MonitoredArea = wire.resource('MonitoredArea', {
  id: z.string().meta({ description: 'Identifier, `area_` and a ULID.' }),
  kind: z.enum(AREA_KINDS).meta({ description: 'Never changes.' }),
  name: z.string().meta({ description: 'Label, at most 100 characters.' }),
  description: z.string().nullable().meta({ description: 'Set by the operator.' }),
  tags: z.array(z.string()).meta({ description: 'Set by the operator.' }),
  priority: z.enum(AREA_PRIORITIES).meta({ description: 'Set by the operator.' }),
  group_id: z.string().nullable().meta({ description: 'Group of a point area; null for polygons.' }),
  real_time: z.boolean().meta({ description: 'Matched first in each scan; false for points.' }),
  purpose: z.enum(AREA_PURPOSES).meta({ description: 'Areas for canvassing raise no alerts; monitoring for points.' }),
  bbox: z
    .tuple([z.number(), z.number(), z.number(), z.number()])
    .meta({ description: 'minLon, minLat, maxLon, maxLat; of a point the point itself.', unit: 'deg' }),
  centroid_geohash4: z.string().meta({ description: 'Four-character geohash of the centre of gravity.' }),
  area_sq_mi: areaSqMi('Geodesic area of the ring as it was submitted; 1 for a point.'),
  version: z.int().positive().meta({ description: 'Rises by 1 with each change.' }),
  point: z
    .object({ lat: wire.lat(), lng: wire.lon() })
    .nullable()
    .meta({ description: 'The point of a point area; null for polygons.' }),
  created_at: wire.written('When the area was made.'),
  updated_at: wire.written('When it was last changed.'),
});
export type MonitoredArea = z.infer<typeof MonitoredArea>;

/** An area in a list. */
const AreaSummary = MonitoredArea.pick({
  id: true,
  kind: true,
  name: true,
  area_sq_mi: true,
  version: true,
}).meta({ id: 'AreaSummary' });

/** Share of a business's quotas that its areas use. */
const AreaUsage = wire.resource('AreaUsage', {
  polygon_count: wire.count('Polygons of the business.'),
  point_count: wire.count('Point areas of the business.'),
  real_time_polygon_count: wire.count('Real-time polygons of the business.'),
  total_area_sq_mi: areaSqMi('Area of all of them; overlaps count twice.'),
});

/** A page of a business's areas. */
export const MonitoredAreas = wire.resource('MonitoredAreas', {
  areas: z.array(AreaSummary).meta({ description: 'The last changed first.' }),
  count: wire.count('Areas on this page.'),
  next_cursor: z.string().nullable().meta({ description: 'Cursor of the next page; null on the last one.' }),
  usage: AreaUsage.meta({ description: 'Of all areas of the business, whatever the question.' }),
});
export type MonitoredAreas = z.infer<typeof MonitoredAreas>;

/** Geometry of an area. */
export const AreaGeometry = wire.resource('AreaGeometry', {
  geometry: PolygonGeometry.nullable().meta({ description: 'Null for point areas.' }),
  updated_at: wire.written('When the geometry, or the point, was last replaced.'),
});
export type AreaGeometry = z.infer<typeof AreaGeometry>;

/** Outcome of a deletion. */
export const AreaDeleted = wire.resource('AreaDeleted', {
  success: z.literal(true),
  id: z.string().meta({ description: 'Id of the area that is gone.' }),
});

const EXAMPLE_BBOX = [-97.6, 35.3, -97.4, 35.5] as const;
const EXAMPLE_GEOMETRY = { type: 'Polygon' as const, coordinates: [boxRing(EXAMPLE_BBOX)] };

export const AREA_EXAMPLE: MonitoredArea = {
  id: 'area_01KAJ3W9QZ6R8V2T4X5Y7A9B0C',
  kind: 'polygon',
  name: 'Oklahoma City south',
  description: null,
  tags: [],
  priority: 'normal',
  group_id: null,
  real_time: true,
  purpose: 'monitoring',
  bbox: [...EXAMPLE_BBOX],
  centroid_geohash4: '9y69',
  area_sq_mi: 155.7,
  version: 1,
  point: null,
  created_at: '2026-05-01T20:15:04.120Z',
  updated_at: '2026-05-01T20:15:04.120Z',
};

export const CREATE_AREA_EXAMPLE: wire.Example<typeof MonitoredArea> = {
  body: { kind: 'polygon', name: AREA_EXAMPLE.name, geometry: EXAMPLE_GEOMETRY, real_time: true },
  reply: AREA_EXAMPLE,
};

export const LIST_AREAS_EXAMPLE: wire.Example<typeof MonitoredAreas> = {
  query: { limit: '1' },
  reply: {
    areas: [AreaSummary.parse(AREA_EXAMPLE)],
    count: 1,
    next_cursor: null,
    usage: {
      polygon_count: 1,
      point_count: 0,
      real_time_polygon_count: 1,
      total_area_sq_mi: AREA_EXAMPLE.area_sq_mi,
    },
  },
};

export const AREA_GEOMETRY_EXAMPLE: wire.Example<typeof AreaGeometry> = {
  reply: { geometry: EXAMPLE_GEOMETRY, updated_at: AREA_EXAMPLE.updated_at },
};

export const UPDATE_AREA_EXAMPLE: wire.Example<typeof MonitoredArea> = {
  body: { expected_version: 1, name: 'Oklahoma City south-west' },
  reply: { ...AREA_EXAMPLE, name: 'Oklahoma City south-west', version: 2, updated_at: '2026-05-01T21:03:11.480Z' },
};
