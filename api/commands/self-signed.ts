/**
 * A new key and self-signed certificate for 127.0.0.1 and for names, both PEM: P-256, valid until the end of 2049. For trials on
 * one machine.
 */
export async function selfSigned(
  names: readonly string[] = [],
): Promise<{ readonly key: string; readonly cert: string }> {
  // Loaded here: importing it takes longer than most commands run.
  const { generate } = await import('selfsigned');
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date('2020-01-01T00:00:00Z'),
    notAfterDate: new Date('2049-12-31T23:59:59Z'),
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [...names.map((value) => ({ type: 2 as const, value })), { type: 7, ip: '127.0.0.1' }],
      },
    ],
  });
  return { key, cert };
}
