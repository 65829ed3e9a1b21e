const { NODE_COMPILE_CACHE } = process.env;

/** All that a command started by a test takes over from the test's environment: where Node keeps what it compiled. */
export const BARE_ENVIRONMENT: Readonly<Record<string, string>> =
  NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
