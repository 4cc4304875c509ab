// One line for what went wrong, and one that is only heard: what happens at the table.

import { byId } from "./dom";

const STAYS_MS = 6_000;
let timer = 0;

export function notice(text: string): void {
  const place = byId("notice");
  place.textContent = text;
  place.hidden = !text;
  clearTimeout(timer);
  if (text) timer = window.setTimeout(() => notice(""), STAYS_MS);
}

export function say(text: string): void {
  byId("said").textContent = text;
}
