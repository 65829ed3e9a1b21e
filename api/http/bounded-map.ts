/** A map that drops its oldest entry when it is full, for keys that any client can choose. */
export interface BoundedMap<Value> {
  readonly get: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
  readonly delete: (key: string) => void;
  readonly size: () => number;
}

export function boundedMap<Value>(capacity: number): BoundedMap<Value> {
  const entries = new Map<string, Value>();
  return {
    get: (key) => entries.get(key),
    set: (key, value) => {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size > capacity) entries.delete(entries.keys().next().value as string);
    },
    delete: (key) => void entries.delete(key),
    size: () => entries.size,
  };
}
