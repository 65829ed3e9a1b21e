/** Takes what is written to a stream; the function returns it and lets go. */
export function listen(stream: NodeJS.WriteStream): () => string {
  const { write } = stream;
  let text = '';
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    text += chunk.toString();
    const done = rest.at(-1);
    if (typeof done === 'function') done();
    return true;
  };
  return () => {
    stream.write = write;
    return text;
  };
}
