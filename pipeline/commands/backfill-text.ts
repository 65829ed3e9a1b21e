import { columns, counted, grouped, readableBytes } from '../../schemas/command-line.ts';
import type { BackfillReport } from '../run/backfill.ts';
import type { DateOutcome } from '../run/backfill-date.ts';
import type { BackfillPlan } from '../run/backfill-plan.ts';

/** Result of a backfill in lines for people. */
export function backfillText({ dates, scans, seconds }: BackfillReport): string {
  const made = dates.filter(({ status }) => status === 'done');
  const others = (['published', 'empty', 'failed', 'open'] as const).flatMap((status) => {
    const count = dates.filter((date) => date.status === status).length;
    return count === 0 ? [] : [`${counted(count, 'date')} ${OTHERS[status]}`];
  });
  const rate = scans === 0 ? '' : `, ${(seconds / scans).toFixed(2)} s per scan`;
  const summary = `Published ${counted(scans, 'scan')} of ${counted(made.length, 'storm date')} in ${grouped(seconds)} s${rate}`;
  const lines = [`${[summary, ...others].join('; ')}.`];
  const faults = dates.filter(({ status, missing, rejected }) => status === 'failed' || missing + rejected > 0);
  if (faults.length > 0) lines.push('', ...faults.map((date) => `  ${date.storm_date}  ${faultText(date)}`));
  if (faults.some(({ status, missing }) => status === 'failed' || missing > 0))
    lines.push('', 'The same command tries these dates again.');
  return `${lines.join('\n')}\n`;
}

const OTHERS = {
  published: 'published already',
  empty: 'without scans in the source',
  failed: 'failed',
  open: 'still to be made',
} as const;

function faultText({ reason, missing, rejected }: DateOutcome): string {
  if (reason !== null) return reason;
  const parts = [];
  if (rejected > 0) parts.push(`${counted(rejected, 'file')} rejected`);
  if (missing > 0) parts.push(`${counted(missing, 'file')} could not be read or fetched`);
  return parts.join(', ');
}

/** Estimate of a backfill as a table for people. */
export function backfillPlanText(plan: BackfillPlan): string {
  const { dollars, samples, workers } = plan;
  const listed = samples.map(({ storm_date, scans }) => `${storm_date} (${grouped(scans)})`).join(', ');
  const money = (amount: number) => `$${amount.toFixed(2)}`;
  const rows = [
    ['storm dates', grouped(plan.dates)],
    ['scans', grouped(plan.scans)],
    ['raw files to read', `${grouped(plan.raw_files)}, ${readableBytes(plan.raw_bytes)}`],
    ['requests to the bucket', grouped(plan.source_requests)],
    ['published', `${grouped(plan.published_objects)} files, ${readableBytes(plan.published_bytes)}`],
    [
      'hours of work',
      `${grouped(Math.ceil(plan.worker_hours))}, ${grouped(Math.ceil(plan.hours))} with ${counted(workers, 'worker')}`,
    ],
    ['PUT requests to S3', money(dollars.put_requests)],
    ['storage in S3', `${money(dollars.storage_month)} a month`],
    ['copying it out of S3', `${money(dollars.egress_once)} each time`],
  ];
  return `Estimate from the listings of ${listed}; nothing was written.\n\n${columns(rows)}\n\nReading NOAA's bucket is free.\n`;
}
