import { lookup, Resolver } from 'node:dns/promises';

/** How long a name server is waited for, and how often it is asked. */
const ANSWER_MS = 1_000;
const TRIES = 2;
/** How long it is remembered whether name servers answer. */
const PROBE_KEPT_MS = 60_000;

/** Finds the addresses of names. */
export interface NameResolver {
  /** All addresses of a name; [] where there are none, and where none can be found out. */
  readonly addressesOf: (name: string) => Promise<readonly string[]>;
  /** True when name servers answer at all: a name without addresses does not exist then. */
  readonly works: () => Promise<boolean>;
  /** Gives up what is being asked. */
  readonly close: () => void;
}

export interface NameResolverOptions {
  /** Addresses of name servers; those of the machine when left out. */
  readonly servers?: readonly string[];
  /** Names count too that only the machine itself knows, such as those of its hosts file. */
  readonly own_names: boolean;
}

/** Asks name servers directly: look-ups by the system hold threads that files need for as long as a server is silent. */
export function openResolver({ servers, own_names }: NameResolverOptions): NameResolver {
  const resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  let probe: { readonly works: Promise<boolean>; readonly until_ms: number } | null = null;
  return {
    addressesOf: async (name) => {
      // A name without a dot means something to this machine only.
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

/** There is no such name, or nobody told. */
function noAnswer(error: unknown): never[] {
  if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
  return [];
}

function noRoot(error: unknown): boolean {
  noAnswer(error);
  return false;
}
