/**
 * JSON with the members of every object in the order of their names (UTF-16 code units): the JSON Canonicalization Scheme of
 * RFC 8785. Members that are undefined are left out. Throws RangeError for a number that JSON has no form for.
 */
export function canonical(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new RangeError(`canonical JSON of ${value}, expected a finite number`);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  const parts = Object.keys(members)
    .sort()
    .filter((name) => members[name] !== undefined)
    .map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`);
  return `{${parts.join(',')}}`;
}
