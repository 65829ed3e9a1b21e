declare module 'parquetjs-lite' {
  /** What the tests use of it; it has no types of its own. */
  export class ParquetReader {
    static openFile(path: string): Promise<ParquetReader>;
    getCursor(): { next: () => Promise<Record<string, unknown> | null> };
    getMetadata(): Record<string, string>;
    close(): Promise<void>;
  }
}
