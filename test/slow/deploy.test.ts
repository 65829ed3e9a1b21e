import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { jobFilePath } from '../../api/jobs/files.ts';
import { codeBlocks, PROJECT, readDocument, sectionOf } from '../support/data/markdown.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { freePort } from '../support/free-port.ts';
import { commandPath } from '../support/kill/command.ts';
import { withReports } from '../support/service/done-reports.ts';
import { operator } from '../support/service/run-command.ts';
import { type ServeChild, startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS, wholeRoot } from '../support/service/whole-service.ts';
import { postgresPrograms, startCluster } from '../support/store/cluster.ts';

const DEPLOY = join(PROJECT, 'data/examples/deploy');
const file = (name: string) => join(DEPLOY, name);
const textOf = (name: string) => readFileSync(file(name), 'utf8');

/** Debian keeps some programs where only root looks for them. */
const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;

function run(command: string, ...args: string[]) {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, PATH },
  });
  return { missing: error !== undefined, status, said: `${stdout}${stderr}` };
}

/** The test, or a skipped one that names what is absent. */
function testWith(
  needs: Readonly<Record<string, boolean>>,
  title: string,
  body: (t: ExecutionContext) => Promise<void> | void,
) {
  const absent = Object.keys(needs).filter((name) => !needs[name]);
  if (absent.length === 0) test.serial(title, body);
  else test.skip(`${title} (needs ${absent.join(', ')})`, body);
}

const has = {
  systemd: !run('systemd-analyze', '--version').missing,
  caddy: !run('caddy', 'version').missing,
  nginx: !run('nginx', '-v').missing,
  logrotate: !run('logrotate', '--version').missing,
  compose: run('docker', 'compose', 'version').status === 0,
  haproxy: !run('haproxy', '-v').missing,
  openssl: !run('openssl', 'version').missing,
  postgres: postgresPrograms !== null,
};

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

const UNITS = [
  'hail-backup.service',
  'hail-backup.timer',
  'hail-compact.service',
  'hail-compact.timer',
  'hail-serve@.service',
  'hail-stream.service',
  'hail-work@.service',
];

testWith({ 'systemd-analyze': has.systemd }, 'systemd finds no fault in the units', (t) => {
  const folder = scratchFolder(t);
  // It looks for the programs that the units start.
  for (const name of UNITS) writeFileSync(join(folder, name), textOf(name).replaceAll('/opt/hail/current/', PROJECT));
  const { status, said } = run('systemd-analyze', 'verify', ...UNITS.map((name) => join(folder, name)));
  t.is(said.trim(), '');
  t.is(status, 0);
});

testWith({ 'systemd-analyze': has.systemd }, 'systemd reads the times of the timers as every day', (t) => {
  for (const name of UNITS.filter((each) => each.endsWith('.timer'))) {
    const when = /^OnCalendar=(.+)$/m.exec(textOf(name))?.[1] ?? '';
    const { status, said } = run(
      'systemd-analyze',
      'calendar',
      '--iterations=2',
      '--base-time=2026-05-01 00:00:00 UTC',
      when,
    );
    t.is(status, 0, said);
    t.regex(said, /2026-05-01 0\d:10:00 UTC[\s\S]*2026-05-02 0\d:10:00 UTC/);
  }
});

testWith({ caddy: has.caddy }, 'Caddy accepts its file, with one service and with two', (t) => {
  for (const upstreams of ['127.0.0.1:8080', '127.0.0.1:8080 127.0.0.1:8081']) {
    const folder = scratchFolder(t);
    const { status, stdout, stderr } = spawnSync('caddy', ['adapt', '--config', file('Caddyfile'), '--validate'], {
      encoding: 'utf8',
      env: { PATH, HOME: folder, UPSTREAMS: upstreams },
    });
    t.is(status, 0, stderr);
    for (const upstream of upstreams.split(' ')) t.true(stdout.includes(`{"dial":"${upstream}"}`));
    t.true(stdout.includes('"hail.example.com"'));
  }
});

