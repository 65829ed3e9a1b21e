import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, leaderOf, newestScan } from './cluster.ts';
import type { Load } from './load.ts';
import { answers, type Node } from './node.ts';
import type { Feed } from './weather.ts';

/** What happened to the cluster when a node was killed. */
export interface Kill {
  readonly node: string;
  readonly how: string;
  /** Milliseconds from the kill until the cluster did all its work again; null: not within the longest wait. */
  readonly whole_ms: number | null;
  /** Requests of clients that had no answer of success meanwhile. */
  readonly failed: number;
  readonly requests: number;
}

interface Scene {
  readonly cluster: Cluster;
  readonly load: Load;
  readonly arriving: Feed;
  /** Key that the state of the service is asked with. */
  readonly key: string;
}

/** A node stays down this long, unless another one takes its place. */
const DOWN_MS = 2_000;
/** A suspended leader wakes up after this: it must find that another one leads. */
const SUSPENDED_MS = 15_000;
const WHOLE_WITHIN_MS = 45_000;
/** Pause before a kill. */
const CALM_MS = 3_000;

/** Kills every node in turn and starts it again. */
export async function killEveryNode(scene: Scene): Promise<Kill[]> {
  const { cluster } = scene;
  const kills: Kill[] = [];
  const kill = async (node: Node, how: string, act: () => Promise<void>, isWhole: () => Promise<boolean>) => {
    await sleep(CALM_MS);
    kills.push(await measured(scene, node, how, act, isWhole));
  };
  const killed = (node: Node) => async () => {
    await node.kill();
    await sleep(DOWN_MS);
    await node.start();
  };
  const newScan = () => nextScanPublished(scene);
  for (const worker of cluster.workers) await kill(worker, 'SIGKILL', killed(worker), async () => worker.pid() > 0);
  for (const [k, service] of cluster.services.entries())
    await kill(service, 'SIGKILL', killed(service), () => answers(`${cluster.serviceUrl(k)}/readyz`));
  const first = await leaderOf(cluster);
  await kill(first, 'SIGKILL of the leader', killed(first), newScan());
  const second = await leaderOf(cluster);
  let woken: Promise<void> | null = null;
  await kill(
    second,
    'SIGSTOP of the leader',
    async () => {
      second.signal('SIGSTOP');
      woken = sleep(SUSPENDED_MS).then(() => second.signal('SIGCONT'));
    },
    newScan(),
  );
  await woken;
  await kill(cluster.postgres, 'SIGKILL', killed(cluster.postgres), andReady(scene, newScan()));
  await kill(cluster.store, 'SIGKILL', killed(cluster.store), andReady(scene, newScan()));
  await kill(cluster.proxy, 'SIGKILL', killed(cluster.proxy), () => answers(`${cluster.url}/readyz`));
  await kill(cluster.receiver, 'SIGKILL', killed(cluster.receiver), newScan());
  return kills;
}

async function measured(
  { load: { told } }: Scene,
  node: Node,
  how: string,
  act: () => Promise<void>,
  isWhole: () => Promise<boolean>,
): Promise<Kill> {
  const [failed, requests] = [told.failures.length, told.requests];
  const started_ms = performance.now();
  const acted = act();
  let whole_ms: number | null = null;
  await sleep(200);
  while (whole_ms === null && performance.now() - started_ms < WHOLE_WITHIN_MS) {
    if (await isWhole()) whole_ms = performance.now() - started_ms;
    else await sleep(100);
  }
  await acted;
  return { node: node.name, how, whole_ms, failed: told.failures.length - failed, requests: told.requests - requests };
}

/** True once the services are ready as well. */
function andReady({ cluster }: Scene, isWhole: () => Promise<boolean>): () => Promise<boolean> {
  return async () => (await answers(`${cluster.url}/readyz`)) && (await isWhole());
}

/** True once a scan that arrived after the first call is published, as the services see it. */
function nextScanPublished({ cluster, arriving, key }: Scene): () => Promise<boolean> {
  let wanted: string | null = null;
  return async () => {
    wanted ??= arriving.next();
    return (await newestScan(cluster, key)) >= wanted;
  };
}
