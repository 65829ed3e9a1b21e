/** What the thread of a test does: a number is squared, the rest goes wrong in its own way. */
export function answer(question: number | 'hang' | 'throw' | 'exit'): number {
  if (question === 'hang') return Number(Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  if (question === 'exit') process.exit(7);
  if (question === 'throw') throw new Error('no answer');
  return question ** 2;
}
