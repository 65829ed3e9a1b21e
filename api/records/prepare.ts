import { type CompiledQuery, type RawBuilder, sql } from 'kysely';

/** A parameter in a prepared query. */
class Param {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Values of the parameters, by name. */
export type Values = Readonly<Record<string, string | number | null>>;

/** A parameter of that name, where a value of type T would stand. */
export function param<T extends string | number | null>(name: string): RawBuilder<T> {
  return sql<T>`${sql.val(new Param(name))}`;
}

/**
 * A query that is built and compiled once; each call binds its parameters. Building and compiling cost several times what
 * SQLite needs to run a charge.
 */
export function prepare<Row>(query: { compile(): CompiledQuery<Row> }): (values: Values) => CompiledQuery<Row> {
  const compiled = query.compile();
  return (values) => ({
    ...compiled,
    parameters: compiled.parameters.map((parameter) => {
      if (!(parameter instanceof Param)) return parameter;
      const value = values[parameter.name];
      if (value === undefined) throw new TypeError(`parameter ${parameter.name} has no value`);
      return value;
    }),
  });
}
