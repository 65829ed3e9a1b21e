import { spawnSync } from 'node:child_process';

/**
 * What a Python program that reads GRIB with ecCodes prints as JSON, or null where Python, numpy or ecCodes is not
 * installed. Throws when it fails otherwise.
 */
export function askEccodes(program: string, input: string | Uint8Array = ''): unknown {
  // Debian's modules belong to Debian's Python, which another python3 on the path may hide.
  for (const python of ['/usr/bin/python3', 'python3']) {
    const run = spawnSync(python, ['-c', program], {
      input,
      encoding: 'utf8',
      maxBuffer: 256 * 2 ** 20,
      timeout: 300_000,
    });
    if (run.status === 0) return JSON.parse(run.stdout);
    if (run.status !== null && !/No module named '(eccodes|gribapi|numpy)'/.test(run.stderr))
      throw new Error(`${python}: ${run.stderr}`);
  }
  return null;
}
