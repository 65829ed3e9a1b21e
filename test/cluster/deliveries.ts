import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { openEngine, sqlList } from '../../pipeline/duckdb.ts';
import { readCurrent, tablePaths } from '../../pipeline/publish/manifests.ts';
import { distanceKm } from '../../schemas/geo/distance.ts';
import type { Position } from '../../schemas/geo/position.ts';
import { detections } from '../../schemas/tables/radar.ts';
import { manifestsInForce } from '../support/data/content.ts';

/** A circle that a business watches; its receiver has the path `/place/<number>`. */
export interface Place extends Position {
  readonly number: number;
}
export const RADIUS_KM = 20;
export const MIN_SIZE_MM = 20;

/** Events beside what the receiver had. */
export interface DeliveryCheck {
  /** Places that hail reached, and events that it had to raise. */
  readonly expected: number;
  readonly lost: number;
  /** Events that reached the receiver under two ids. */
  readonly doubled: number;
  /** Requests that repeated an event under its id, as receivers are told to expect. */
  readonly repeated: number;
}

interface Received {
  readonly id: string;
  readonly path: string;
  readonly body: string;
}

/** Compares the requests of a receiver with the published hail: each place that hail reached has one alert, for it and for the webhook. */
export async function checkDeliveries(
  root: string,
  places: readonly Place[],
  database: pg.Client,
  folder: string,
): Promise<DeliveryCheck> {
  const hit = await placesHit(root, places);
  const lines = (await readFile(join(folder, 'received.jsonl'), 'utf8')).trimEnd().split('\n');
  const received = lines.map((line): Received => JSON.parse(line));
  const { rows } = await database.query<{ undelivered: number }>(
    "select count(*)::int as undelivered from messages where state <> 'delivered'",
  );
  const ids = new Map<string, Set<string>>();
  for (const { id, path, body } of received) {
    const { event, data } = JSON.parse(body);
    const key = `${path} ${event} ${data.location_name}`;
    ids.set(key, (ids.get(key) ?? new Set()).add(id));
  }
  const keys = [...hit].flatMap((number) =>
    [`/place/${number}`, '/all'].map((path) => `${path} alert.created ${number}`),
  );
  const missing = keys.filter((key) => !ids.has(key)).length;
  const unasked = [...ids.keys()].filter((key) => !hit.has(Number(key.split(' ')[2]))).length;
  const twice = [...ids.values()].reduce((sum, each) => sum + each.size - 1, 0);
  return {
    expected: keys.length,
    lost: missing + (rows[0]?.undelivered ?? 0),
    doubled: twice + unasked,
    repeated: received.length - new Set(received.map(({ id }) => id)).size,
  };
}

/** Numbers of the places with hail of the size inside their circle, by the published detections. */
async function placesHit(root: string, places: readonly Place[]): Promise<ReadonlySet<number>> {
  const dates = await manifestsInForce(root, await readCurrent(root));
  const paths = dates
    .filter(({ closed }) => !closed)
    .flatMap((manifest) => tablePaths(root, manifest, detections.name));
  const engine = await openEngine();
  try {
    const hail = await engine.rows<Position>(
      `SELECT lat, lon FROM read_parquet(${sqlList(paths)}) WHERE estimated_size_mm >= ${MIN_SIZE_MM}`,
    );
    const hit = places.filter((place) => hail.some((at) => distanceKm(place, at) <= RADIUS_KM));
    return new Set(hit.map(({ number }) => number));
  } finally {
    engine.close();
  }
}
