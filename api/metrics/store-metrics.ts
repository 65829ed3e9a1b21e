import { Counter, Gauge, type Registry } from 'prom-client';
import type { CacheCounts } from '../cache/file-cache.ts';
import type { StoreUse } from '../files/published-root.ts';

const OWN = 'Of this process.';

/** Adds what a process does with the store of the published data. Call the result before each answer. Null: no store, no series. */
export function storeMetrics(registry: Registry): (use: StoreUse | null) => void {
  const registers = [registry];
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `hail_cache_${name}`, help: `${help} ${OWN}`, registers });
  const counter = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter<Label>({ name: `hail_${name}`, help: `${help} ${OWN}`, labelNames: [...labelNames], registers });
  const bytes = gauge('bytes', 'Bytes of the copies of files of the store, those under way included.');
  const held = gauge('held_bytes', 'Bytes of the copies that statements use or wait for.');
  const bound = gauge('bytes_max', 'Bound of the copies, HAIL_CACHE_MB.');
  const asked = counter(
    'cache_files_total',
    'Files that were asked for: hit, a copy was there; miss, it had to be fetched.',
    ['outcome'],
  );
  const counters = {
    downloads: counter('cache_downloads_total', 'Files that were copied from the store, whole and checked.'),
    downloaded_bytes: counter('cache_downloaded_bytes_total', 'Bytes of these files.'),
    failed_downloads: counter('cache_failed_downloads_total', 'Files that could not be copied.'),
    evictions: counter('cache_evictions_total', 'Copies that were removed to make room.'),
  } as const satisfies Partial<Record<keyof CacheCounts, Counter>>;
  const requests = counter(
    'store_requests_total',
    'Requests to the store by outcome; any outcome but done and refused is tried again.',
    ['outcome'],
  );
  return (use) => {
    for (const each of [bytes, held, bound, asked, requests, ...Object.values(counters)]) each.reset();
    for (const each of [bytes, held, bound, ...Object.values(counters)]) if (use === null) each.remove();
    if (use === null) return;
    const { cache } = use;
    const load = cache.load();
    bytes.set(load.bytes);
    held.set(load.held_bytes);
    bound.set(cache.bytes_max);
    asked.inc({ outcome: 'hit' }, cache.counts.hits);
    asked.inc({ outcome: 'miss' }, cache.counts.misses);
    for (const name of ['downloads', 'downloaded_bytes', 'failed_downloads', 'evictions'] as const)
      counters[name].inc(cache.counts[name]);
    for (const [outcome, count] of Object.entries(use.requests)) requests.inc({ outcome }, count);
  };
}
