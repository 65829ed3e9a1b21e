import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How receivers misbehave once they have read a request. The first three end only when the other side closes. */
export const HOSTILE: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'endless 1xx answers': ({ socket }) => flood(socket, '', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
  'endless chunk extensions': ({ socket }) =>
    flood(socket, 'HTTP/1.1 500 Any\r\nTransfer-Encoding: chunked\r\n\r\n', `5;${'x'.repeat(1_000)}`),
  'endless headers': ({ socket }) => flood(socket, 'HTTP/1.1 200 OK\r\n', 'X-More: of the same\r\n'),
  'one byte a second': ({ socket }) => trickle(socket, 'HTTP/1.1 200 ', 'O', 1_000),
  silence: () => {},
  'endless gzip': ({ socket }) =>
    flood(
      socket,
      'HTTP/1.1 503 Any\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n',
      '5\r\n\x1f\x8b\x08\x00\x00\r\n',
    ),
  'an early close': ({ socket }) => socket?.end('HTTP/1.1 2'),
};

/** Writes a beginning, and then the same without an end until the other side closes; `closed` is called then. */
export function flood(socket: Socket | null, beginning: string, more: string, closed: () => void = () => {}): void {
  const block = Buffer.from(more.repeat(Math.ceil(16_384 / more.length)), 'latin1');
  const write = () => {
    while (!socket?.destroyed && socket?.write(block));
  };
  socket
    ?.on('error', () => {})
    .on('close', closed)
    .on('drain', write);
  if (beginning !== '') socket?.write(beginning);
  write();
}

/** Writes a beginning, and then the same again and again until the other side closes; `closed` is called then. */
export function trickle(
  socket: Socket | null,
  beginning: string,
  more: string,
  every_ms: number,
  closed: () => void = () => {},
): void {
  socket?.write(beginning);
  const timer = setInterval(() => socket?.write(more), every_ms);
  socket
    ?.on('error', () => {})
    .once('close', () => {
      clearInterval(timer);
      closed();
    });
}
