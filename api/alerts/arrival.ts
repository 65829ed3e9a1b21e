/** Clocks from which the age of a scan follows. All in milliseconds. */
export interface ArrivalClocks {
  /** The data clock. */
  readonly now: () => number;
  /** The machine's clock, which operators and time servers set. */
  readonly machine: () => number;
  /** Never set; from any instant. */
  readonly monotonic: () => number;
}

/** The data clock counts as the machine's clock when they differ by less. */
const SAME_CLOCK_MS = 1_000;
/** No scan is further ahead of the true time. */
const FUTURE_MS = 10 * 60_000;

/**
 * Computes the age of a scan on arrival, milliseconds. A step of the machine's clock while the service runs must neither suppress
 * events of new hail nor send events of old hail. Where the data clock is the machine's clock, the age is therefore computed with
 * and without the steps since the start; an age that puts the scan into the future is ignored, and the smaller one counts.
 */
export function openArrival({ now, machine, monotonic }: ArrivalClocks): (scan_ms: number) => number {
  const started_ms = machine() - monotonic();
  return (scan_ms) => {
    const now_ms = now();
    const machine_ms = machine();
    const stepped_ms = machine_ms - monotonic() - started_ms;
    const isMachines = Math.abs(now_ms - machine_ms) < SAME_CLOCK_MS;
    const ages = (isMachines ? [now_ms, now_ms - stepped_ms] : [now_ms]).map((at_ms) => at_ms - scan_ms);
    const plausible = ages.filter((age_ms) => age_ms >= -FUTURE_MS);
    return plausible.length === 0 ? Math.max(...ages) : Math.min(...plausible);
  };
}
