import { element, onClick } from '../page/page.ts';

const STORAGE_NAME = 'hail.key';

/** True for the page in a frame of another site (/embed): it uses no key and asks for none. */
const isEmbedded = () => document.documentElement.dataset.embed !== undefined;

/** The key stored in this browser; null without one. */
export function readKey(): string | null {
  return isEmbedded() ? null : localStorage.getItem(STORAGE_NAME);
}

export function forgetKey(): void {
  localStorage.removeItem(STORAGE_NAME);
}

/** The dialog that asks for a key and stores it in this browser, never in an address. */
export function openKeyDialog(onKey: () => void) {
  const dialog = element<HTMLDialogElement>('key-dialog');
  const field = element<HTMLInputElement>('key');
  const trouble = element('key-trouble');

  element<HTMLFormElement>('key-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const key = field.value.trim();
    if (key === '') return;
    localStorage.setItem(STORAGE_NAME, key);
    field.value = '';
    dialog.close();
    onKey();
  });
  onClick('key-later', () => dialog.close());

  return {
    /** Opens the dialog; `words` say why the last key was refused. */
    ask(words: string | null): void {
      if (isEmbedded()) return;
      trouble.hidden = words === null;
      trouble.textContent = words;
      if (!dialog.open) dialog.showModal();
      field.focus();
    },
  };
}
