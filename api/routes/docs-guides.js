// Adds to the guides what needs a script: a copy button on each code block, and search results while one types.

/** Milliseconds after the last key before a search is sent. */
const PAUSE_MS = 150;
/** Milliseconds for which a button says that it copied. */
const COPIED_MS = 1500;

for (const figure of document.querySelectorAll('figure.code')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const text = figure.querySelector('code')?.textContent ?? '';
    button.textContent = await navigator.clipboard.writeText(text).then(
      () => 'Copied',
      () => 'Not allowed',
    );
    setTimeout(() => {
      button.textContent = 'Copy';
    }, COPIED_MS);
  });
  // Browsers without access to the clipboard, such as those that open the page without TLS, have no button.
  if (navigator.clipboard) figure.append(button);
}

// Beside the text there is room for the list of sections; above it, on a narrow screen, it stays folded.
const contents = document.querySelector('details.contents');
if (contents !== null && matchMedia('(min-width: 75rem)').matches) contents.open = true;

const input = document.querySelector('#q');
const found = document.querySelector('#found');
let waiting = 0;
let asked = '';

async function search() {
  const words = input.value.trim();
  asked = words;
  if (words.length < 2) {
    found.replaceChildren();
    return;
  }
  const reply = await fetch(`search?q=${encodeURIComponent(words)}`);
  const page = new DOMParser().parseFromString(await reply.text(), 'text/html');
  const results = page.querySelector('#results');
  // An earlier search may be answered after a later one.
  if (words === asked && results !== null) found.replaceChildren(results);
}

input?.addEventListener('input', () => {
  clearTimeout(waiting);
  waiting = setTimeout(search, PAUSE_MS);
});
addEventListener('keydown', (event) => {
  if (event.key === 'Escape') found?.replaceChildren();
  if (event.key !== '/' || event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  input?.focus();
});
