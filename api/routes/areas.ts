import { z } from 'zod';
import type { Ring } from '../../schemas/geo/rings.ts';
import {
  ANSWERED_POSITIONS_MAX,
  AREA_EXAMPLE,
  AREA_GEOMETRY_EXAMPLE,
  AREA_KINDS,
  AREA_LIMITS,
  AreaChange,
  AreaDeleted,
  AreaGeometry,
  CREATE_AREA_EXAMPLE,
  LIST_AREAS_EXAMPLE,
  MonitoredArea,
  MonitoredAreas,
  NewArea,
  UPDATE_AREA_EXAMPLE,
} from '../../schemas/resources/area.ts';
import { AREAS, type Area, areaUse, changeArea, findArea, insertArea, removeArea } from '../alerts/areas.ts';
import { enumQuery, textQuery } from '../http/decode.ts';
import { ApiError } from '../http/errors.ts';
import { onThread } from '../published/thread.ts';
import { type AreaShape, pointShape, submittedRing } from '../rules/area-geometry.ts';
import { rounded } from '../rules/rounded.ts';
import { flatPrice, readEndpoint, writeEndpoint } from '../server/endpoint.ts';
import { pageQuery, readPage } from './owned.ts';

/** 20,000 positions take 0.5 s of processor time, 1 s on a thread that has just started. */
const shapeOnThread = onThread<Ring, AreaShape | string>({
  module: new URL('../rules/area-geometry.ts', import.meta.url),
  name: 'polygonShape',
  subject: 'the check of a polygon',
  limit_ms: 10_000,
});
const READ = { group: 'Monitored areas', scope: 'areas:read' } as const;
const WRITE = { ...READ, scope: 'areas:write' } as const;
const AREA_ID = z.object({ id: z.string().meta({ description: 'Identifier of the area.' }) });
const sqMi = (area: number) => rounded(area, 1);

const createArea = writeEndpoint({
  route: 'POST /v1/areas',
  ...WRITE,
  summary: 'Create an area',
  description: `Makes a polygon or a point that hail alerts are raised for. A polygon takes its geodesic area of the plan's square miles, a point one. A group of point areas holds ${AREA_LIMITS.group}.`,
  idempotent: true,
  body: NewArea,
  reply: MonitoredArea,
  example: CREATE_AREA_EXAMPLE,
  price: flatPrice('areas.create', 3),
  prepare: async ({ body }) => (body.kind === 'polygon' ? await polygonOf(body.geometry) : pointShape(body.point)),
  write: async ({ body, caller }, writer, shape) => {
    const { kind, name } = body;
    const said =
      body.kind === 'polygon'
        ? { real_time: body.real_time, purpose: body.purpose, group_id: null }
        : { real_time: false, purpose: 'monitoring' as const, group_id: body.group_id ?? null };
    return { body: resourceOf(await insertArea(writer, { kind, name, ...said, shape }, caller.plan.quotas)) };
  },
});

const listAreas = readEndpoint({
  route: 'GET /v1/areas',
  ...READ,
  summary: 'List areas',
  description: 'Areas of the business in pages, the last changed first, and what all of them take of the quotas.',
  query: z.object({
    kind: enumQuery(AREA_KINDS, null, { description: 'Areas of this kind only.' }),
    group_id: textQuery({ max: AREA_LIMITS.group_id, description: 'Areas of this group only.' }),
    ...pageQuery('Areas', 50, 200),
  }),
  reply: MonitoredAreas,
  example: LIST_AREAS_EXAMPLE,
  price: flatPrice('areas.list', 1),
  answer: async (call) => {
    const { business_id } = call.caller;
    const { kind, group_id } = call.query;
    const filter = { ...(kind === null ? {} : { kind }), ...(group_id === null ? {} : { group_id }) };
    const { page, ...rest } = await readPage(AREAS, { business_id }, call, filter);
    const { total_area_sq_mi, ...counts } = await areaUse(call.services.records.reader, business_id);
    const areas = page.map(({ id, kind, name, version, area_sq_mi }) => {
      return { id, kind, name, version, area_sq_mi: sqMi(area_sq_mi) };
    });
    return { body: { areas, ...rest, usage: { ...counts, total_area_sq_mi: sqMi(total_area_sq_mi) } } };
  },
});

