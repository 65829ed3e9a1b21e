/** Steps that are left until the process is killed, as kill -9 would. */
export const countdown = { left: Number.POSITIVE_INFINITY };

export function step(): void {
  countdown.left -= 1;
  if (countdown.left === 0) process.kill(process.pid, 'SIGKILL');
}

/** Does something before every call of some methods. */
export function beforeCalls(
  target: object,
  names: readonly string[],
  act: (name: string, args: readonly unknown[]) => void,
): void {
  for (const name of names) {
    const original: (...args: unknown[]) => unknown = Reflect.get(target, name);
    Reflect.set(target, name, function (this: unknown, ...args: unknown[]) {
      act(name, args);
      return original.apply(this, args);
    });
  }
}
