/**
 * Keys for the whole page, by name: `v`, `ArrowLeft`, `shift ArrowLeft`; `map Enter` counts only while the map has the focus.
 * Fields, open dialogs and what handled a key itself keep their keys, buttons keep space and enter.
 */
export function listenToKeys(acts: Readonly<Record<string, () => void>>): void {
  document.addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    if (
      event.defaultPrevented ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector('dialog[open]')
    )
      return;
    if (target.matches('input:not([type="checkbox"]), select, textarea')) return;
    if (target.matches('button, input') && [' ', 'Enter'].includes(event.key)) return;
    const act = acts[keyName(event, target)];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function keyName({ key, shiftKey }: KeyboardEvent, target: HTMLElement): string {
  if (key.length === 1) return key.toLowerCase();
  if (shiftKey) return `shift ${key}`;
  return key === 'Enter' && target.matches('canvas') ? `map ${key}` : key;
}
