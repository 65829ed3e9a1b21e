import { lookup, Resolver } from 'node:dns/promises';

/** Time limit of one question to a name server, and number of tries. */
const ANSWER_MS = 1_000;
const TRIES = 2;
/** How long the result of the probe of the name servers is kept. */
const PROBE_KEPT_MS = 60_000;

/** Looks up host names. */
export interface NameResolver {
  /** All addresses of a name; [] when there are none or no name server answers. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  /** True when name servers answer: a name without addresses does not exist then. */
  readonly works: () => Promise<boolean>;
  /** Cancels questions under way. */
  readonly close: () => void;
}

export interface NameResolverOptions {
  /** Addresses of name servers; default: name servers of the machine. */
  readonly servers?: readonly string[];
  /** Also uses names that only this machine knows, such as names of its hosts file. */
  readonly own_names: boolean;
}

/** Asks name servers directly: a system look-up occupies a thread, which file access needs, while a server is silent. */
export function openResolver({ servers, own_names }: NameResolverOptions): NameResolver {
  const resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  let probe: { readonly works: Promise<boolean>; readonly until_ms: number } | null = null;
  return {
    resolve: async (name) => {
      // Only this machine knows names without a dot.
      const asked = own_names && !name.includes('.') ? [] : [resolver.resolve4(name), resolver.resolve6(name)];
      const found = (await Promise.all(asked.map((answer) => answer.catch(noAnswer)))).flat();
      if (found.length > 0 || !own_names) return found;
      const own = await lookup(name, { all: true }).catch(noAnswer);
      return own.map(({ address }) => address);
    },
    works: async () => {
      if (probe === null || performance.now() >= probe.until_ms) {
        const works = resolver.resolveNs('.').then((servers) => servers.length > 0, noRoot);
        probe = { works, until_ms: performance.now() + PROBE_KEPT_MS };
      }
      return await probe.works;
    },
    close: () => resolver.cancel(),
  };
}

/** Turns an error of a look-up into an empty result; throws any other error. */
function noAnswer(error: unknown): never[] {
  if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
  return [];
}

function noRoot(error: unknown): boolean {
  noAnswer(error);
  return false;
}
