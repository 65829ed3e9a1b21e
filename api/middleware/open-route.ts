import type { Readable } from 'node:stream';
import type { Exchange } from './exchange.ts';

/** What a route outside the keys answers; its headers replace the common ones of the same name. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | Readable | null;
}

/** A route that needs no key: documents, pages, public files, probes. */
export interface OpenRoute {
  /** Path, or with a trailing slash everything under it too. */
  readonly path: string;
  /** Methods as the Allow header lists them. */
  readonly allow: string;
  readonly answer: (exchange: Exchange) => Promise<OpenAnswer>;
}

/** The open route of a path, the first that fits; null when a key is needed. */
export function openRouteOf(routes: readonly OpenRoute[], path: string): OpenRoute | null {
  return (
    routes.find((route) =>
      route.path.endsWith('/') && route.path !== '/'
        ? path.startsWith(route.path) || path === route.path.slice(0, -1)
        : path === route.path,
    ) ?? null
  );
}
