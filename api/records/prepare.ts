import { type CompiledQuery, type RawBuilder, sql } from 'kysely';

/** A place for a value in a prepared query. */
class Slot {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** What a slot may be filled with. */
export type Values = Readonly<Record<string, string | number | null>>;

/** A slot of that name, where a value of type T would stand. */
export function slot<T extends string | number | null>(name: string): RawBuilder<T> {
  return sql<T>`${sql.val(new Slot(name))}`;
}

/**
 * A query that is built and compiled once; each call fills in its slots. Building and compiling cost several times what
 * SQLite needs to run a charge.
 */
export function prepare<Row>(query: { compile(): CompiledQuery<Row> }): (values: Values) => CompiledQuery<Row> {
  const compiled = query.compile();
  return (values) => ({
    ...compiled,
    parameters: compiled.parameters.map((parameter) =>
      parameter instanceof Slot ? filled(values, parameter) : parameter,
    ),
  });
}

function filled(values: Values, { name }: Slot): string | number | null {
  const value = values[name];
  if (value === undefined) throw new TypeError(`slot ${name} has no value`);
  return value;
}
