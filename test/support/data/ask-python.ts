import { spawnSync } from 'node:child_process';

/** What a Python program prints as JSON, or null where Python or a module is not installed. Throws when it fails otherwise. */
export function askPython(program: string, input = ''): unknown {
  // Debian's modules belong to Debian's Python, which another python3 on the path may hide.
  for (const python of ['/usr/bin/python3', 'python3']) {
    const options = { input, encoding: 'utf8', maxBuffer: 256 * 2 ** 20, timeout: 300_000 } as const;
    const run = spawnSync(python, ['-c', program], options);
    if (run.status === 0) return JSON.parse(run.stdout);
    if (run.status !== null && !/No module named/.test(run.stderr)) throw new Error(`${python}: ${run.stderr}`);
  }
  return null;
}
