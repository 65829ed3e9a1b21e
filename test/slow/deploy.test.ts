import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, relative } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { selfSigned } from '../../api/commands/webhook-listen.ts';
import { jobFilePath } from '../../api/jobs/files.ts';
import { codeBlocks, PROJECT, readDocument, sectionOf } from '../support/data/markdown.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { freePort } from '../support/data/web-server.ts';
import { commandPath } from '../support/kill/command.ts';
import { withReports } from '../support/service/done-reports.ts';
import { operator } from '../support/service/run-command.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../support/service/whole-service.ts';
import { until } from '../support/until.ts';

const file = (name: string) => join(PROJECT, 'data/examples/deploy', name);
const textOf = (name: string) => readFileSync(file(name), 'utf8');
/** Debian keeps some programs where only root looks for them. */
const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;

function scratchFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hail-deploy-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A shipped file with other texts in place of some of its own, each of which must be there. */
function adapted(name: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`${name} does not hold '${from}', expected it`);
    return text.replaceAll(from, to);
  }, textOf(name));
}

function run([command = '', ...args]: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, PATH, ...env },
  });
  return { missing: error !== undefined, status, said: `${stdout}${stderr}` };
}

/** Whether each program is here, by a call of it that changes nothing. */
const has = {
  'systemd-analyze': !run(['systemd-analyze', '--version']).missing,
  caddy: !run(['caddy', 'version']).missing,
  nginx: !run(['nginx', '-v']).missing,
  logrotate: !run(['logrotate', '--version']).missing,
  'docker compose': run(['docker', 'compose', 'version']).status === 0,
  haproxy: !run(['haproxy', '-v']).missing,
  postgresql: existsSync('/usr/lib/postgresql'),
};

/** The test, or a skipped one that names what is absent. */
function testWith(
  needs: readonly (keyof typeof has)[],
  title: string,
  body: (t: ExecutionContext) => Promise<void> | void,
) {
  const absent = needs.filter((name) => !has[name]);
  if (absent.length === 0) test.serial(title, body);
  else test.skip(`${title} (needs ${absent.join(', ')})`, body);
}

const UNITS = [
  'hail-backup.service',
  'hail-backup.timer',
  'hail-compact.service',
  'hail-compact.timer',
  'hail-serve@.service',
  'hail-stream.service',
];

/** A call of a program that checks a shipped file, and what it says of one that is right. */
interface Check {
  readonly command: readonly string[];
  readonly says: RegExp;
  readonly env?: Readonly<Record<string, string>>;
}

const caddyCheck = (upstreams: string) => (folder: string) => ({
  command: ['caddy', 'adapt', '--config', file('Caddyfile'), '--validate'],
  says: new RegExp(`^${upstreams.replaceAll(/(\S+) ?/g, '(?=.*[{]"dial":"$1"})')}.*"hail[.]example[.]com"`, 's'),
  env: { HOME: folder, UPSTREAMS: upstreams },
});
const composeCheck =
  (...profile: string[]) =>
  () => ({
    command: ['docker', 'compose', '-f', file('compose.yaml'), ...profile, 'config', '--quiet'],
    says: /^/,
  });

