/** What the thread of a test does: a number is squared, the rest goes wrong in its own way. */
export function answer(question: number | 'hang' | 'throw' | 'exit'): number {
  if (question === 'hang') for (;;);
  if (question === 'exit') process.exit(7);
  if (question === 'throw') throw new Error('no answer');
  return question ** 2;
}