testWith(
  { logrotate: has.logrotate },
  'logrotate accepts its file and finds logs under the path that it names',
  (t) => {
    const folder = scratchFolder(t);
    mkdirSync(join(folder, 'log'));
    writeFileSync(join(folder, 'log/serve.log'), 'a line\n');
    const config = join(folder, 'hail');
    writeFileSync(config, adapted('logrotate.conf', { '/var/log/hail/': `${folder}/log/` }));
    chmodSync(config, 0o644);
    const { status, said } = run('logrotate', '--debug', '--state', join(folder, 'state'), config);
    t.is(status, 0, said);
    t.notRegex(said, /error/i);
    t.true(said.includes('serve.log'));
  },
);

testWith({ 'docker compose': has.compose }, 'docker accepts the compose files, with and without PostgreSQL', (t) => {
  for (const options of [['compose.yaml'], ['compose.yaml', '--profile', 'postgres'], ['compose.cluster.yaml']]) {
    const [name = '', ...profile] = options;
    const { status, said } = run('docker', 'compose', '-f', file(name), ...profile, 'config', '--quiet');
    t.is(status, 0, said);
  }
});

testWith({ haproxy: has.haproxy, openssl: has.openssl }, 'HAProxy accepts its file without a warning', (t) => {
  const folder = scratchFolder(t);
  const pem = join(folder, 'hail.pem');
  const made = run(
    ...(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=hail.example.com'] as const),
    ...['-keyout', `${pem}.key`, '-out', pem],
  );
  t.is(made.status, 0, made.said);
  const config = join(folder, 'haproxy.cfg');
  writeFileSync(config, adapted('haproxy.cfg', { '/etc/haproxy/hail.pem': pem }));
  const { status, said } = run('haproxy', '-c', '-f', config);
  t.is(status, 0, said);
  t.notRegex(said, /WARNING|ALERT/);
});

/** Resolves as soon as somebody listens on the port; rejects when the child that should do so ends. */
async function listening(port: number, ended: Promise<never>): Promise<void> {
  const tried = async (): Promise<void> => {
    for (;;) {
      const socket = connect(port, '127.0.0.1');
      const isOpen = await new Promise<boolean>((resolve) => {
        socket.once('connect', () => resolve(true));
        socket.once('error', () => resolve(false));
      });
      socket.destroy();
      if (isOpen) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.race([tried(), ended]);
}

/** Runs a proxy in the foreground until the test ends. */
async function startProxy(
  t: ExecutionContext,
  port: number,
  [command = '', ...args]: readonly string[],
  env: Record<string, string>,
) {
  const child = spawn(command, args, { env: { PATH, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const exit = once(child, 'exit');
  const ended = exit.then(() => {
    throw new Error(`${command} ended: ${said}`);
  });
  ended.catch(() => {});
  t.teardown(async () => {
    child.kill('SIGTERM');
    await exit;
  });
  await listening(port, ended);
}

interface Proxy {
  readonly port: number;
  readonly upstreams: readonly number[];
}

/** The shipped file of nginx without TLS, as a user without rights may run it. */
async function startNginx(t: ExecutionContext, { port, upstreams }: Proxy) {
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
  writeFileSync(join(folder, 'nginx.conf'), mainFile(folder));
  await startProxy(t, port, ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {});
}

/** The file that includes the shipped one, as Debian's does. */
function mainFile(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off; pid ${folder}/pid; error_log stderr; worker_processes 1; ${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 512; }
http { access_log off; ${temporary.join(' ')} include ${folder}/site.conf; }
`;
}

/** The shipped file of Caddy with an address without TLS. */
async function startCaddy(t: ExecutionContext, { port, upstreams }: Proxy) {
  const folder = scratchFolder(t);
  // Its port for administration would be taken by any other Caddy.
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${textOf('Caddyfile')}`);
  await startProxy(t, port, ['caddy', 'run', '--config', join(folder, 'Caddyfile')], {
    HOME: folder,
    SITE_ADDRESS: `http://127.0.0.1:${port}`,
    UPSTREAMS: upstreams.map((each) => `127.0.0.1:${each}`).join(' '),
  });
}

testWith(
  { nginx: has.nginx, openssl: has.openssl },
  'nginx accepts its file as it is shipped, with a certificate',
  (t) => {
    const folder = scratchFolder(t);
    const certificate = join(folder, 'site.pem');
    const made = run(
      'openssl',
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      '/CN=hail.example.com',
      '-keyout',
      certificate,
      '-out',
      join(folder, 'cert.pem'),
    );
    t.is(made.status, 0, made.said);
    const place = '/etc/letsencrypt/live/hail.example.com';
    writeFileSync(
      join(folder, 'site.conf'),
      adapted('nginx.conf', {
        [`${place}/fullchain.pem`]: join(folder, 'cert.pem'),
        [`${place}/privkey.pem`]: certificate,
      }),
    );
    writeFileSync(join(folder, 'nginx.conf'), mainFile(folder));
    const { said } = run('nginx', '-t', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr');
    t.true(said.includes('syntax is ok'), said);
  },
);

/** What the clients of a load were told. */
interface Told {
  /** Answers other than 200, and requests without an answer. */
  readonly failures: string[];
  answers: number;
  /** Sum of `X-Credits-Charged`. */
  charged: number;
}

interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly idempotency_key?: string;
}

/** Asks over a connection of the agent; the status, the body and what was charged. */
function ask(url: string, agent: Agent, key: string, { method, path, body, idempotency_key }: Asked) {
  return new Promise<{ readonly status: number; readonly text: string; readonly charged: number }>(
    (resolve, reject) => {
      const outgoing = request(
        `${url}${path}`,
        {
          method,
          agent,
          headers: {
            Authorization: `Bearer ${key}`,
            ...(body === undefined
              ? {}
              : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
            ...(idempotency_key === undefined ? {} : { 'Idempotency-Key': idempotency_key }),
          },
        },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          answer.once('error', reject);
          answer.once('end', () =>
            resolve({
              status: answer.statusCode ?? 0,
              text,
              charged: Number(answer.headers['x-credits-charged'] ?? 0),
            }),
          );
        },
      );
      outgoing.once('error', reject);
      outgoing.end(body);
    },
  );
}

const CLIENTS = 8;
const BAD_GATEWAY = 502;
const QUESTION = JSON.stringify({ lat: 35.235, lon: -96.475, date_start: '2026-05-01', date_end: '2026-05-02' });
const READS = [
  '/v1/hail/current?lat=35.2&lon=-97&radius_km=100',
  '/v1/storms?lat=35.2&lon=-97&radius_km=100',
  '/v1/usage',
];

interface LoadOptions {
  /** Whether a client repeats a write that the proxy could not pass on, under the same key. */
  readonly repeats_writes: boolean;
}

/** Clients that ask one question after the other over kept connections; the function ends them and returns what they were told. */
function startLoad(
  url: string,
  key: string,
  { repeats_writes }: LoadOptions,
): { readonly told: Told; readonly end: () => Promise<Told> } {
  const told: Told = { failures: [], answers: 0, charged: 0 };
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  let isOver = false;
  let posts = 0;
  const tell = async (asked: Asked): Promise<string> => {
    const what = `${asked.method} ${asked.path}`;
    try {
      const { status, text, charged } = await ask(url, agent, key, asked);
      told.charged += charged;
      if (status === BAD_GATEWAY && asked.method === 'POST' && repeats_writes) return await tell(asked);
      told.answers += 1;
      if (status !== 200) told.failures.push(`${what}: ${status} ${text.slice(0, 200)}`);
      return text;
    } catch (error) {
      told.failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return '';
    }
  };
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let k = 0; !isOver; k++) {
      if (k % 4 < READS.length) {
        await tell({ method: 'GET', path: READS[(client + k) % READS.length] ?? '' });
        continue;
      }
      const post = { method: 'POST', path: '/v1/verify', body: QUESTION, idempotency_key: `load-${posts++}` } as const;
      const first = await tell(post);
      // The same again, whichever service it reaches, is the same answer without a charge.
      const again = await tell(post);
      if (again !== first)
        told.failures.push(`POST /v1/verify again: ${again.slice(0, 200)}, expected ${first.slice(0, 200)}`);
    }
  });
  return {
    told,
    end: async () => {
      isOver = true;
      await Promise.all(clients);
      agent.destroy();
      return told;
    },
  };
}

/** Resolves when so many more answers came, wherever they came from; rejects when they do not come within a minute. */
async function moreAnswers(told: Told, count: number): Promise<void> {
  const enough = told.answers + count;
  const until_ms = performance.now() + 60_000;
  while (told.answers < enough) {
    if (performance.now() > until_ms)
      throw new Error(`${told.answers} answers, expected ${enough}: ${told.failures[0]}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Runs `hail-api` on the records of a test. */
function operate(settings: Readonly<Record<string, string>>, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [commandPath('hail-api'), ...args], {
    encoding: 'utf8',
    env: { PATH, HAIL_LOG_LEVEL: 'error', HAIL_NOW: new Date(WHOLE_NOW_MS).toISOString(), ...settings },
  });
  if (status !== 0) throw new Error(`hail-api ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/** Restarts one service after the other while clients ask through the proxy; what they were told must be what was charged. */
async function restartUnderLoad(
  t: ExecutionContext,
  {
    count,
    rounds,
    database_url,
    startProxyBefore,
    load: options,
  }: {
    readonly count: number;
    readonly rounds: number;
    readonly database_url: string | null;
    readonly startProxyBefore: (t: ExecutionContext, proxy: Proxy) => Promise<void>;
    readonly load: LoadOptions;
  },
): Promise<void> {
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
  const key = services[0]?.keys?.live ?? '';
  const settings = { HAIL_DATA: root, ...records };
  operate(settings, 'plan', 'set', 'default', '--rate', '1000000');

  const port = await freePort();
  await startProxyBefore(t, { port, upstreams: ports });
  const load = startLoad(`http://127.0.0.1:${port}`, key, options);
  await moreAnswers(load.told, 50);
  for (let round = 0; round < rounds; round++)
    for (const [k, service] of services.entries()) {
      await service.end('SIGTERM');
      t.is(service.child.exitCode, 0, service.log());
      services[k] = await start(ports[k] ?? 0);
      await moreAnswers(load.told, 50);
    }
  const told = await load.end();
  t.deepEqual(told.failures, []);
  t.true(told.charged > 0);
  const { used } = JSON.parse(operate(settings, 'usage', 'show', 'default', '--json'));
  t.is(used, told.charged);
  operate(settings, 'usage', 'verify');
  t.log(`${told.answers} answers, ${told.charged} credits`);
}

testWith(
  { nginx: has.nginx, postgresql: has.postgres },
  'two services on one PostgreSQL restart one after the other behind nginx: no request fails, and none is charged twice',
  async (t) => {
    t.timeout(300_000);
    const database_url = startCluster(t, await freePort());
    await restartUnderLoad(t, {
      count: 2,
      rounds: 2,
      database_url,
      startProxyBefore: startNginx,
      load: { repeats_writes: false },
    });
  },
);

testWith(
  { caddy: has.caddy },
  'the only service restarts behind Caddy: reads wait for it, a write that is repeated is charged once, and nothing fails',
  async (t) => {
    t.timeout(300_000);
    // Caddy before 2.11.2 answers 502 to a request with a body whose first connection is refused.
    await restartUnderLoad(t, {
      count: 1,
      rounds: 2,
      database_url: null,
      startProxyBefore: startCaddy,
      load: { repeats_writes: true },
    });
  },
);

test.serial(
  'the restore drill of the page runs as printed on a backup made by its script, and doctor finds no fault',
  async (t) => {
    t.timeout(300_000);
    const folder = scratchFolder(t);
    const root = join(folder, "the operator's root");
    const source = operator(t);
    const [report] = await withReports(source, ['%PDF-1.7']);
    copyFolder(source.config.data_root, root);
    if (report === undefined) throw new Error('no report was made');
    const inRoot = relative(root, jobFilePath(root, report));
    for (const name of ['bin', 'etc', 'backups']) mkdirSync(join(folder, name));
    const me = run('id', '-un').said.trim();
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
    copyFileSync(join(root, 'records/master.key'), join(folder, 'master.key'));
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

    // A file that is lost is left out, the rest is kept, and the unit says so by its exit code.
    rmSync(join(root, inRoot));
    const lost = spawnSync('sh', [file('backup.sh'), `${folder}/backups`], {
      cwd: PROJECT,
      encoding: 'utf8',
      env: { PATH, HAIL_DATA: root, HAIL_LOG_LEVEL: 'warn' },
    });
    t.is(lost.status, 5, lost.stderr);
    t.true(lost.stdout.includes(report.id));
    t.is(backups().length, 14);
  },
);
