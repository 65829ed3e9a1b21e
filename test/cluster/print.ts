import { columns, grouped, readableBytes } from '../../schemas/command-line.ts';
import type { Traffic } from './cluster.ts';
import type { FaultRow } from './faults.ts';
import type { Outcome } from './judge.ts';
import type { Told } from './load.ts';
import type { Usage } from './usage.ts';

/** Everything that a run found out. */
export interface Findings {
  readonly outcomes: readonly Outcome[];
  readonly told: Told;
  readonly usage: ReadonlyMap<string, Usage>;
  readonly traffic: Traffic;
  readonly scans: number;
}

/** Kinds of failures that are printed, the most frequent first. */
const REASONS = 8;
/** Names that are printed of what was seen of a fault. */
const SEEN = 4;

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printFindings({ outcomes, told, usage, traffic, scans }: Findings): void {
  print(`\n${outcomeTable(outcomes)}\n\n${usageTable(usage)}\n`);
  const times = told.took_ms.toSorted((a, b) => a - b);
  const quantile = (q: number) => Math.round(times[Math.floor(q * (times.length - 1))] ?? 0);
  print(
    `clients: ${grouped(told.requests)} requests, ${grouped(told.failures.length)} without success, answers in ${quantile(0.5)} ms (p50), ${quantile(0.99)} ms (p99)`,
  );
  const reasons = Map.groupBy(told.failures, ({ what, reason }) => `${what.split('?')[0]}: ${reason.slice(0, 80)}`);
  for (const [reason, { length }] of [...reasons].sort(([, a], [, b]) => b.length - a.length).slice(0, REASONS))
    print(`  ${grouped(length)} of ${reason}`);
  for (const [name, { requests, bytes_in, bytes_out }] of Object.entries(traffic))
    print(
      `store, ${name}: ${grouped(requests)} requests (${(requests / scans).toFixed(0)} a scan), ${readableBytes(bytes_in)} to it, ${readableBytes(bytes_out)} from it`,
    );
}

export function printFaults(faults: readonly FaultRow[]): void {
  const rows = faults.map(({ node, how, whole_ms, requests, failed, lost, gone, doubled, seen }) => [
    node,
    how,
    whole_ms === null ? 'never' : `${(whole_ms / 1000).toFixed(1)} s`,
    grouped(requests),
    [...failed].map(([status, count]) => `${grouped(count)} × ${status}`).join(', ') || '0',
    gone > 0 ? `${lost - gone}, and ${gone} gone` : String(lost),
    String(doubled),
    `${seen.slice(0, SEEN).join(', ')}${seen.length > SEEN ? ', …' : ''}`,
  ]);
  const head = [
    'node',
    'fault',
    'whole again',
    'requests',
    'failed',
    'charges lost',
    'doubled',
    'seen in logs and at /readyz',
  ];
  print(`\n${columns([head, ...rows], 'llrrrrrl')}\n`);
}

function outcomeTable(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ what, sent, lost, doubled, note }) => [
    what,
    grouped(sent),
    grouped(lost),
    grouped(doubled),
    note,
  ]);
  return columns([['what', 'sent', 'lost', 'doubled', ''], ...rows], 'lrrrl');
}

function usageTable(usage: ReadonlyMap<string, Usage>): string {
  const rows = [...usage].map(([node, { cpu_s, peak_mb }]) => [
    node,
    `${cpu_s.toFixed(1)} s`,
    `${peak_mb.toFixed(0)} MB`,
  ]);
  return columns([['node', 'processor', 'memory, peak'], ...rows], 'lrr');
}
