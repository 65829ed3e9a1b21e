/** The value of a key, made when it is not there or failed; of more than `most` the one asked for longest ago goes. */
export function memoize<Value>(
  values: Map<string, Promise<Value>>,
  most: number,
  key: string,
  make: () => Promise<Value>,
): Promise<Value> {
  const value = values.get(key) ?? make();
  values.delete(key);
  values.set(key, value);
  if (values.size > most) values.delete(values.keys().next().value as string);
  value.catch(() => {
    if (values.get(key) === value) values.delete(key);
  });
  return value;
}
