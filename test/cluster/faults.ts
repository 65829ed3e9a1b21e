import { setTimeout as sleep } from 'node:timers/promises';
import { unequalAnswers } from './charges.ts';
import { type Cluster, newestScan } from './cluster.ts';
import { watchHealth } from './health.ts';
import type { Load } from './load.ts';
import { answers, until } from './node.ts';
import type { Feed } from './weather.ts';

/** A fault, and what came of it. */
export interface FaultRow {
  readonly node: string;
  readonly how: string;
  /** Milliseconds from its begin until the cluster did all its work again; null: not within the longest wait. */
  readonly whole_ms: number | null;
  readonly requests: number;
  /** Requests without success by status; `none`: no answer. */
  readonly failed: ReadonlyMap<string, number>;
  /** Charges of answers of that time that the ledger does not have, or has twice. */
  readonly lost: number;
  readonly doubled: number;
  /** Of the lost ones: gone with a database that failed over without them. */
  readonly gone: number;
  readonly seen: readonly string[];
}

export interface Scene {
  readonly cluster: Cluster;
  readonly load: Load;
  readonly arriving: Feed;
  /** Key that the state of the service is asked with. */
  readonly key: string;
  /** Last row of the ledger before the clients asked. */
  readonly charges_before: number;
  /** A few faults only. */
  readonly short: boolean;
}

/** A fault to be made. */
export interface Fault {
  readonly node: string;
  readonly how: string;
  /** Begins and ends it. `begins` starts the clock again, where something must come before it. */
  readonly act: (begins: () => void) => Promise<void>;
  /** Whether the cluster is expected to do all its work while the fault lasts, or only after it. */
  readonly whole: 'meanwhile' | 'afterwards';
  readonly isWhole: () => Promise<boolean>;
  /** True once the node itself is back, after the fault. */
  readonly isBack?: () => Promise<boolean>;
}

const WHOLE_WITHIN_MS = 60_000;
const BACK_WITHIN_MS = 30_000;
/** Pause before a fault. */
const CALM_MS = { short: 500, long: 2_000 } as const;

/** Makes a fault while the cluster is calm, and measures until it is whole. */
export async function makeFault(scene: Scene, { node, how, act, whole, isWhole, isBack }: Fault): Promise<FaultRow> {
  const { cluster, load } = scene;
  const { told } = load;
  await sleep(CALM_MS[scene.short ? 'short' : 'long']);
  const from = { answers: told.answers.length, failures: told.failures.length, requests: told.requests };
  const seen = watchHealth(cluster);
  let started_ms = performance.now();
  const acted = act(() => {
    started_ms = performance.now();
  });
  // Its failure is thrown below.
  acted.catch(() => {});
  let whole_ms: number | null = null;
  if (whole === 'afterwards') await acted;
  await sleep(200);
  while (whole_ms === null && performance.now() - started_ms < WHOLE_WITHIN_MS) {
    if (await isWhole()) whole_ms = performance.now() - started_ms;
    else await sleep(100);
  }
  await acted;
  if (isBack !== undefined) await until(`${node} after ${how}`, BACK_WITHIN_MS, isBack);
  const own = told.answers.slice(from.answers);
  const { lost, doubled } = await unequalAnswers(cluster.database_url, scene.charges_before, own);
  const failures = told.failures.slice(from.failures);
  const byStatus = Map.groupBy(failures, ({ status }) => String(status ?? 'none'));
  return {
    ...{ node, how, whole_ms },
    requests: told.requests - from.requests,
    failed: new Map([...byStatus].map(([status, { length }]) => [status, length])),
    lost: lost.length,
    doubled: doubled.length,
    gone: lost.filter(({ request_id }) => told.gone.has(request_id)).length,
    seen: await seen.end(),
  };
}

/** True once the services are ready as well. */
export function andReady({ cluster }: Scene, isWhole: () => Promise<boolean>): () => Promise<boolean> {
  return async () => (await answers(`${cluster.url}/readyz`)) && (await isWhole());
}

/** True once a scan that arrived after the first call is published, as the services see it. */
export function nextScanPublished({ cluster, arriving, key }: Scene): () => Promise<boolean> {
  let wanted: string | null = null;
  return async () => {
    wanted ??= arriving.next();
    return (await newestScan(cluster, key)) >= wanted;
  };
}
