import type { Command } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import { periodOf } from '../billing/ledger.ts';
import { adjustUsage, type LedgerCheck, readUsage, refundRequest, verifyLedger } from '../billing/usage.ts';
import type { Config } from '../config.ts';
import { argument, CommandError, calendarMonth, group, onBusiness, onRecords, wholeNumber } from './cli.ts';

const LARGEST_ADJUSTMENT = 1_000_000_000;
/** 1 to 500 printable characters that begin and end with something to see. */
const REASON = /^(?=\S)[^\p{C}]{1,500}(?<=\S)$/u;

/** `hail-api usage`: credits, a check of the ledger, and corrections. */
export function usageCommand(config: () => Config): Command {
  return group('usage', 'credits: what was used, whether the ledger adds up, corrections', [
    onBusiness(config, {
      usage: 'show <business>',
      about: 'credits of a month',
      options: (command) => command.option('--period <month>', 'YYYY-MM; this month when left out', calendarMonth),
      run: async ({ records, business, now_ms }, { period = periodOf(now_ms) }: { readonly period?: string }) => ({
        json: { period, ...(await readUsage(records.reader, business.id, period, now_ms)) },
      }),
    }),
    onRecords(config, {
      usage: 'verify',
      about: 'add up the ledger and compare it with everything counted beside it; exit code 5 when it differs',
      run: async ({ records }) => {
        const check = await verifyLedger(records.reader);
        if (check.faults.length > 0) process.exitCode = EXIT.check_found;
        return { json: check, lines: ledgerLines(check) };
      },
    }),
    onBusiness(config, {
      usage: 'adjust <business> <credits>',
      about: 'give credits back (negative) or take them (positive) this month, as a ledger row of its own',
      options: (command) =>
        command.requiredOption('--reason <text>', 'why: kept in the ledger and the audit log', reasonOf),
      help: "Example:\n  hail-api usage adjust acme --reason 'outage of 19 May' -- -500",
      run: async ({ records, business, now_ms }, { reason }: { readonly reason: string }, text) => {
        const credits = wholeNumber(-LARGEST_ADJUSTMENT, LARGEST_ADJUSTMENT)(text);
        if (credits === 0) throw new CommandError('usage', 'usage: credits are 0, expected some to give or take');
        await records.transaction((rows) => adjustUsage(rows, business, credits, reason, now_ms));
        const { used } = await readUsage(records.reader, business.id, periodOf(now_ms), now_ms);
        return { json: { credits, reason, used } };
      },
    }),
    onRecords(config, {
      usage: 'refund <request_id>',
      about: 'give the charge of one request back, once: one that stands although its answer was lost',
      options: (command) =>
        command.requiredOption('--reason <text>', 'why: kept in the ledger and the audit log', reasonOf),
      help: "Example:\n  hail-api usage refund req_01JV9Q2M7T8Y5K3N6P4R1S0W9X --reason 'answer lost'",
      run: async ({ records, now_ms }, { reason }: { readonly reason: string }, request_id) => {
        const refund = await records.transaction((rows) => refundRequest(rows, request_id, reason, now_ms));
        if (refund === 'unknown') throw new CommandError('not_found', `request ${request_id}: was not charged`);
        if (refund === 'refunded before')
          throw new CommandError('conflict', `request ${request_id}: was refunded, expected one that was not`);
        return { json: { request_id, reason, ...refund } };
      },
    }),
  ]);
}

/** Argument: a reason in words. */
const reasonOf = argument('a reason of 1 to 500 printable characters', (text) =>
  REASON.test(text.trim()) ? text.trim() : null,
);

/** Result of the check of the ledger, as lines of text. */
export function ledgerLines({ rows, credits, faults }: LedgerCheck): readonly string[] {
  const read = `${counted(rows, 'ledger row')}, ${counted(credits, 'credit')}`;
  if (faults.length === 0) return [`The ledger adds up: ${read}.`];
  return [
    `${counted(faults.length, 'sum')} of ${read} differ:`,
    ...faults.map((fault) => {
      const found = 'found_credits' in fault ? fault.found_credits : fault.found_count;
      const ledger = 'ledger_credits' in fault ? fault.ledger_credits : fault.ledger_count;
      return `  ${fault.business_id} ${fault.subject}: ${fault.what} says ${found}, the ledger ${ledger}`;
    }),
  ];
}
