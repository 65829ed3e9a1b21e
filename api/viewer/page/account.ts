import type { Usage } from '../../../schemas/resources/usage.ts';
import { type Service, ServiceError } from '../data/service.ts';
import { element, onClick } from './page.ts';

const OPERATIONS_SHOWN = 100;

/** The dialog with the credits of this month, by operation, and the keys of the account. */
export function connectAccount({ call }: Service, askForKey: () => void): void {
  const dialog = element<HTMLDialogElement>('account');
  const balance = element('balance');

  async function show(): Promise<void> {
    dialog.showModal();
    balance.textContent = 'Loading …';
    try {
      const usage: Usage = await call(`/usage?operations_limit=${OPERATIONS_SHOWN}`);
      const { used, limit, remaining } = usage.credits;
      const left = limit === null ? 'no monthly limit' : `${inWords(remaining ?? 0)} of ${inWords(limit)} left`;
      balance.textContent = `${usage.period}: ${inWords(used)} credits used, ${left}. Plan: ${usage.plan}.`;
      fillRows(
        'operations',
        usage.operations.items.map(({ operation, count, credits }) => [operation, count, credits]),
      );
      fillRows(
        'keys',
        usage.keys.items.map(({ id, name, status, requests }) => [id, name, status, requests]),
      );
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      balance.textContent = error.message;
      if (error.needs_key) {
        dialog.close();
        askForKey();
      }
    }
  }

  onClick('open-account', () => void show());
  onClick('close-account', () => dialog.close());
}

/** Replaces the rows of a table; numbers are written to the right. */
function fillRows(id: string, rows: readonly (readonly (string | number)[])[]): void {
  const lines = rows.map((row) => {
    const line = document.createElement('tr');
    for (const value of row) {
      const cell = line.insertCell();
      cell.textContent = typeof value === 'number' ? inWords(value) : value;
      if (typeof value === 'number') cell.className = 'number';
    }
    return line;
  });
  element(id)
    .querySelector('tbody')
    ?.replaceChildren(...lines);
}

/** Hides prices where neither the plan nor the account has a limit; where that is not known they are shown. */
export async function hidePrices({ call }: Service): Promise<void> {
  const usage: Usage | null = await call('/usage').catch(() => null);
  const is_unlimited = usage !== null && usage.credits.limit === null && usage.credits.spend_cap === null;
  document.documentElement.classList.toggle('unlimited', is_unlimited);
}

function inWords(value: number): string {
  return value.toLocaleString('en-US');
}
