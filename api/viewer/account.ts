/*
 * Entry of the account page: credits of a month, keys, and webhooks with their attempts, tests and deliveries sent again.
 */
import { openKeyDialog, readKey } from './data/api-key.ts';
import { openService, ServiceError } from './data/service.ts';
import { barChart } from './page/bars.ts';
import { button, element, meta, onClick, textElement } from './page/page.ts';
import { cell, fillTable } from './page/table.ts';

interface Usage {
  readonly period: string;
  readonly plan: string;
  readonly credits: {
    readonly limit: number | null;
    readonly used: number;
    readonly remaining: number | null;
    readonly spend_cap: number | null;
  };
  readonly operations: {
    readonly items: readonly { operation: string; count: number; credits: number; cost_per_call: number }[];
    readonly total_count: number;
  };
  readonly daily: readonly { date: string; credits: number }[];
  readonly keys: { readonly items: readonly { id: string; name: string; status: string; requests: number }[] };
}

interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly status: string;
  readonly success_count: number;
  readonly failure_count: number;
}

interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly attempt: number;
  readonly status_code: number | null;
  readonly success: boolean;
  readonly error: string | null;
  readonly duration_ms: number;
  readonly next_retry_at: string | null;
  readonly created_at: string;
}

const OPERATIONS_SHOWN = 100;
const MONTHS_PER_YEAR = 12;
const { calls } = openService(meta('hail-api'), readKey, false);
const keyDialog = openKeyDialog(() => void show());
let period: string | null = null;
/** The month of the first answer: none is later. */
let newest: string | null = null;

/** Runs an action of the reader and shows its failure. */
async function attempt(act: () => Promise<void>): Promise<void> {
  const trouble = element('trouble');
  trouble.hidden = true;
  try {
    await act();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    trouble.hidden = false;
    trouble.textContent = error.message;
    if (error.needs_key) keyDialog.ask(readKey() === null ? null : error.message);
  }
}

function show(): Promise<void> {
  return attempt(async () => {
    const month = period === null ? '' : `&period=${period}`;
    const { body } = await calls.get(`/usage?operations_limit=${OPERATIONS_SHOWN}${month}`);
    const usage: Usage = body;
    period = usage.period;
    newest ??= usage.period;
    element('account').hidden = false;
    element<HTMLButtonElement>('later-month').disabled = usage.period >= newest;
    drawUsage(usage);
  });
}

function drawUsage({ period: shown, plan, credits, operations, daily, keys }: Usage): void {
  element('month').textContent = new Date(`${shown}-01T00:00:00Z`).toLocaleDateString('en', {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  });
  const { used, limit, remaining, spend_cap } = credits;
  const left = limit === null ? 'no monthly limit' : `${inWords(remaining ?? 0)} of ${inWords(limit)} left`;
  const cap = spend_cap === null ? '' : `, calls are refused above ${inWords(spend_cap)}`;
  element('balance').textContent = `${inWords(used)} credits used, ${left}${cap}. Plan: ${plan}.`;
  const spent = new Map(daily.map(({ date, credits: value }) => [date, value]));
  const bars = datesOf(shown).map((date) => ({ name: date, value: spent.get(date) ?? 0, label: labelOf(date) }));
  element('daily').replaceChildren(
    barChart(bars, 'credits', `Credits of each day of ${shown}; ${inWords(used)} in all`),
  );
  fillTable(
    element('operations'),
    ['Operation', 'Calls', 'Credits each', 'Credits'],
    operations.items.map(({ operation, count, cost_per_call, credits: sum }) => [operation, count, cost_per_call, sum]),
    'No call was charged in this month.',
  );
  fillTable(
    element('keys'),
    ['Key', 'Name', 'State', 'Requests'],
    keys.items.map(({ id, name, status, requests }) => [id, name, status, requests]),
    'No key.',
  );
}

/** Every date of a month, `2026-05-01` and so on. */
function datesOf(month: string): string[] {
  const first = new Date(`${month}-01T00:00:00Z`);
  const days = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  return Array.from({ length: days }, (_, k) => `${month}-${String(k + 1).padStart(2, '0')}`);
}

/** Days that are written under their bar: the first and each fifth. */
function labelOf(date: string): string | null {
  const day = Number(date.slice(-2));
  return day === 1 || day % 5 === 0 ? String(day) : null;
}

