/** Parts of SQL in which a semicolon ends no statement: quoted texts and names, comments, texts between dollar signs. */
const CLOSED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*\n|\/\*[\s\S]*?\*\/|\$(\w*)\$[\s\S]*?\$\1\$/y;
/** What begins one of these and has no end yet. */
const OPENS = /'|"|--|\/\*|\$\w*\$/y;

/** Splits what was typed so far at its semicolons: whole statements, and the text after the last of them. */
export function statementsIn(text: string): { readonly whole: readonly string[]; readonly rest: string } {
  const whole: string[] = [];
  let from = 0;
  let at = 0;
  while (at < text.length) {
    CLOSED.lastIndex = at;
    OPENS.lastIndex = at;
    if (CLOSED.test(text)) at = CLOSED.lastIndex;
    else if (OPENS.test(text)) break;
    else {
      at++;
      if (text[at - 1] !== ';') continue;
      whole.push(text.slice(from, at).trim());
      from = at;
    }
  }
  return { whole, rest: text.slice(from).trimStart() };
}
