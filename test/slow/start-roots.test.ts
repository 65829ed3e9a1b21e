import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { BARE_ENVIRONMENT } from '../support/kill/bare-environment.ts';
import { commandPath, runCommand } from '../support/kill/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'hail-start-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const file = join(folder, 'file');
writeFileSync(file, 'no folder');

for (const [name, args] of [
  ['hail-pipeline', ['ingest', '--hours', '0.1', '--no-progress']],
  ['hail-pipeline', ['stream', '--source', 'dir', '--from', folder]],
  ['hail-pipeline', ['compact']],
  ['hail-pipeline', ['verify']],
  ['hail-api', ['serve']],
  ['hail-api', ['seed', 'apply', join(folder, 'none.yaml')]],
] as const)
  for (const [title, root] of [
    ['a file', file],
    ['a path below a file', join(file, 'data')],
  ] as const)
    test.serial(`${name} ${args[0]} on a data root that is ${title} fails with one sentence`, async (t) => {
      const { code, told } = await runCommand(name, args, { HAIL_DATA: root });
      t.true(code === 1 || code === 3, `code ${code}`);
      t.regex(told, new RegExp(`^${name}: [^\\n]+\\n$`));
    });

for (const [name, args] of [
  ['hail-pipeline', ['verify']],
  ['hail-api', ['--help']],
] as const)
  test.serial(
    `${name} ${args[0]} ends well when whoever reads it closes the pipe, and fails on a full disk`,
    async (t) => {
      const root = join(folder, `root of ${name}`);
      mkdirSync(root);
      const command = `"$0" "${commandPath(name)}" ${args.join(' ')}`;
      const env = { ...BARE_ENVIRONMENT, HAIL_LOG_LEVEL: 'error', HAIL_DATA: root };
      const shell = (line: string) =>
        spawnSync('bash', ['--norc', '-c', line, process.execPath], {
          env,
          stdio: ['ignore', 'ignore', 'pipe'],
          encoding: 'utf8',
        });
      const closed = shell(`${command} | true; exit \${PIPESTATUS[0]}`);
      t.deepEqual([closed.status, closed.stderr], [0, '']);
      const full = shell(`${command} > /dev/full`);
      t.is(full.status, 1);
      t.regex(full.stderr, new RegExp(`^${name}: standard output: ENOSPC[^\\n]+\\n$`));
    },
  );
