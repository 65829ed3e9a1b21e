import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../support/kill/command.ts';
import type { Cluster } from './cluster.ts';
import { MIN_SIZE_MM, type Place, RADIUS_KM } from './deliveries.ts';
import { BOX } from './weather.ts';

const BUSINESSES = 3;
const KEYS = 2;
/** Places of each business: a grid over the box of the storms. */
const PLACES = 25;

/** What the load is made with. */
export interface Prepared {
  readonly keys: readonly string[];
  readonly places: readonly Place[];
}

/** Makes businesses with keys, a webhook for all events of each, and places that they watch. */
export async function prepare(cluster: Cluster, folder: string): Promise<Prepared> {
  const keys = await seed(cluster, folder);
  const places: Place[] = [];
  for (let business = 0; business < BUSINESSES; business++) {
    const key = keys[business * KEYS] ?? '';
    await post(cluster, key, '/v1/webhooks', { url: `${cluster.receiver_url}/all` });
    for (let k = 0; k < PLACES; k++) {
      const number = places.length;
      const lat = BOX.south + ((k % 5) + 0.5 + business / 5) * ((BOX.north - BOX.south) / 6);
      const lon = BOX.west + (Math.floor(k / 5) + 0.5 + business / 5) * ((BOX.east - BOX.west) / 6);
      const circle = { name: String(number), lat, lon, radius_km: RADIUS_KM, min_size_mm: MIN_SIZE_MM };
      await post(cluster, key, '/v1/alerts/subscribe', {
        ...circle,
        webhook_url: `${cluster.receiver_url}/place/${number}`,
      });
      places.push({ number, lat, lon });
    }
  }
  return { keys, places };
}

/** Applies a file of businesses; returns the texts of their keys. */
async function seed(cluster: Cluster, folder: string): Promise<string[]> {
  const [file, secrets] = [join(folder, 'seed.json'), join(folder, 'keys.json')];
  const businesses = Array.from({ length: BUSINESSES }, (_, k) => ({
    name: `business ${k}`,
    plan: 'cluster',
    keys: Array.from({ length: KEYS }, (_, number) => ({ name: `key ${number}`, kind: 'live' })),
  }));
  const plan = { rate_per_minute: 1_000_000, features: ['exports', 'real_time_delivery'] };
  writeFileSync(file, JSON.stringify({ plans: { cluster: plan }, businesses }));
  const environment = { ...cluster.settingsOf('operator') };
  const { code, told } = await runCommand('hail-api', ['seed', 'apply', file, '--secrets', secrets], environment);
  if (code !== 0) throw new Error(`hail-api seed apply ended with ${code}: ${told}`);
  const { keys } = JSON.parse(readFileSync(secrets, 'utf8')) as { keys: { key: string }[] };
  return keys.map(({ key }) => key);
}

async function post(cluster: Cluster, key: string, path: string, body: object): Promise<void> {
  const response = await fetch(`${cluster.url}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok)
    throw new Error(`POST ${path} answers ${response.status} ${await response.text()}, expected success`);
}
