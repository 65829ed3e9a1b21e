import { STATUS_CODES } from 'node:http';

type Responses = Readonly<Record<string, object>>;
/** Operations of a path, by method. */
type PathItem = Readonly<Record<string, { readonly responses?: Responses }>>;

/** The parts of a description that sharing changes. */
interface Shareable {
  readonly paths?: object | undefined;
  readonly components?: object | undefined;
}

/**
 * Moves every response that several operations have in common to `components.responses`, and refers to it. Successes with a
 * body stay where they are. A component is named by its status: `Unauthorized`; others of the same status are numbered:
 * `Forbidden2`.
 */
export function shareResponses<Document extends Shareable>(document: Document): Document {
  const paths = Object.entries((document.paths ?? {}) as Readonly<Record<string, PathItem>>);
  const operations = paths.flatMap(([, methods]) => Object.values(methods));
  const names = sharedNames(operations.flatMap(({ responses = {} }) => Object.entries(responses)));
  const shared = (responses: Responses) =>
    Object.fromEntries(
      Object.entries(responses).map(([status, response]) => {
        const name = names.get(responseKey(status, response));
        return [status, name === undefined ? response : { $ref: `#/components/responses/${name}` }];
      }),
    );
  const withShared = ({ responses = {}, ...rest }: PathItem[string]) => ({
    ...rest,
    responses: shared(responses),
  });
  const components = [...names].map(([key, name]) => [name, JSON.parse(key.slice(STATUS_LENGTH))] as const);
  return {
    ...document,
    paths: Object.fromEntries(
      paths.map(([path, methods]) => [
        path,
        Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, withShared(operation)])),
      ]),
    ),
    components: { ...document.components, responses: Object.fromEntries(components) },
  };
}

/** Characters of the status before the JSON of a response in its key. */
const STATUS_LENGTH = 3;

function responseKey(status: string, response: object): string {
  return status + JSON.stringify(response);
}

/** Names of the responses that occur more than once, by their keys. */
function sharedNames(responses: readonly (readonly [status: string, response: object])[]) {
  const uses = Map.groupBy(
    responses.filter(([status, response]) => !(status.startsWith('2') && 'content' in response)),
    ([status, response]) => responseKey(status, response),
  );
  const repeated = [...uses.keys()].filter((key) => (uses.get(key)?.length ?? 0) > 1);
  const byStatus = Map.groupBy(repeated, (key) => key.slice(0, STATUS_LENGTH));
  return new Map(
    [...byStatus].flatMap(([status, keys]) =>
      keys.map((key, k) => [key, `${statusName(status)}${k === 0 ? '' : k + 1}`] as const),
    ),
  );
}

/** `401` as `Unauthorized`. */
function statusName(status: string): string {
  return (STATUS_CODES[status] ?? `Status${status}`).replaceAll(/[^A-Za-z]/g, '');
}
