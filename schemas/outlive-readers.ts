/**
 * Lets a command outlive whoever reads what it prints (`| head -1`): it goes on to its end, and its exit code says how that went.
 * Any other failure of standard output, such as a full disk, is told in a line on standard error and makes the exit code 1.
 */
export function outliveReaders(name: string): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      process.exitCode = 1;
      if (stream === process.stdout) process.stderr.write(`${name}: standard output: ${error.message}\n`);
    });
}
