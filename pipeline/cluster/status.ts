import { REQUEST_OUTCOMES, type RequestOutcome } from '../../schemas/object-store/client.ts';
import type { Lease } from './lease.ts';

/** State of a process that writes to a store, or waits to: it changes, and metrics read it. */
export interface ClusterStatus {
  /** Lease on the live feed; null while another process holds it. */
  lease: Lease | null;
  /** What this process has committed and not yet stored; null while it stands by. */
  lag: (() => { readonly partitions: number; readonly files: number; readonly bytes: number }) | null;
  /** Requests to the store since the start, by outcome. */
  readonly requests: Record<RequestOutcome, number>;
}

export function newClusterStatus(): ClusterStatus {
  return {
    lease: null,
    lag: null,
    requests: Object.fromEntries(REQUEST_OUTCOMES.map((outcome) => [outcome, 0])) as Record<RequestOutcome, number>,
  };
}
