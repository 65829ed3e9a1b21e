import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { jobFilePath } from '../../api/jobs/files.ts';
import { codeBlocks, PROJECT, readDocument, sectionOf } from '../support/data/markdown.ts';
import { copyFolder } from '../support/data/prepared.ts';
import { freePort } from '../support/free-port.ts';
import { withReports } from '../support/service/done-reports.ts';
import {
  adapted,
  file,
  PATH,
  restartUnderLoad,
  scratchFolder,
  startProxy,
  textOf,
  type Upstreams,
} from '../support/service/restarts.ts';
import { operator } from '../support/service/run-command.ts';
import { startServe } from '../support/service/serve-child.ts';
import { WHOLE_NOW_MS } from '../support/service/whole-service.ts';
import { postgresPrograms, startCluster } from '../support/store/cluster.ts';

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

const UNITS = [
  'hail-backup.service',
  'hail-backup.timer',
  'hail-compact.service',
  'hail-compact.timer',
  'hail-serve@.service',
  'hail-stream.service',
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
  for (const options of [['compose.yaml'], ['compose.yaml', '--profile', 'postgres']]) {
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
