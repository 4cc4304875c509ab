// Elements in a line, and nothing drawn twice. Texts are texts: nothing here ever reads markup.

export type Child = Node | string | false | undefined;
type Attributes = Record<string, string | boolean | number | ((event: Event) => void) | undefined>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child) => child !== false && child !== undefined));
  return made;
}

// Draws a place anew where what is to be seen there has changed; who had the focus in it keeps it, by `data-key`.
export function draw(place: HTMLElement, seen: string, make: () => Child[]): void {
  if (place.dataset.seen === seen) return;
  place.dataset.seen = seen;
  const focused = place.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.key : "";
  place.replaceChildren(...make().filter((child) => child !== false && child !== undefined));
  if (focused) place.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

// A key for `draw` of anything that a message holds.
export const keyOf = (...parts: unknown[]): string =>
  JSON.stringify(parts, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));

export const byId = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
