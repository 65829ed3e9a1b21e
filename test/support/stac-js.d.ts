declare module 'stac-js' {
  /** What the tests use of it; it has no types of its own. */
  interface Stac {
    readonly isItem: boolean;
    readonly links: readonly { readonly rel: string; getAbsoluteUrl(): string }[];
    getAssets(): { getAbsoluteUrl(): string }[];
    setAbsoluteUrl(address: string): void;
  }
  export default function create(data: object, migrate?: boolean): Stac;
}
