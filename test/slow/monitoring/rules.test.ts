import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { stringify } from 'yaml';
import { createPipelineMetrics } from '../../../pipeline/metrics/registry.ts';
import { watchRoot } from '../../../pipeline/metrics/watched-stream.ts';
import { alertRules, MONITORING } from '../../support/monitoring/dashboard.ts';

/** Series by name, in the notation of promtool; a step is a minute. */
type Series = Readonly<Record<string, string>>;

/** What makes an alert fire within six and a half hours, and what is near it and must not. */
interface AlertCase {
  readonly fires: Series;
  readonly quiet: Series;
}

const ALWAYS = (value: number) => `${value}x400`;

/** The end of the series: alerts are looked at here. */
const LOOK_AT = '6h30m';
const LOOK_AT_S = 6.5 * 3600;

const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  HailPipelineDown: {
    fires: { 'up{job="hail-pipeline",instance="a"}': ALWAYS(0) },
    quiet: { 'up{job="hail-pipeline",instance="a"}': ALWAYS(1), 'up{job="node",instance="a"}': ALWAYS(0) },
  },
  HailScansStale: {
    fires: { hail_pipeline_scan_newest_timestamp_seconds: ALWAYS(LOOK_AT_S - 1500) },
    quiet: {
      hail_pipeline_scan_newest_timestamp_seconds: ALWAYS(LOOK_AT_S - 600),
      hail_scan_age_seconds: ALWAYS(899),
    },
  },
  HailFeedStale: {
    fires: { 'hail_feed_stale{feed="lsr"}': ALWAYS(1) },
    quiet: { 'hail_feed_stale{feed="lsr"}': `${'0x380'} 1x10` },
  },
  HailFeedFailing: {
    fires: { 'hail_pipeline_feed_failed{feed="lsr"}': ALWAYS(1) },
    quiet: { 'hail_pipeline_feed_failed{feed="lsr"}': '0x370 1x20' },
  },
  HailFilesRefused: {
    fires: { 'hail_pipeline_files_refused_total{reason="read"}': '0+1x400' },
    quiet: { 'hail_pipeline_files_refused_total{reason="read"}': '0x360 1x40' },
  },
  HailSourceFailing: {
    fires: { 'hail_pipeline_fetch_failures_total{what="file"}': '0+10x400' },
    quiet: { 'hail_pipeline_fetch_failures_total{what="file"}': '0+1x400' },
  },
  HailPipelineWaiting: {
    fires: { 'hail_pipeline_waiting{instance="a"}': ALWAYS(1) },
    quiet: { 'hail_pipeline_waiting{instance="a"}': '0x387 1x10' },
  },
  HailDiskLow: {
    // 50 GB of 1000, and 5 GB an hour less.
    fires: {
      'hail_pipeline_disk_free_bytes{instance="a"}': '80000000000-83000000x400',
      'hail_pipeline_disk_size_bytes{instance="a"}': ALWAYS(1e12),
    },
    quiet: {
      'hail_pipeline_disk_free_bytes{instance="a"}': '80000000000-8000000x400',
      'hail_pipeline_disk_size_bytes{instance="a"}': ALWAYS(1e12),
    },
  },
  HailServiceDown: {
    fires: { 'up{job="hail-api",instance="a"}': ALWAYS(0) },
    quiet: { 'up{job="hail-api",instance="a"}': ALWAYS(1) },
  },
  HailRootNotReady: {
    fires: { 'hail_ready{instance="a",part="data"}': ALWAYS(0), 'hail_ready{instance="a",part="records"}': ALWAYS(1) },
    quiet: { 'hail_ready{instance="a",part="data"}': ALWAYS(1), 'hail_ready{instance="a",part="records"}': ALWAYS(1) },
  },
  HailServerErrors: {
    fires: { 'hail_failures_total{instance="a"}': '0+6x400' },
    quiet: { 'hail_failures_total{instance="a"}': '0+1x400' },
  },
  HailOverloaded: {
    fires: { 'hail_overload_refusals_total{instance="a",reason="engine"}': '0+60x400' },
    quiet: { 'hail_overload_refusals_total{instance="a",reason="engine"}': '0+2x400' },
  },
  HailEventLoopDelayed: {
    fires: { 'hail_nodejs_eventloop_lag_p99_seconds{instance="a"}': ALWAYS(0.8) },
    quiet: {
      'hail_nodejs_eventloop_lag_p99_seconds{instance="a"}': ALWAYS(0.1),
      'hail_pipeline_nodejs_eventloop_lag_p99_seconds{instance="b"}': ALWAYS(2),
    },
  },
  HailDeliveriesFailing: {
    fires: {
      'hail_delivery_attempts_total{outcome="retried"}': '0+6x400',
      'hail_delivery_attempts_total{outcome="delivered"}': '0+4x400',
    },
    quiet: {
      'hail_delivery_attempts_total{outcome="retried"}': '0+4x400',
      'hail_delivery_attempts_total{outcome="delivered"}': '0+6x400',
    },
  },
  HailDeliveryOverdue: {
    fires: { hail_delivery_oldest_due_age_seconds: '0+60x400' },
    quiet: { hail_delivery_oldest_due_age_seconds: ALWAYS(200) },
  },
  HailDeliveryQueueGrows: {
    fires: { hail_deliveries_pending: '500+10x400' },
    quiet: { hail_deliveries_pending: '4990-5x400' },
  },
  HailJobsWait: {
    fires: { hail_job_oldest_waiting_age_seconds: '0+60x400' },
    quiet: { hail_job_oldest_waiting_age_seconds: ALWAYS(600) },
  },
};

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
