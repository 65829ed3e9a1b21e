import { lookup, Resolver } from 'node:dns/promises';

/** Time limit of one question to a name server, and number of tries. */
const ANSWER_MS = 1_000;
const TRIES = 2;
/** Errors that say that a name has no address: from a name server, or because no server can hold such a name. */
const NO_ADDRESS: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** Looks up host names. */
export type NameResolver = ReturnType<typeof openResolver>;

/**
 * Asks name servers directly: a system look-up occupies a thread, which file access needs, while a server is silent. `own_names`: also
 * uses names that only this machine knows, such as names of its hosts file. `servers`: addresses; default: those of the machine.
 */
export function openResolver(own_names: boolean, servers?: readonly string[]) {
  const resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return {
    /** All addresses of a name, [] when it has none; null when no name server could say. */
    resolve: async (name: string): Promise<readonly string[] | null> => {
      // Only this machine knows names without a dot.
      const asked = own_names && !name.includes('.') ? [] : [resolver.resolve4(name), resolver.resolve6(name)];
      const answers = await Promise.all(asked.map((answer) => answer.catch(withoutAddress)));
      if (own_names && !answers.some((answer) => answer?.length)) {
        const own = lookup(name, { all: true }).then((found) => found.map(({ address }) => address));
        answers.push(await own.catch(withoutAddress));
      }
      const found = answers.flatMap((answer) => answer ?? []);
      return found.length === 0 && answers.includes(null) ? null : found;
    },
    /** Cancels questions under way. */
    close: (): void => resolver.cancel(),
  };
}

/** Result of a look-up that failed; throws any other error. */
function withoutAddress(error: unknown): string[] | null {
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  return NO_ADDRESS.has(code) ? [] : null;
}