function inWords(value: number): string {
  return value.toLocaleString('en-US');
}

function moveMonth(months: number): void {
  if (period === null) return;
  const [year, month] = period.split('-').map(Number) as [number, number];
  const moved = year * MONTHS_PER_YEAR + month - 1 + months;
  period = `${Math.floor(moved / MONTHS_PER_YEAR)}-${String((moved % MONTHS_PER_YEAR) + 1).padStart(2, '0')}`;
  void show();
}

/** Saves the complete list of operations of the month. */
function saveUsage(): Promise<void> {
  return attempt(async () => {
    const address = URL.createObjectURL(await calls.blob(`/usage/export?period=${period}`));
    const anchor = document.createElement('a');
    anchor.href = address;
    anchor.download = `usage-${period}.csv`;
    anchor.click();
    URL.revokeObjectURL(address);
  });
}

function showWebhooks(): Promise<void> {
  return attempt(async () => {
    const { body } = await calls.get('/webhooks');
    const webhooks: readonly Webhook[] = body.webhooks;
    const none = textElement('p', 'This account has no webhook.');
    element('webhooks').replaceChildren(...(webhooks.length === 0 ? [none] : webhooks.map(webhookCard)));
    element('load-webhooks').textContent = 'Read webhooks again';
  });
}

function webhookCard({ id, url, events, status, success_count, failure_count }: Webhook): HTMLElement {
  const card = document.createElement('article');
  card.className = 'webhook';
  const address = document.createElement('code');
  address.textContent = url;
  const result = textElement('p', '', 'result');
  result.setAttribute('aria-live', 'polite');
  const attempts = document.createElement('div');
  attempts.className = 'scroll';
  card.append(
    address,
    textElement(
      'p',
      `${status}, ${inWords(success_count)} delivered, ${inWords(failure_count)} failed. ${events.join(', ')}`,
    ),
    buttonOf('Show attempts', () => showAttempts(id, attempts)),
    ' ',
    buttonOf('Send a test', async () => {
      const sent: Sent & { success: boolean } = (await calls.post(`/webhooks/${id}/test`, {})).body;
      result.textContent = sent.success
        ? `The test was answered ${sent.status_code}.`
        : `The test failed: ${outcomeOf(sent)}.`;
    }),
    result,
    attempts,
  );
  return card;
}

async function showAttempts(id: string, into: HTMLElement): Promise<void> {
  const { body } = await calls.get(`/webhooks/${id}/deliveries?limit=100`);
  const deliveries: readonly Delivery[] = body.deliveries;
  const table = document.createElement('table');
  fillTable(
    table,
    ['Sent (UTC)', 'Event', 'Attempt', 'Answer', 'Milliseconds', 'Next attempt', ''],
    deliveries.map((each) => [
      each.created_at.slice(0, 19).replace('T', ' '),
      each.event,
      each.attempt,
      cell(each.success ? String(each.status_code) : outcomeOf(each), each.success ? '' : 'failed'),
      each.duration_ms,
      each.next_retry_at?.slice(0, 19).replace('T', ' ') ?? '',
      buttonOf('Send again', async () => {
        await calls.post(`/webhooks/${id}/deliveries/${each.id}/redeliver`);
        await showAttempts(id, into);
      }),
    ]),
    'Nothing has been sent to this webhook yet.',
  );
  into.replaceChildren(table);
}

/** How sending an event went. */
interface Sent {
  readonly status_code: number | null;
  readonly error?: string | null;
  readonly message?: string;
}

/** `503`, or why there was no answer. */
function outcomeOf(sent: Sent): string {
  return sent.status_code === null ? (sent.message ?? sent.error ?? 'no answer') : String(sent.status_code);
}

/** A button that is disabled while its action runs. */
function buttonOf(words: string, act: () => Promise<void>): HTMLButtonElement {
  const run = async () => {
    made.disabled = true;
    await attempt(act);
    made.disabled = false;
  };
  const made = button(words, () => void run(), 'link');
  return made;
}

onClick('change-key', () => keyDialog.ask(null));
onClick('earlier-month', () => moveMonth(-1));
onClick('later-month', () => moveMonth(1));
onClick('save-usage', () => void saveUsage());
onClick('load-webhooks', () => void showWebhooks());
await show();
document.documentElement.dataset.ready = 'true';