const getArea = readEndpoint({
  route: 'GET /v1/areas/{id}',
  ...READ,
  summary: 'An area',
  description: 'The area without its geometry.',
  params: AREA_ID,
  reply: MonitoredArea,
  example: { reply: AREA_EXAMPLE },
  price: flatPrice('areas.get', 1),
  answer: async ({ params: { id }, caller, services: { records } }) => ({
    body: resourceOf(await findArea(records.reader, caller.business_id, id)),
  }),
});

const getAreaGeometry = readEndpoint({
  route: 'GET /v1/areas/{id}/geometry',
  ...READ,
  summary: 'The geometry of an area',
  description: `The ring to be drawn: six decimals, counter-clockwise, simplified to at most ${ANSWERED_POSITIONS_MAX} positions. Hail is matched against the ring as it was submitted.`,
  params: AREA_ID,
  reply: AreaGeometry,
  example: AREA_GEOMETRY_EXAMPLE,
  price: flatPrice('areas.geometry', 1),
  answer: async ({ params: { id }, caller, services: { records } }) => {
    const area = await findArea(records.reader, caller.business_id, id);
    const geometry = area.ring === null ? null : { type: 'Polygon' as const, coordinates: [area.ring] };
    return { body: { geometry, updated_at: area.geometry_at } };
  },
});

const updateArea = writeEndpoint({
  route: 'PATCH /v1/areas/{id}',
  ...WRITE,
  summary: 'Change an area',
  description:
    'Replaces name, geometry of a polygon, or point of a point area, where nobody changed the area since the version that is expected. Its kind never changes. A larger geometry takes the difference of the square miles of the plan.',
  params: AREA_ID,
  body: AreaChange,
  resource: MonitoredArea,
  reply: MonitoredArea,
  refusals: ['version_conflict'],
  example: UPDATE_AREA_EXAMPLE,
  price: flatPrice('areas.update', 3),
  prepare: async ({ body: { geometry, point } }): Promise<AreaShape | undefined> => {
    if (geometry !== undefined && point !== undefined)
      throw new ApiError('bad_request', '/point: is given beside geometry, which areas of another kind have');
    if (geometry !== undefined) return await polygonOf(geometry);
    return point === undefined ? undefined : pointShape(point);
  },
  write: async ({ params: { id }, body: { expected_version, name }, caller }, writer, shape) => ({
    body: resourceOf(await changeArea(writer, id, expected_version, { name, shape }, caller.plan.quotas)),
  }),
});

const deleteArea = writeEndpoint({
  route: 'DELETE /v1/areas/{id}',
  ...WRITE,
  summary: 'Delete an area',
  description: 'Deletes the area, its geometry and its alerts; what it took of the quotas is free again.',
  params: AREA_ID,
  reply: AreaDeleted,
  example: { reply: { success: true, id: AREA_EXAMPLE.id } },
  price: flatPrice('areas.delete', 2),
  write: async ({ params: { id } }, writer) => {
    await removeArea(writer, id);
    return { body: { success: true as const, id } };
  },
});

/** Shape of a polygon area; throws `bad_request` with a pointer to the fault. */
async function polygonOf(geometry: unknown): Promise<AreaShape> {
  const shape = await shapeOnThread(submittedRing(geometry));
  if (typeof shape === 'string') throw new ApiError('bad_request', `/geometry/coordinates/0: ${shape}`);
  return shape;
}

function resourceOf({ ring: _, geometry_at: __, point, ...area }: Area): MonitoredArea {
  const [west, south, east, north] = area.bbox;
  return {
    ...area,
    tags: [...area.tags],
    bbox: [west, south, east, north],
    area_sq_mi: sqMi(area.area_sq_mi),
    point: point === null ? null : { lat: rounded(point.lat, 5), lng: rounded(point.lon, 5) },
  };
}

export const AREA_ENDPOINTS = [createArea, listAreas, getArea, getAreaGeometry, updateArea, deleteArea];
