/** Series by name, in the notation of promtool; a step is a minute. */
type Series = Readonly<Record<string, string>>;

/** What makes an alert fire within six and a half hours, and what is near it and must not. */
export interface AlertCase {
  readonly fires: Series;
  readonly quiet: Series;
}

const ALWAYS = (value: number) => `${value}x400`;

/** The end of the series: alerts are looked at here. */
export const LOOK_AT = '6h30m';
const LOOK_AT_S = 6.5 * 3600;

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
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
  HailLedgerDiffers: {
    fires: { 'hail_ledger_difference_credits{against="days"}': ALWAYS(-3) },
    quiet: { 'hail_ledger_difference_credits{against="days"}': ALWAYS(0) },
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
  HailReceiversPaused: {
    fires: { hail_deliveries_paused: ALWAYS(1) },
    quiet: { hail_deliveries_paused: '1x370 0x20' },
  },
};
