import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { stringify } from 'yaml';
import { createPipelineMetrics } from '../../../pipeline/metrics/registry.ts';
import { watchRoot } from '../../../pipeline/metrics/watched-stream.ts';
import { ALERT_CASES, type AlertCase, LOOK_AT } from '../../support/monitoring/alert-cases.ts';
import { alertRules, MONITORING } from '../../support/monitoring/dashboard.ts';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
/** Skipped, with its reason in the title, where the program is absent. */
const withPromtool = (title: string) => (hasPromtool ? title : `${title} (needs promtool, which is absent)`);
const testWithPromtool = hasPromtool ? test : test.skip;

function promtool(args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { status, told: `${stdout}${stderr}` };
}

/** One test of promtool: whether the alert fires at the end of its series. */
function unitTest(alert: string, series: AlertCase['fires'], fires: boolean) {
  return {
    name: `${alert} ${fires ? 'fires' : 'stays quiet'}`,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) > 0`,
        eval_time: LOOK_AT,
        exp_samples: fires ? [{ labels: '{}', value: 1 }] : [],
      },
    ],
  };
}

testWithPromtool(withPromtool('promtool finds no fault in the rules and the scrape configuration'), (t) => {
  for (const [kind, file] of [
    ['rules', 'rules.yml'],
    ['config', 'prometheus.yml'],
  ] as const) {
    const { status, told } = promtool(['check', kind, fileURLToPath(new URL(file, MONITORING))]);
    t.is(status, 0, told);
  }
});

testWithPromtool(withPromtool('every alert fires on what it is for, and stays quiet just below it'), (t) => {
  const rules = alertRules();
  t.deepEqual(
    Object.keys(ALERT_CASES),
    rules.map(({ alert }) => alert),
  );
  const tests = Object.entries(ALERT_CASES).flatMap(([alert, { fires, quiet }]) => [
    unitTest(alert, fires, true),
    unitTest(alert, quiet, false),
  ]);
  const path = join(mkdtempSync(join(tmpdir(), 'hail-rules-')), 'rules.test.yml');
  const rule_files = [fileURLToPath(new URL('rules.yml', MONITORING))];
  writeFileSync(path, stringify({ rule_files, evaluation_interval: '1m', tests }));
  const { status, told } = promtool(['test', 'rules', path]);
  t.is(status, 0, told);
});

testWithPromtool(withPromtool('promtool finds no fault in what the pipeline serves'), async (t) => {
  const metrics = createPipelineMetrics('1');
  await watchRoot(metrics, { data_root: tmpdir(), now: Date.now })();
  const { status, told } = promtool(['check', 'metrics'], await metrics.registry.metrics());
  t.is(status, 0, told);
  t.is(told, '');
});