const CHECKS: readonly (readonly [keyof typeof has, what: string, (folder: string) => Check | Promise<Check>])[] = [
  [
    'systemd-analyze',
    'all units, without a word',
    (folder) => {
      // It looks for the programs that the units start.
      for (const name of UNITS)
        writeFileSync(join(folder, name), textOf(name).replaceAll('/opt/hail/current/', PROJECT));
      return { command: ['systemd-analyze', 'verify', ...UNITS.map((name) => join(folder, name))], says: /^\s*$/ };
    },
  ],
  ['caddy', 'its file with one service', caddyCheck('127.0.0.1:8080')],
  ['caddy', 'its file with two services', caddyCheck('127.0.0.1:8080 127.0.0.1:8081')],
  [
    'logrotate',
    'its file, and finds logs under the path that it names',
    (folder) => {
      mkdirSync(join(folder, 'log'));
      writeFileSync(join(folder, 'log/serve.log'), 'a line\n');
      const config = join(folder, 'hail');
      writeFileSync(config, adapted('logrotate.conf', { '/var/log/hail/': `${folder}/log/` }));
      chmodSync(config, 0o644);
      const command = ['logrotate', '--debug', '--state', join(folder, 'state'), config];
      return { command, says: /^(?!.*error).*serve\.log/is };
    },
  ],
  ['docker compose', 'its file', composeCheck()],
  ['docker compose', 'its file with PostgreSQL', composeCheck('--profile', 'postgres')],
  [
    'haproxy',
    'its file without a warning',
    async (folder) => {
      const { key, cert } = await selfSigned();
      writeFileSync(join(folder, 'hail.pem'), `${key}${cert}`);
      const config = adapted('haproxy.cfg', { '/etc/haproxy/hail.pem': join(folder, 'hail.pem') });
      writeFileSync(join(folder, 'haproxy.cfg'), config);
      return { command: ['haproxy', '-c', '-f', join(folder, 'haproxy.cfg')], says: /^(?!.*(WARNING|ALERT))/s };
    },
  ],
  [
    'nginx',
    'its file, with a certificate',
    async (folder) => {
      const { key, cert } = await selfSigned();
      writeFileSync(join(folder, 'privkey.pem'), key);
      writeFileSync(join(folder, 'fullchain.pem'), cert);
      const site = adapted('nginx.conf', { '/etc/letsencrypt/live/hail.example.com': folder });
      writeFileSync(join(folder, 'site.conf'), site);
      return { command: [...nginxOn(folder), '-t'], says: /syntax is ok/ };
    },
  ],
];

for (const [program, what, make] of CHECKS)
  testWith([program], `${program} accepts ${what}`, async (t) => {
    const { command, says, env } = await make(scratchFolder(t));
    const { status, said } = run(command, env);
    t.is(status, 0, said);
    t.regex(said, says);
  });

testWith(['systemd-analyze'], 'systemd reads the times of the timers as every day', (t) => {
  for (const name of UNITS.filter((each) => each.endsWith('.timer'))) {
    const when = /^OnCalendar=(.+)$/m.exec(textOf(name))?.[1] ?? '';
    const base = ['--iterations=2', '--base-time=2026-05-01 00:00:00 UTC'];
    const { status, said } = run(['systemd-analyze', 'calendar', ...base, when]);
    t.is(status, 0, said);
    t.regex(said, /2026-05-01 0\d:10:00 UTC[\s\S]*2026-05-02 0\d:10:00 UTC/);
  }
});

interface Upstreams {
  readonly port: number;
  readonly upstreams: readonly number[];
}

/** The call of nginx with `site.conf` of a folder, included as Debian's file includes the shipped one. */
function nginxOn(folder: string): readonly string[] {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr; worker_processes 1; ${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 512; }
http { access_log off; ${temporary.join(' ')} include ${folder}/site.conf; }
`,
  );
  return ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'];
}

/** The shipped file of nginx without TLS, as a user without rights may run it. */
async function startNginx(t: ExecutionContext, { port, upstreams }: Upstreams) {
  const folder = scratchFolder(t);
  const [first = 0, second] = upstreams;
  const site = adapted('nginx.conf', {
    'server 127.0.0.1:8080': `server 127.0.0.1:${first}`,
    '#server 127.0.0.1:8081': second === undefined ? '#' : `server 127.0.0.1:${second}`,
    'listen 443 ssl http2;': `listen 127.0.0.1:${port};`,
    '    listen [::]:443 ssl http2;\n': '',
    'listen 80;': `listen 127.0.0.1:${await freePort()};`,
    '    listen [::]:80;\n': '',
    'ssl_certificate ': '#',
    'ssl_certificate_key ': '#',
  });
  writeFileSync(join(folder, 'site.conf'), site);
  await startProxy(t, port, nginxOn(folder), {});
}

/** The shipped file of Caddy with an address without TLS. */
async function startCaddy(t: ExecutionContext, { port, upstreams }: Upstreams) {
  const folder = scratchFolder(t);
  // Its port for administration would be taken by any other Caddy.
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${textOf('Caddyfile')}`);
  await startProxy(t, port, ['caddy', 'run', '--config', join(folder, 'Caddyfile')], {
    HOME: folder,
    SITE_ADDRESS: `http://127.0.0.1:${port}`,
    UPSTREAMS: upstreams.map((each) => `127.0.0.1:${each}`).join(' '),
  });
}

