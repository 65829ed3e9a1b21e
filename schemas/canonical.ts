/** JSON with the members of every object in the order of their names. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  const parts = Object.keys(members)
    .sort()
    .filter((name) => members[name] !== undefined)
    .map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`);
  return `{${parts.join(',')}}`;
}
