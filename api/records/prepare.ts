import { type CompiledQuery, type RawBuilder, sql } from 'kysely';

/** A parameter in a prepared query; `row` says of which row of values, where there are several. */
class Param {
  readonly name: string;
  readonly row: number;

  constructor(name: string, row: number) {
    this.name = name;
    this.row = row;
  }
}

/** Values of the parameters, by name. */
export type Values = Readonly<Record<string, string | number | null>>;

/** A parameter of that name, where a value of type T would stand. */
export function param<T extends string | number | null>(name: string, row = 0): RawBuilder<T> {
  return sql<T>`${sql.val(new Param(name, row))}`;
}

/**
 * A query that is built and compiled once; each call binds its parameters. Building and compiling cost several times what
 * SQLite needs to run a charge.
 */
export function prepare<Row>(query: { compile(): CompiledQuery<Row> }): (values: Values) => CompiledQuery<Row> {
  const prepared = prepareRows(query);
  return (values) => prepared([values]);
}

/** The same for a query over several rows, whose parameters name their row. */
export function prepareRows<Row>(query: {
  compile(): CompiledQuery<Row>;
}): (rows: readonly Values[]) => CompiledQuery<Row> {
  const compiled = query.compile();
  return (rows) => ({
    ...compiled,
    parameters: compiled.parameters.map((parameter) =>
      parameter instanceof Param ? bound(rows, parameter) : parameter,
    ),
  });
}

function bound(rows: readonly Values[], { name, row }: Param): string | number | null {
  const value = rows[row]?.[name];
  if (value === undefined) throw new TypeError(`parameter ${name} of row ${row} has no value`);
  return value;
}
