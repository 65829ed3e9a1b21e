/**
 * Keys for the whole page, by name: `v`, `ArrowLeft`, `shift ArrowLeft`, `map Enter` for one that only counts while the
 * map has the focus. Fields and open dialogs keep their keys, buttons their space and enter.
 * @param {Readonly<Record<string, () => void>>} acts
 */
export function listenToKeys(acts) {
  document.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (target.matches('input:not([type="checkbox"])')) return;
    if (target.matches('button, input') && [' ', 'Enter'].includes(event.key)) return;
    const act = acts[nameOf(event, target)];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** @param {KeyboardEvent} event @param {HTMLElement} target */
function nameOf({ key, shiftKey }, target) {
  if (key.length === 1) return key.toLowerCase();
  if (shiftKey) return `shift ${key}`;
  return key === 'Enter' && target.matches('canvas') ? `map ${key}` : key;
}
