import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { PROJECT } from './markdown.ts';

/** Registers the test of a Python program; without the modules that it needs it shows as skipped, with the reason in its title. */
export function pythonTest(
  title: string,
  needs: readonly string[],
  body: (t: ExecutionContext) => Promise<void>,
): void {
  if (spawnSync('python3', ['-c', `import ${needs.join(', ')}`]).status === 0) test.serial(title, body);
  else test.skip(`${title} (needs ${needs.join(', ')} for python3, which is absent)`, body);
}

/** What a program prints; throws with its complaint when it fails. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  const own = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env };
  return (await promisify(execFile)(command, args, { cwd, env: own })).stdout;
}

/** What a program prints, run in the folder of the project on a data root. */
export const runOn = (root: string, command: string, args: readonly string[]) =>
  runProgram(command, args, { cwd: PROJECT, env: { HAIL_DATA: root } });
