declare module 'stac-node-validator' {
  /** What the tests use of it; it has no types of its own. */
  interface Fault {
    readonly instancePath?: string;
    readonly message?: string;
  }
  interface Report {
    readonly id: string;
    readonly valid: boolean | null;
    readonly skipped: boolean;
    readonly results: {
      readonly core: readonly Fault[];
      readonly extensions: Readonly<Record<string, readonly Fault[]>>;
    };
  }
  export default function validate(
    data: object,
    config: {
      readonly loader: (address: string) => Promise<object>;
      readonly strict?: boolean;
      readonly verbose?: boolean;
    },
  ): Promise<Report>;
}
