import { Gauge, type Registry } from 'prom-client';

/** A value that is absent until it is known, and again once it is not. */
export interface KnownValue<Label extends string> {
  readonly set: (value: number, ...labels: [Label] extends [never] ? [] : [Record<Label, string>]) => void;
  /** Removes the value, of all labels. */
  readonly clear: () => void;
}

/** Adds a gauge to a registry. Unlike one of the library it does not begin at 0: absent is absent. */
export function addGauge<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): KnownValue<Label> {
  const gauge = new Gauge<string>({ name, help, labelNames: [...labelNames], registers: [registry] });
  const clear = () => {
    gauge.reset();
    if (labelNames.length === 0) gauge.remove();
  };
  clear();
  return { set: (value, ...labels) => gauge.set(labels[0] ?? {}, value), clear };
}
