/** More edits than this are another word, not a misspelling. */
const MAX_EDITS = 3;

/** The known word that takes the fewest edits to reach, the first of equals; null when none is within the limit. */
export function nearestWord(word: string, known: readonly string[]): string | null {
  const distances = known.map((each) => ({ each, edits: editsBetween(word, each) }));
  const nearest = distances.reduce((a, b) => (b.edits < a.edits ? b : a), { each: '', edits: MAX_EDITS + 1 });
  return nearest.edits > MAX_EDITS ? null : nearest.each;
}

/** Letters to insert, delete or replace (Levenshtein), row by row. */
function editsBetween(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, k) => k);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let k = 1; k <= b.length; k++)
      row.push(Math.min(above[k] + 1, row[k - 1] + 1, above[k - 1] + (a[i - 1] === b[k - 1] ? 0 : 1)));
    above = row;
  }
  return above[b.length];
}
