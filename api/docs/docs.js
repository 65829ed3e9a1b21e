// A button that copies, on each block of code; browsers give pages without https no access to the clipboard.
if (isSecureContext)
  for (const figure of document.querySelectorAll('figure')) {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Copy' });
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(figure.querySelector('code').textContent);
      button.textContent = 'Copied';
    });
    figure.append(button);
  }
