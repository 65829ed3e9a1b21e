import { ENDPOINTS } from '../../../api/routes/index.ts';
import { boxRing } from '../../../schemas/geo/position.ts';
import type { AreaGeometry, MonitoredArea, MonitoredAreas } from '../../../schemas/resources/area.ts';
import { positionsOf } from '../data/rings.ts';
import type { CallInit, RunningService } from './service.ts';

export const AREAS = '/v1/areas';
export const AREA_ENDPOINTS = ENDPOINTS.filter(({ path }) => path.startsWith(AREAS));

/** A square of a degree in Oklahoma, counter-clockwise. */
export const SQUARE = positionsOf('-97 35, -96 35, -96 36, -97 36, -97 35') as [lon: number, lat: number][];
/** Its geodesic area. */
export const SQUARE_SQ_MI = 3886.6;

/** A GeoJSON Polygon. */
export function polygonOf(...rings: readonly unknown[]) {
  return { type: 'Polygon', coordinates: rings };
}

/** A square of so many degrees with its south-west corner at a place. */
export function squareAt(lon: number, lat: number, side = 0.1) {
  return polygonOf(boxRing([lon, lat, lon + side, lat + side]));
}

/** Body of a polygon that is accepted. */
export function polygonBody(changes: Record<string, unknown> = {}) {
  return { kind: 'polygon', name: 'yard', geometry: squareAt(-97, 35), ...changes };
}

/** Body of a point that is accepted. */
export function pointBody(changes: Record<string, unknown> = {}) {
  return { kind: 'point', name: 'mast', point: { lat: 35.4676, lng: -97.5164 }, ...changes };
}

/** What a call needs to send JSON. */
export function sendingJson(method: 'POST' | 'PATCH', body: unknown, headers: Record<string, string> = {}) {
  return { method, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...headers } };
}

/** Makes an area that is expected to be accepted. */
export async function makeArea(service: RunningService, body: unknown, init: CallInit = {}): Promise<MonitoredArea> {
  const response = await service.call(AREAS, { ...sendingJson('POST', body), ...init });
  if (response.status !== 200) throw new Error(`POST ${AREAS} answers ${response.status} ${await response.text()}`);
  return (await response.json()) as MonitoredArea;
}

/** Changes an area; the answer, whatever it is. */
export async function changeArea(service: RunningService, id: string, body: unknown, init: CallInit = {}) {
  return await answerOf(service.call(`${AREAS}/${id}`, { ...sendingJson('PATCH', body), ...init }));
}

/** Status and body of an answer. */
export async function answerOf(call: Promise<Response>) {
  const response = await call;
  const body = (await response.json()) as Partial<MonitoredArea> & { error?: string; message?: string };
  return { status: response.status, body, headers: response.headers };
}

export async function listAreas(service: RunningService, query = '', init: CallInit = {}): Promise<MonitoredAreas> {
  return (await service.json(`${AREAS}${query}`, init)) as MonitoredAreas;
}

export async function geometryOf(service: RunningService, id: string): Promise<AreaGeometry> {
  return (await service.json(`${AREAS}/${id}/geometry`)) as AreaGeometry;
}
