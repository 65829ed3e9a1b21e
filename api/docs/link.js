// Exchanges the key of the link, and keeps the new key where the map looks for it.
const button = document.querySelector('#use');
const outcome = document.querySelector('#outcome');
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname); // the key of the link stays out of the history
const failed = 'This link was used, has expired or was ended. Ask for another one.';
const say = (text, may_try = false) => {
  outcome.textContent = text;
  button.disabled = !may_try;
};
try {
  localStorage.setItem('hail.link', ''); // what refuses this would refuse the new key
  localStorage.removeItem('hail.link');
  const is_replaced = localStorage.getItem('hail.key') !== null;
  if (token === '') say(failed);
  else say(is_replaced ? 'The new key replaces the key of this browser.' : '', true);
} catch {
  say('This browser keeps no data of this page. Allow it, then open the link again.');
}
button.addEventListener('click', async () => {
  button.disabled = true;
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch('v1/link', { method: 'POST', headers }).catch(() => null);
  const made = await answer?.json().catch(() => null);
  if (answer?.ok && made) {
    localStorage.setItem('hail.key', made.key);
    say(`This browser has a key of ${made.business_name}.`);
    const map = { href: 'viewer', className: 'main', textContent: 'Open the map' };
    button.replaceWith(Object.assign(document.createElement('a'), map));
  } else if (made && answer.status < 429) say(failed);
  else say('The service cannot be reached. Try again in a moment.', true);
});
