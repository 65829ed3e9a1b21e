import test, { type ErrorConstructor } from 'ava';

/** Registers tests of what both commands say of settings that they do not know. */
export function testUnknownSettings(
  readConfig: (environment: Record<string, string>) => unknown,
  instanceOf: ErrorConstructor<Error>,
): void {
  for (const [name, expected] of [
    ['HAIL_DTAA', 'HAIL_DATA'],
    ['HAIL_STORM_DAY_START', 'one that api/docs/operate.md lists'],
    ['HAIL_PROT', 'HAIL_PORT'],
    ['HAIL_LOGLEVEL', 'HAIL_LOG_LEVEL'],
    ['HAIL_COLOUR_OF_THE_MAP', 'one that api/docs/operate.md lists'],
  ] as const)
    test(`${name} is no setting: it is refused, and ${expected} is named`, (t) => {
      t.throws(() => readConfig({ [name]: 'x' }), {
        instanceOf,
        message: `${name} is no setting, expected ${expected}`,
      });
    });

  test('key and address of the examples and what tests read are left alone', (t) => {
    t.notThrows(() =>
      readConfig({ HAIL_KEY: 'hs_live_x', HAIL_URL: 'x', HAIL_TEST_DATABASE_URL: 'x', HAILSTONE: '1' }),
    );
  });
}
