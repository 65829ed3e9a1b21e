import { Command, InvalidArgumentError } from 'commander';
import { counted, EXIT } from '../../schemas/command-line.ts';
import { periodOf } from '../billing/ledger.ts';
import { adjustUsage, type MonthUsage, readUsage } from '../billing/usage.ts';
import { type LedgerCheck, verifyLedger } from '../billing/verify.ts';
import {
  businessNamed,
  CommandError,
  calendarMonth,
  type Json,
  print,
  type RecordsConfig,
  table,
  wholeNumber,
  withRecords,
} from './cli.ts';

const LARGEST_ADJUSTMENT = 1_000_000_000;
/** 1 to 500 printable characters that begin and end with something to see. */
const REASON = /^(?=\S)[^\p{C}]{1,500}(?<=\S)$/u;

/** `hail-api usage`: credits, a check of the ledger, and corrections. */
export function usageCommand(config: () => RecordsConfig): Command {
  const command = new Command('usage').description('credits: what was used, whether the ledger adds up, corrections');

  command
    .command('show <business>')
    .description('credits of a month')
    .option('--period <month>', 'YYYY-MM; this month when left out', calendarMonth)
    .option('--json', 'print one JSON object')
    .action(async (nameOrId: string, { json, period }: Json & { readonly period?: string }) => {
      const settings = config();
      const now_ms = settings.now();
      const month = period ?? periodOf(now_ms);
      const usage = await withRecords(settings, async (records) =>
        readUsage(records.reader, (await businessNamed(records, nameOrId)).id, month, now_ms),
      );
      print(json, { period: month, ...usage }, usageLines(month, usage));
    });

  command
    .command('verify')
    .description('add up the ledger and compare it with everything counted beside it; exit code 5 when it differs')
    .option('--json', 'print one JSON object')
    .action(async ({ json }: Json) => {
      const check = await withRecords(config(), (records) => verifyLedger(records.reader));
      print(json, check, ledgerLines(check));
      if (check.faults.length > 0) process.exitCode = EXIT.check_found;
    });

  command
    .command('adjust <business> <credits>')
    .description('give credits back (negative) or take them (positive) this month, as a ledger row of its own')
    .requiredOption('--reason <text>', 'why: kept in the ledger and the audit log', reasonOf)
    .option('--json', 'print one JSON object')
    .addHelpText('after', "\nExample:\n  hail-api usage adjust acme --reason 'outage of 19 May' -- -500")
    .action(async (nameOrId: string, text: string, { json, reason }: Json & { readonly reason: string }) => {
      const credits = wholeNumber(-LARGEST_ADJUSTMENT, LARGEST_ADJUSTMENT)(text);
      if (credits === 0) throw new CommandError(EXIT.usage, 'usage: credits are 0, expected some to give or take');
      const settings = config();
      const now_ms = settings.now();
      const { name, used } = await withRecords(settings, async (records) => {
        const business = await businessNamed(records, nameOrId);
        await records.transaction((rows) => adjustUsage(rows, business, credits, reason, now_ms));
        const { used } = await readUsage(records.reader, business.id, periodOf(now_ms), now_ms);
        return { name: business.name, used };
      });
      print(json, { credits, reason, used }, [`${name} now has used ${counted(used, 'credit')} this month.`]);
    });

  return command;
}

/** Argument parser: a reason in words. */
function reasonOf(text: string): string {
  const reason = text.trim();
  if (!REASON.test(reason)) throw new InvalidArgumentError('Expected a reason of 1 to 500 printable characters.');
  return reason;
}

function usageLines(period: string, usage: MonthUsage): readonly string[] {
  return [
    `${period}: ${counted(usage.used, 'credit')}, ${counted(usage.total_requests, 'request')}`,
    ...table(
      ['operation', 'count', 'credits', 'cost per call'],
      usage.operations.map(({ operation, count, credits, cost_per_call }) =>
        [operation, count, credits, cost_per_call].map(String),
      ),
      'no operations',
    ),
  ];
}

/** Result of the check of the ledger, as lines of text. */
export function ledgerLines({ rows, credits, faults }: LedgerCheck): readonly string[] {
  const read = `${counted(rows, 'ledger row')}, ${counted(credits, 'credit')}`;
  if (faults.length === 0) return [`The ledger adds up: ${read}.`];
  return [
    `${counted(faults.length, 'sum')} of ${read} differ:`,
    ...faults.map((fault) => {
      const [found, ledger] =
        'found_credits' in fault
          ? [fault.found_credits, fault.ledger_credits]
          : [fault.found_count, fault.ledger_count];
      return `  ${fault.business_id} ${fault.subject}: ${fault.what} says ${found}, the ledger ${ledger}`;
    }),
  ];
}
