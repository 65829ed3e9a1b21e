import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, SeenRequest } from '../support/object-store/fault-proxy.ts';
import { andReady, type FaultRow, makeFault, nextScanPublished, type Scene } from './faults.ts';

/** What the store does wrong, to which requests. */
interface StoreFault {
  readonly how: string;
  readonly fault: Fault;
  /** A new one for each fault: it may count. */
  readonly matches: () => (seen: SeenRequest) => boolean;
  readonly lasts_ms: number;
}

/** In short, a fault lasts so long. */
const SHORT_MS = 3_000;

const reads = ({ method }: SeenRequest) => method === 'GET' || method === 'HEAD';

const FAULTS: readonly StoreFault[] = [
  { how: 'answers 500', fault: 500, matches: () => () => true, lasts_ms: 6_000 },
  { how: 'answers 503 SlowDown to two of three', fault: 503, matches: everyThirdPasses, lasts_ms: 6_000 },
  {
    how: 'truncates what is read',
    fault: 'cut',
    matches:
      () =>
      ({ method }) =>
        method === 'GET',
    lasts_ms: 6_000,
  },
  { how: 'repeats old answers to reads', fault: 'stale', matches: () => reads, lasts_ms: 10_000 },
  {
    how: 'loses its answers to PUT',
    fault: 'lose-answer',
    matches:
      () =>
      ({ method }) =>
        method === 'PUT',
    lasts_ms: 6_000,
  },
];

function everyThirdPasses(): () => boolean {
  let count = 0;
  return () => {
    count += 1;
    return count % 3 !== 0;
  };
}

/** Has the store fail in each way for some seconds. In short: in the first one. */
export async function* failStore(scene: Scene): AsyncGenerator<FaultRow> {
  for (const { how, fault, matches, ...each } of FAULTS.slice(0, scene.short ? 1 : undefined)) {
    const lasts_ms = scene.short ? SHORT_MS : each.lasts_ms;
    const act = async () => {
      const ends = scene.cluster.storeFaults.map((proxy) => proxy.fault(matches(), fault));
      await sleep(lasts_ms);
      for (const end of ends) end();
      for (const proxy of scene.cluster.storeFaults) proxy.heal();
    };
    yield await makeFault(scene, {
      ...{ node: 'store', how: `${how}, ${lasts_ms / 1000} s`, act },
      whole: 'afterwards',
      isWhole: andReady(scene, nextScanPublished(scene)),
    });
  }
}
