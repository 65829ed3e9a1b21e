// The reference: Scalar over the description of this service. Calls go to the service that the page comes from.
try {
  localStorage.getItem('hail.key');
} catch {
  // This browser keeps nothing, and Scalar insists on a storage.
  const value = { getItem: () => null, setItem() {}, removeItem() {} };
  Object.defineProperty(window, 'localStorage', { value });
}
await new Promise((onload, onerror) => {
  const src = new URL('scalar.js', import.meta.url);
  document.head.append(Object.assign(document.createElement('script'), { src, onload, onerror }));
});
const element = document.getElementById('reference');
const { root, description } = element.dataset;
const api = await (await fetch(description)).json();
const anchors = {};
for (const [path, methods] of Object.entries(api.paths)) {
  delete methods.head; // it answers as GET does
  for (const [method, operation] of Object.entries(methods)) {
    const { 'x-credits': credits, 'x-credits-per': per, 'x-prices': prices = [], 'x-scope': scope } = operation;
    const most = Math.max(credits, ...prices.map((price) => price.credits));
    const price = most > credits ? `${credits} to ${most} credits` : `${credits} credits`;
    const notes = [most === 0 ? 'free' : `${price} a ${per}`, scope ?? ''].filter((note) => note !== '');
    operation['x-badges'] = notes.map((name) => ({ name }));
    const tag = operation.tags[0].toLowerCase().replaceAll(' ', '-');
    anchors[`#${operation.operationId}`] = `#tag/${tag}/${method.toUpperCase()}${path}`;
  }
}

Scalar.createApiReference(element, {
  content: api,
  servers: [{ url: new URL(root || './', location.href).href.replace(/\/$/, '') }],
  authentication: {
    preferredSecurityScheme: 'key',
    securitySchemes: { key: { token: localStorage.getItem('hail.key') ?? '' } }, // the key of the map
  },
  redirect: (hash) => anchors[hash] ?? null,
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideModels: true,
  hideDarkModeToggle: true,
  hideClientButton: true,
  showDeveloperTools: 'never',
});
