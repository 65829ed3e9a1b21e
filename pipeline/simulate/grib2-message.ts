/** A whole GRIB2 message of a discipline from its sections. */
export function grib2Message(discipline: number, sections: readonly Uint8Array[]): Buffer {
  const indicator = Buffer.alloc(16);
  indicator.write('GRIB', 0, 'latin1');
  indicator[6] = discipline;
  indicator[7] = 2;
  indicator.writeBigUInt64BE(BigInt(20 + sections.reduce((sum, part) => sum + part.length, 0)), 8);
  return Buffer.concat([indicator, ...sections, Buffer.from('7777', 'latin1')]);
}

/** A numbered section: its length, its number, its content. */
export function grib2Section(number: number, content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5 + content.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes[4] = number;
  bytes.set(content, 5);
  return bytes;
}
