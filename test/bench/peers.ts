import { spawnSync } from 'node:child_process';

/** Runs of each side; medians are compared. */
const RUNS = 5;

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
  // Debian's modules belong to Debian's Python, which another python3 on the path may hide.
  for (const python of ['/usr/bin/python3', 'python3']) {
    const run = spawnSync(python, ['-c', program], { encoding: 'utf8' });
    if (run.status === 0) return JSON.parse(run.stdout) as { ms: number; answer: string };
    const missing = /No module named '([^']+)'/.exec(run.stderr ?? '')?.[1];
    if (run.status !== null && missing === undefined) throw new Error(`${python} failed: ${run.stderr}`);
  }
  return { missing: 'python3 with the module it needs is not installed' };
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

/** One line of a comparison: ours, the peer's, the ratio and the goal. */
export function compare(what: string, ours_ms: number, peer: string, result: PeerResult, goal: number): string {
  const own = `${what.padEnd(44)} ours ${ours_ms.toFixed(0).padStart(6)} ms`;
  if ('missing' in result) return `${own}   ${peer}: ${result.missing}`;
  const ratio = ours_ms / result.ms;
  return `${own}   ${peer} ${result.ms.toFixed(0).padStart(6)} ms   ratio ${ratio.toFixed(2)} (goal <= ${goal})${ratio <= goal ? '' : '  MISSED'}`;
}
