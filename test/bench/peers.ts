import type { CONUS, Position } from '../../schemas/geo/position.ts';
import { askPython } from '../support/data/ask-python.ts';

/** Runs of each side; medians are compared. */
const RUNS = 5;

/** How a session of a bench publishes. */
export const SESSION = {
  storm_day_start_hour: 0,
  move_raw: false,
  raw_keep_days: null,
  reflectivity_keep_hours: 48,
} as const;

/** Milliseconds that a peer took, or why it could not be asked. */
type PeerResult = { readonly ms: number; readonly answer: string } | { readonly missing: string };

/**
 * Times a piece of Python inside one process: `setup` once, `body` once to warm up and then five times.
 * `body` must set `answer`. The median is returned, or what is missing when Python or a module is not installed.
 */
export function timePython(setup: string, body: string): PeerResult {
  const program = `
import time, json
${setup}
def body():
${body.replaceAll(/^/gm, '    ')}
    return answer
answer = body()
times = []
for _ in range(${RUNS}):
    t = time.perf_counter(); answer = body(); times.append(1000 * (time.perf_counter() - t))
print(json.dumps({"ms": sorted(times)[${Math.floor(RUNS / 2)}], "answer": str(answer)}))
`;
  const answer = askPython(program) as { ms: number; answer: string } | null;
  return answer ?? { missing: 'python3 with the module it needs is not installed' };
}

/** Median milliseconds of a piece of our own work, after one run to warm up. */
export async function timeOurs(work: () => unknown, prepare: () => unknown = () => {}): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run <= RUNS; run++) {
    await prepare();
    const start = performance.now();
    await work();
    if (run > 0) times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[Math.floor(RUNS / 2)];
}

/** Points spread evenly over a box, the same in every run. */
export function pointsOf({ south, north, west, east }: Record<keyof typeof CONUS, number>, count: number): Position[] {
  return Array.from({ length: count }, (_, index) => ({
    lat: south + (north - south) * (((index + 1) * 0.7548776662) % 1),
    lon: west + (east - west) * (((index + 1) * 0.569840291) % 1),
  }));
}

/** One line of a comparison: ours, the peer's, the ratio and the goal. */
export function compare(what: string, ours_ms: number, peer: string, result: PeerResult, goal: number): string {
  const own = `${what.padEnd(44)} ours ${ours_ms.toFixed(0).padStart(6)} ms`;
  if ('missing' in result) return `${own}   ${peer}: ${result.missing}`;
  const ratio = ours_ms / result.ms;
  return `${own}   ${peer} ${result.ms.toFixed(0).padStart(6)} ms   ratio ${ratio.toFixed(2)} (goal <= ${goal})${ratio <= goal ? '' : '  MISSED'}`;
}
