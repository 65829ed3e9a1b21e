import { z } from 'zod';
import { type Page, Unavailable, type Web } from '../sources/http.ts';
import { inParallel } from '../sources/parallel.ts';

const MAX_PAGE_BYTES = 32 * 1024 * 1024;
/** Pages of one server that are fetched at once. */
const AT_ONCE = 4;

/** A file of a feed as a server delivered it. */
export interface FetchedFile {
  /** Name that shows its format. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** True when the content of the address never changes: a file that cannot be used is not fetched again. */
  readonly is_final: boolean;
  /** Called once the file is published. */
  readonly confirm: () => void;
}

/** Files fetched by one poll of a feed. */
export interface FetchedFiles {
  readonly files: readonly FetchedFile[];
  /** Why files that the feed lists were not delivered: the next poll asks for them again. */
  readonly failures: readonly string[];
}

export interface WantedPage {
  /** Name that shows the format; a function of the time of its last change for a page of another day under the same address. */
  readonly name: string | ((modified_ms: number | null) => string);
  readonly url: string;
  /** True when the feed cannot be read without this page. */
  readonly is_required: boolean;
  readonly media_type?: string;
}

/** The pages that changed. Throws Unavailable when one of them, or a required one that is missing, cannot be fetched. */
export async function fetchPages(web: Web, wanted: readonly WantedPage[]): Promise<FetchedFiles> {
  const pages = await inParallel(wanted, AT_ONCE, async ({ name, url, is_required, media_type }) => {
    const page = await web.page(url, MAX_PAGE_BYTES, media_type);
    if (page === 'missing' && is_required) throw new Unavailable(url, 'server answers 404, expected 200');
    if (page === 'missing' || page === 'unchanged') return null;
    const { bytes, modified_ms, confirm } = page;
    return { name: typeof name === 'string' ? name : name(modified_ms), bytes, is_final: false, confirm };
  });
  return { files: pages.filter((page) => page !== null), failures: [] };
}

/** A page of JSON; throws Unavailable for one of another shape. */
export function parseJsonPage<Shape extends z.ZodType>(url: string, { bytes }: Page, shape: Shape): z.infer<Shape> {
  try {
    return shape.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch (cause) {
    throw cause instanceof z.ZodError ? unexpectedShape(url, cause) : new Unavailable(url, 'is not JSON', { cause });
  }
}

/** The error of a page whose JSON has another shape, with the first fault. */
export function unexpectedShape(url: string, cause: z.ZodError): Unavailable {
  const [issue] = cause.issues;
  return new Unavailable(url, `${issue?.path.join('.')}: ${issue?.message.toLowerCase()}`, { cause });
}
