/** Content of a cell: text, a number, which is written to the right, or an element. */
export type Content = string | number | HTMLElement;

/** Replaces the rows of a table; without rows it says `empty`. */
export function fillTable(
  table: HTMLElement,
  heads: readonly string[],
  rows: readonly (readonly Content[])[],
  empty: string,
): void {
  const head = document.createElement('tr');
  const isNumber = (column: number) => typeof rows[0]?.[column] === 'number';
  head.append(...heads.map((words, column) => cellOf('th', words, isNumber(column))));
  const body = document.createElement('tbody');
  for (const row of rows) {
    const line = document.createElement('tr');
    line.append(...row.map((content) => cellOf('td', content, typeof content === 'number')));
    body.append(line);
  }
  if (rows.length === 0) {
    const only = cellOf('td', empty, false);
    only.colSpan = heads.length;
    const line = document.createElement('tr');
    line.append(only);
    body.append(line);
  }
  const top = document.createElement('thead');
  top.append(head);
  table.replaceChildren(top, body);
}

/** Text with a class, as content of a cell. */
export function cell(words: string, className: string): HTMLElement {
  const made = document.createElement('span');
  made.className = className;
  made.textContent = words;
  return made;
}

function cellOf(tag: 'th' | 'td', content: Content, is_number: boolean): HTMLTableCellElement {
  const made = document.createElement(tag);
  if (is_number) made.className = 'number';
  made.append(typeof content === 'number' ? content.toLocaleString('en-US') : content);
  return made;
}
