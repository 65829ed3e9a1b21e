import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { BARE_ENVIRONMENT } from './support/kill/bare-environment.ts';

const folder = mkdtempSync(join(tmpdir(), 'hail-start-'));
test.after.always(() => rmSync(folder, { recursive: true }));

const START = { 'hail-pipeline': '../pipeline/start.js', 'hail-api': '../api/start.js' } as const;
type Name = keyof typeof START;
const path = (name: Name) => fileURLToPath(new URL(START[name], import.meta.url));

/** Runs a command with its own environment only. */
async function run(
  name: Name,
  args: readonly string[],
  environment: Record<string, string> = {},
  flags: string[] = [],
) {
  const child = spawn(process.execPath, [...flags, path(name), ...args], {
    env: { ...BARE_ENVIRONMENT, HAIL_LOG_LEVEL: 'error', HAIL_PORT: '0', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, told };
}

/** Makes Node believe that it is another version before anything else is loaded. */
function pretending(version: string): string[] {
  const script = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
}

for (const name of ['hail-pipeline', 'hail-api'] as const) {
  for (const version of ['18.20.0', '20.20.2', '24.11.9'])
    test.serial(`${name} on Node ${version} says in one sentence which one it needs`, async (t) => {
      const { code, told } = await run(name, ['--version'], {}, pretending(version));
      t.is(code, 1);
      t.regex(told, new RegExp(`^${name}: Node is ${version}, expected >=24\\.\\d+: [^\\n]+\\n$`));
    });

  for (const version of ['24.12.0'])
    test.serial(`${name} runs on Node ${version}`, async (t) => {
      t.deepEqual(await run(name, ['--version'], {}, pretending(version)), { code: 0, told: '' });
    });

  test.serial(`${name} refuses a setting it does not know, and names the one that was meant`, async (t) => {
    const { code, told } = await run(name, [name === 'hail-api' ? 'serve' : 'verify'], { HAIL_DTA: folder });
    t.is(code, 2);
    t.is(told, `${name}: HAIL_DTA is no setting, expected HAIL_DATA\n`);
  });
}

const file = join(folder, 'file');
writeFileSync(file, 'no folder');

for (const [name, args] of [
  ['hail-pipeline', ['ingest', '--hours', '0.1', '--no-progress']],
  ['hail-pipeline', ['stream', '--source', 'dir', '--from', folder]],
  ['hail-pipeline', ['compact']],
  ['hail-pipeline', ['verify']],
  ['hail-api', ['serve']],
  ['hail-api', ['seed', 'apply', join(folder, 'none.yaml')]],
  ['hail-api', ['verify', '35.2', '-97', '2026-05-01', '2026-05-02']],
  [
    'hail-api',
    ['export', 'swaths', '2026-05-01', '2026-05-02', '--format', 'csv', '--out', join(folder, 'swaths.csv')],
  ],
] as const)
  for (const [title, root] of [
    ['a file', file],
    ['a path below a file', join(file, 'data')],
  ] as const)
    test.serial(`${name} ${args[0]} on a data root that is ${title} fails with one sentence`, async (t) => {
      const { code, told } = await run(name, args, { HAIL_DATA: root });
      t.true(code === 1 || code === 3, `code ${code}`);
      t.regex(told, new RegExp(`^${name}: [^\\n]+\\n$`));
    });

test.serial(
  'verify and export of hail-api do not take a data root that is not there for a place without hail',
  async (t) => {
    const range = ['2026-05-01', '2026-05-02'];
    for (const args of [
      ['verify', '35.2', '-97', ...range],
      ['export', 'swaths', ...range, '--format', 'csv', '--out', join(folder, 'swaths.csv')],
    ]) {
      const { code, told } = await run('hail-api', args, { HAIL_DATA: join(folder, 'nowhere') });
      t.is(code, 3);
      t.regex(
        told,
        /^hail-api: data root [^\n]+nowhere: no such folder, expected what 'hail-pipeline ingest' makes\n$/,
      );
    }
  },
);

for (const [name, args] of [
  ['hail-pipeline', ['verify']],
  ['hail-api', ['verify', '35.2', '-97', '2026-05-01', '2026-05-02']],
] as const)
  test.serial(
    `${name} ${args[0]} ends well when whoever reads it closes the pipe, and fails on a full disk`,
    async (t) => {
      const root = join(folder, `root of ${name}`);
      mkdirSync(root);
      const command = `"$0" "${path(name)}" ${args.join(' ')}`;
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

test.serial('hail-pipeline with a lock file of other content says so in one sentence', async (t) => {
  const root = join(folder, 'garbage');
  mkdirSync(root);
  writeFileSync(join(root, 'pipeline.lock'), Buffer.alloc(9000, 'garbage'));
  const { code, told } = await run('hail-pipeline', ['ingest', '--hours', '0.1', '--no-progress'], { HAIL_DATA: root });
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
    const { code, told } = await run('hail-pipeline', args, { HAIL_DATA: join(folder, 'root') });
    t.is(code, 1);
    t.is(told, `hail-pipeline: read ${pipe}: not a regular file, expected one\n`);
  }
});
