import { readFileSync } from 'node:fs';
import test from 'ava';
import { createMetrics } from '../api/http/metrics.ts';
import { serviceMetrics } from '../api/metrics/service-metrics.ts';
import { createPipelineMetrics } from '../pipeline/metrics/registry.ts';
import { watchRoot } from '../pipeline/metrics/watched-stream.ts';
import { alertRules, dashboardPanels } from './support/monitoring/dashboard.ts';
import { startService } from './support/service/service.ts';

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
  const service = await startService({ endpoints: [] });
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
  t.deepEqual(
    unknownIn('sum by (root) (rate(hail_requests_total{statsu="200"}[5m])) / hail_nothing', '{{colour}}', known),
    ['hail_nothing', 'root', 'statsu', 'colour'],
  );
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
  t.deepEqual(
    rows.map(({ title }) => title),
    ['At a glance', 'Pipeline', 'Data', 'Service', 'Deliveries', 'Jobs', 'Machine'],
  );
});

test('the guide names no metric that does not exist', (t) => {
  const known = knownMetrics();
  const named = [...readFileSync(GUIDE, 'utf8').matchAll(/`(hail_\w*[a-z])`/g)].map(([, name = '']) => name);
  t.true(named.length > 5);
  t.deepEqual(
    named.filter((name) => !known.has(name)),
    [],
  );
});

test('the guide has a section for every alert, and for no other', (t) => {
  const text = readFileSync(GUIDE, 'utf8');
  const sections = [...text.matchAll(/^\| `(Hail\w+)` \|/gm)].map((match) => match[1] ?? '');
  t.deepEqual(
    sections,
    alertRules().map(({ alert }) => alert),
  );
});
