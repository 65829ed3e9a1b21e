const WRITTEN = ['verify', 'exports', 'alerts', 'portfolio', 'areas', 'webhooks'];
const READ = ['hail', 'storms', 'coverage', 'swaths', 'events', 'tiles', 'outlooks', 'warnings', 'usage', ...WRITTEN];

/** True for `*`, `resource:*` and `resource:action` of this service: anything else opens nothing and is a typing error. */
export function isScope(text: string): boolean {
  const [resource = '', action, ...rest] = text.split(':');
  const resources = action === 'write' ? WRITTEN : action === 'read' || action === '*' ? READ : [];
  return text === '*' || (rest.length === 0 && resources.includes(resource));
}
