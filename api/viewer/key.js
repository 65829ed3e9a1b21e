const STORED_AS = 'hail.key';

/** The key this browser keeps; null without one. */
export function readKey() {
  return localStorage.getItem(STORED_AS);
}

export function forgetKey() {
  localStorage.removeItem(STORED_AS);
}

/**
 * The dialog that asks for a key and keeps it: in this browser's storage, never in an address.
 * @param {() => void} whenGiven
 */
export function openKeyDialog(whenGiven) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('key-dialog'));
  const form = /** @type {HTMLFormElement} */ (document.getElementById('key-form'));
  const field = /** @type {HTMLInputElement} */ (document.getElementById('key'));
  const trouble = /** @type {HTMLElement} */ (document.getElementById('key-trouble'));

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const key = field.value.trim();
    if (key === '') return;
    localStorage.setItem(STORED_AS, key);
    field.value = '';
    dialog.close();
    whenGiven();
  });
  document.getElementById('key-later')?.addEventListener('click', () => dialog.close());

  return {
    /**
     * Asks; with what was wrong with the last key, if anything.
     * @param {string | null} words
     */
    ask(words) {
      trouble.hidden = words === null;
      trouble.textContent = words;
      if (!dialog.open) dialog.showModal();
      field.focus();
    },
  };
}
