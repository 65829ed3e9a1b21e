/** Resources that a scope may name, and what may be done with them. */
const SCOPES: Readonly<Record<string, readonly string[]>> = {
  hail: ['read'],
  storms: ['read'],
  coverage: ['read'],
  swaths: ['read'],
  events: ['read'],
  tiles: ['read'],
  verify: ['read', 'write'],
  exports: ['read', 'write'],
  alerts: ['read', 'write'],
  portfolio: ['read', 'write'],
  areas: ['read', 'write'],
  webhooks: ['read', 'write'],
  outlooks: ['read'],
  warnings: ['read'],
  usage: ['read'],
};

/** True for `*`, `resource:*` and `resource:action` of this service: anything else opens nothing and is a typing error. */
export function isScope(text: string): boolean {
  if (text === '*') return true;
  const [resource = '', action = '', ...rest] = text.split(':');
  const actions = Object.hasOwn(SCOPES, resource) ? SCOPES[resource] : undefined;
  return rest.length === 0 && actions !== undefined && (action === '*' || actions.includes(action));
}