/** Runs a proxy in the foreground until the test ends. */
async function startProxy(
  t: ExecutionContext,
  port: number,
  [command = '', ...args]: readonly string[],
  env: Record<string, string>,
) {
  const child = spawn(command, args, { env: { PATH, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  const exit = once(child, 'exit');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  t.teardown(async () => {
    child.kill('SIGTERM');
    await exit;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${command} ended: ${said}`);
    return await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  });
}

/** Starts a PostgreSQL for one test and returns the address of its database. */
async function startCluster(t: ExecutionContext): Promise<string> {
  const port = await freePort();
  const folder = scratchFolder(t);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const [uid, gid] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, 'postgres'])));
    chownSync(folder, uid ?? 0, gid ?? 0);
  }
  const [version = ''] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a));
  // It does not run as root: its own user runs it then.
  const [command = '', ...before] = isRoot ? ['runuser', '-u', 'postgres', '--', 'env'] : ['env'];
  const call = (program: string, ...args: string[]) => {
    const path = join('/usr/lib/postgresql', version, 'bin', program);
    execFileSync(command, [...before, path, '-D', join(folder, 'db'), ...args], { cwd: folder, stdio: 'ignore' });
  };
  call('initdb', '-U', 'hail', '-A', 'trust', '--no-sync');
  const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=off`;
  call('pg_ctl', '-w', '-l', join(folder, 'log'), '-o', options, 'start');
  t.teardown(() => call('pg_ctl', '-w', '-m', 'immediate', 'stop'));
  return `postgres://hail@127.0.0.1:${port}/postgres`;
}

/** What the clients of a load were told. */
interface Told {
  /** Answers other than 200, and requests without an answer. */
  readonly failures: string[];
  answers: number;
  /** Sum of `X-Credits-Charged`. */
  charged: number;
}

const CLIENTS = 8;
const BAD_GATEWAY = 502;
const QUESTION = JSON.stringify({ lat: 35.235, lon: -96.475, date_start: '2026-05-01', date_end: '2026-05-02' });
const READS = [
  '/v1/hail/current?lat=35.2&lon=-97&radius_km=100',
  '/v1/storms?lat=35.2&lon=-97&radius_km=100',
  '/v1/usage',
];

/**
 * Clients that ask one question after the other over kept connections; the function ends them. With `repeats_writes` they repeat
 * a write that the proxy could not pass on, under the same key.
 */
function startLoad(url: string, key: string, repeats_writes: boolean) {
  const told: Told = { failures: [], answers: 0, charged: 0 };
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const ask = async (path: string, write: RequestInit = {}): Promise<string> => {
    try {
      const answer = await fetch(`${url}${path}`, { ...write, headers: { ...headers, ...write.headers } });
      const text = await answer.text();
      told.charged += Number(answer.headers.get('X-Credits-Charged') ?? 0);
      if (answer.status === BAD_GATEWAY && write.method === 'POST' && repeats_writes) return await ask(path, write);
      told.answers += 1;
      if (answer.status !== 200) told.failures.push(`${path}: ${answer.status} ${text.slice(0, 200)}`);
      return text;
    } catch (error) {
      told.failures.push(`${path}: ${error instanceof Error ? error.cause : error}`);
      return '';
    }
  };
  let isOver = false;
  let posts = 0;
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let k = 0; !isOver; k++) {
      if (k % 4 < READS.length) {
        await ask(READS[(client + k) % READS.length] ?? '');
        continue;
      }
      const post = { method: 'POST', body: QUESTION, headers: { 'Idempotency-Key': `load-${posts++}` } };
      const first = await ask('/v1/verify', post);
      // The same again, whichever service it reaches, is the same answer without a charge.
      const again = await ask('/v1/verify', post);
      if (again !== first)
        told.failures.push(`/v1/verify again: ${again.slice(0, 200)}, expected ${first.slice(0, 200)}`);
    }
  });
  const end = async () => {
    isOver = true;
    await Promise.all(clients);
  };
  return { told, end };
}

/** Runs `hail-api` on the records of a test. */
function operate(settings: Readonly<Record<string, string>>, ...args: string[]) {
  const environment = { HAIL_LOG_LEVEL: 'error', HAIL_NOW: new Date(WHOLE_NOW_MS).toISOString(), ...settings };
  const { status, said } = run([process.execPath, commandPath('hail-api'), ...args], environment);
  if (status !== 0) throw new Error(`hail-api ${args.join(' ')} ended with ${status}: ${said}`);
  return said;
}

interface Restarts {
  readonly services: number;
  readonly database_url: string | null;
  readonly startProxyBefore: (t: ExecutionContext, proxy: Upstreams) => Promise<void>;
  readonly repeats_writes: boolean;
}

/** Restarts one service after the other, twice, while clients ask through the proxy; what they were told must be what was charged. */
async function restartUnderLoad(t: ExecutionContext, { services: count, database_url, ...load }: Restarts) {
  const root = join(scratchFolder(t), 'root');
  copyFolder(await wholeRoot(), root);
  const records = database_url === null ? {} : { HAIL_DATABASE_URL: database_url };
  const start = (port: number) =>
    startServe(root, WHOLE_NOW_MS, 'warn', { ...records, HAIL_PORT: String(port), HAIL_TRUST_PROXY: '127.0.0.1,::1' });
  const ports: number[] = [];
  const services: ServeChild[] = [];
  t.teardown(() => Promise.all(services.map((service) => service.end('SIGKILL'))));
  for (let k = 0; k < count; k++) {
    ports.push(await freePort());
    services.push(await start(ports[k] ?? 0));
  }
  const settings = { HAIL_DATA: root, ...records };
  operate(settings, 'plan', 'set', 'default', '--rate', '1000000');
  const port = await freePort();
  await load.startProxyBefore(t, { port, upstreams: ports });
  const { told, end } = startLoad(`http://127.0.0.1:${port}`, services[0]?.keys?.live ?? '', load.repeats_writes);
  const fiftyMore = (enough = told.answers + 50) => until(() => told.answers >= enough);
  await fiftyMore();
  for (let round = 0; round < 2; round++)
    for (const [k, service] of services.entries()) {
      await service.end('SIGTERM');
      t.is(service.child.exitCode, 0, service.log());
      services[k] = await start(ports[k] ?? 0);
      await fiftyMore();
    }
  await end();
  t.deepEqual(told.failures, []);
  t.true(told.charged > 0);
  const { used } = JSON.parse(operate(settings, 'usage', 'show', 'default', '--json'));
  t.is(used, told.charged);
  operate(settings, 'usage', 'verify');
  t.log(`${told.answers} answers, ${told.charged} credits`);
}

testWith(
  ['nginx', 'postgresql'],
  'two services on one PostgreSQL restart one after the other behind nginx: no request fails, and none is charged twice',
  async (t) => {
    const database_url = await startCluster(t);
    await restartUnderLoad(t, { services: 2, database_url, startProxyBefore: startNginx, repeats_writes: false });
  },
);

testWith(
  ['caddy'],
  'the only service restarts behind Caddy: reads wait for it, a write that is repeated is charged once, and nothing fails',
  // Caddy before 2.11.2 answers 502 to a request with a body whose first connection is refused.
  (t) => restartUnderLoad(t, { services: 1, database_url: null, startProxyBefore: startCaddy, repeats_writes: true }),
);

test.serial(
  'the restore drill of the page runs as printed on a backup made by its script, and doctor finds no fault',
  async (t) => {
    const folder = scratchFolder(t);
    const root = join(folder, "the operator's root");
    const source = operator(t);
    const [report] = await withReports(source, ['%PDF-1.7']);
    copyFolder(source.config.data_root, root);
    if (report === undefined) throw new Error('no report was made');
    const inRoot = relative(root, jobFilePath(root, report));
    for (const name of ['bin', 'etc', 'backups']) mkdirSync(join(folder, name));
    const me = userInfo().username;
    const command = adapted('hail-command.sh', {
      '/opt/hail/current': PROJECT.replace(/\/$/, ''),
      '/etc/hail/': `${folder}/etc/`,
      '= hail ]': `= ${me} ]`,
    });
    for (const name of ['hail-api', 'hail-pipeline'])
      writeFileSync(join(folder, 'bin', name), command, { mode: 0o755 });
    writeFileSync(
      join(folder, 'etc/hail.env'),
      `HAIL_DATA="${root}"\nHAIL_BASE_URL=https://hail.example.com/v1\nHAIL_LOG_LEVEL=warn\n`,
    );
    const shell = (script: string, cwd: string) => {
      const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', `set -euo pipefail\n${script}`], {
        cwd,
        encoding: 'utf8',
        env: { PATH: `${folder}/bin:${PATH}`, HAIL_DATA: root },
      });
      t.is(status, 0, `${stdout}${stderr}`);
      return stdout;
    };

    // The first start makes the master key.
    const service = await startServe(root, WHOLE_NOW_MS, 'error');
    await service.end('SIGTERM');
    const backup = `sh ${file('backup.sh')} ${folder}/backups`;
    const backups = () =>
      readdirSync(join(folder, 'backups'))
        .filter((name) => /^2\w+Z$/.test(name))
        .sort();
    mkdirSync(join(folder, 'backups/20260101T000000Z.partial'));
    shell(backup, PROJECT);
    const [first = ''] = backups();
    const copyIn = (name: string) => join(folder, 'backups', name, inRoot);
    t.is(readFileSync(copyIn(first), 'utf8'), '%PDF-1.7');
    t.deepEqual(readdirSync(join(folder, 'backups')), [first]);

    const [drill = ''] = codeBlocks(sectionOf(readDocument('api/docs/operate.md'), '### Restore drill'), 'sh');
    const said = shell(
      drill
        .replaceAll('/srv/hail-drill', `${folder}/drill`)
        .replaceAll('/etc/hail/', `${folder}/etc/`)
        .replaceAll('/var/backups/hail', `${folder}/backups`)
        .replaceAll('-o hail -g hail ', '')
        // Ends only by a signal; that it answers and starts no worker is tested beside the command.
        .replace(/^hail-api serve .*$/m, ''),
      folder,
    );
    t.regex(said, /The ledger adds up/);
    t.regex(said, /^ok +master key/m);
    t.notRegex(said, /^fault/m);

    // Nineteen older backups and a second one: the two share the file, and fourteen are kept.
    for (let day = 10; day < 29; day++) mkdirSync(join(folder, `backups/202604${day}T000000Z`));
    while (new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '') === first) await new Promise(setImmediate);
    shell(backup, PROJECT);
    const kept = backups();
    t.is(kept.length, 14);
    t.deepEqual(kept.slice(-2, -1), [first]);
    t.is(statSync(copyIn(kept.at(-1) ?? '')).ino, statSync(copyIn(first)).ino);
    t.is(kept[0], '20260417T000000Z');
  },
);
