/** Opens the list of sections where there is room for it next to the text; above the text, on a narrow screen, it stays folded. */
export function openContents(): void {
  const contents = document.querySelector<HTMLDetailsElement>('details.contents');
  if (contents !== null && matchMedia('(min-width: 84rem)').matches) contents.open = true;
}
