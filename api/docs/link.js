// Exchanges the key of the link, and keeps the new key where the map looks for it.
const button = document.querySelector('#use');
const outcome = document.querySelector('#outcome');
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname); // the key of the link stays out of the history
const failed = 'This link was used before, or has expired. Ask for another one.';
button.disabled = token === '';
if (token === '') outcome.textContent = failed;
button.addEventListener('click', async () => {
  button.disabled = true;
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch('v1/link', { method: 'POST', headers }).catch(() => null);
  if (answer?.ok) {
    localStorage.setItem('hail.key', (await answer.json()).key);
    location.replace('viewer');
  } else if (answer !== null && answer.status < 429) outcome.textContent = failed;
  else {
    outcome.textContent = 'The service cannot be reached. Try again in a moment.';
    button.disabled = false;
  }
});
