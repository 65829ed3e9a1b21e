/** What the age of a scan is told by. All in milliseconds. */
export interface ArrivalClocks {
  /** The data clock. */
  readonly now: () => number;
  /** The machine's clock, which people and time servers set. */
  readonly machine: () => number;
  /** Never set; from any instant. */
  readonly monotonic: () => number;
}

/** The data clock is the machine's when they differ by less. */
const SAME_CLOCK_MS = 1_000;
/** No scan lies further ahead of the true time. */
const FUTURE_MS = 10 * 60_000;

/**
 * How old scans are when they arrive, milliseconds. A clock that is set wrong while the service runs, by an hour say, must neither
 * silence new hail nor announce old: where the data clock is the machine's, the age is also told without the steps that it made
 * since the start, a clock by which the scan lies in the future is not believed, and of two ages the smaller counts.
 */
export function openArrival({ now, machine, monotonic }: ArrivalClocks): (scan_ms: number) => number {
  const started_ms = machine() - monotonic();
  return (scan_ms) => {
    const now_ms = now();
    const machine_ms = machine();
    const stepped_ms = machine_ms - monotonic() - started_ms;
    const isMachines = Math.abs(now_ms - machine_ms) < SAME_CLOCK_MS;
    const ages = (isMachines ? [now_ms, now_ms - stepped_ms] : [now_ms]).map((at_ms) => at_ms - scan_ms);
    const believed = ages.filter((age_ms) => age_ms >= -FUTURE_MS);
    return believed.length === 0 ? Math.max(...ages) : Math.min(...believed);
  };
}
