import { setTimeout as sleep } from 'node:timers/promises';
import { leaderOf } from './cluster.ts';
import { andReady, type FaultRow, makeFault, nextScanPublished, type Scene } from './faults.ts';
import { answers, type Node } from './node.ts';

/** A node stays down this long, unless another one takes its place. */
const DOWN_MS = 2_000;
/** A suspended leader wakes up after this: it must find that another one leads. */
const SUSPENDED_MS = 15_000;

/** Kills every node in turn and starts it again. In short: a service and the leader. */
export async function* killEveryNode(scene: Scene): AsyncGenerator<FaultRow> {
  const { cluster, short } = scene;
  const kill = (node: Node, isWhole: () => Promise<boolean>, how = 'SIGKILL') => {
    const act = async () => {
      await node.kill();
      await sleep(DOWN_MS);
      await node.start();
    };
    return makeFault(scene, { node: node.name, how, act, whole: 'meanwhile', isWhole });
  };
  const newScan = () => nextScanPublished(scene);
  for (const worker of cluster.workers) yield await kill(worker, async () => worker.pid() > 0);
  for (const [k, service] of cluster.services.slice(0, short ? 1 : undefined).entries())
    yield await kill(service, () => answers(`${cluster.serviceUrl(k)}/readyz`));
  yield await kill(await leaderOf(cluster), newScan(), 'SIGKILL of the leader');
  if (short) return;
  const leader = await leaderOf(cluster);
  yield await makeFault(scene, {
    node: leader.name,
    how: `SIGSTOP of the leader, ${SUSPENDED_MS / 1000} s`,
    act: async () => {
      leader.signal('SIGSTOP');
      await sleep(SUSPENDED_MS);
      leader.signal('SIGCONT');
    },
    whole: 'meanwhile',
    isWhole: newScan(),
  });
  yield await kill(cluster.postgres, andReady(scene, newScan()));
  yield await kill(cluster.store, andReady(scene, newScan()));
  yield await kill(cluster.proxy, () => answers(`${cluster.url}/readyz`));
  yield await kill(cluster.receiver, newScan());
}
