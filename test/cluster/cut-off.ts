import { setTimeout as sleep } from 'node:timers/promises';
import { leaderOf } from './cluster.ts';
import { andReady, type FaultRow, makeFault, nextScanPublished, type Scene } from './faults.ts';
import { answers } from './node.ts';

const CUT_OFF_MS = 65_000;

/** Suspends a machine with a service and the leading stream for a minute. */
export async function* cutOffMachine(scene: Scene): AsyncGenerator<FaultRow> {
  const { cluster } = scene;
  const [service] = cluster.services;
  const leader = await leaderOf(cluster);
  if (service === undefined) throw new Error('the cluster has no service, expected one');
  const machine = [service, leader];
  yield await makeFault(scene, {
    node: machine.map(({ name }) => name).join(', '),
    how: `a machine is suspended, ${CUT_OFF_MS / 1000} s`,
    act: async () => {
      for (const node of machine) node.signal('SIGSTOP');
      await sleep(CUT_OFF_MS);
      for (const node of machine) node.signal('SIGCONT');
    },
    whole: 'meanwhile',
    isWhole: andReady(scene, nextScanPublished(scene)),
    // The stream that led before has found that another one does.
    isBack: async () =>
      (await answers(`${cluster.serviceUrl(0)}/readyz`)) && (await leaderOf(cluster)) !== leader && leader.pid() > 0,
  });
}
