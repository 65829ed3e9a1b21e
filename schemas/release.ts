import manifest from '../package.json' with { type: 'json' };

/** Version of this release of both programs, from the package. */
export const RELEASE: string = manifest.version;
