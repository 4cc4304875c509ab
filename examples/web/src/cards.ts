// Cards as they are seen and as they are heard. A suit is told by its shape, its colour only helps.

import { el } from "./dom";
import { Card } from "../gen/stud/common/v1/card_pb";

const RANKS = "23456789TJQKA";
const RANK_WORDS = [
  "deuce", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "jack", "queen", "king", "ace",
]; // prettier-ignore
const SUITS = ["♣", "♦", "♥", "♠"];
const SUIT_WORDS = ["clubs", "diamonds", "hearts", "spades"];

// "ace of hearts".
export function spoken(card: Card): string {
  const number = card - 1;
  return `${RANK_WORDS[number >> 2] ?? "?"} of ${SUIT_WORDS[number & 3] ?? "?"}`;
}

// A card that is seen; `down`: it lies face down for everybody else.
export function face(card: Card, down: boolean): HTMLElement {
  const number = card - 1;
  const rank = RANKS[number >> 2] ?? "?";
  return el(
    "span",
    {
      class: `card suit-${SUIT_WORDS[number & 3] ?? ""}${down ? " down" : ""}`,
      role: "img",
      "aria-label": `${spoken(card)}${down ? ", face down" : ""}`,
      "data-card": Card[card],
    },
    el("span", { class: "rank" }, rank === "T" ? "10" : rank),
    el("span", { class: "suit" }, `${SUITS[number & 3] ?? ""}\uFE0E`),
  );
}

export const back = (): HTMLElement => el("span", { class: "card back", role: "img", "aria-label": "face down" });

// A hand in the order dealt: two down, up to four up, and the last one down; whose cards are known shows them.
export function hand(up: Card[], downCount: number, known: Card[], ownDown: boolean): HTMLElement[] {
  const downs = Array.from({ length: downCount }, (_, place) =>
    known[place] ? face(known[place], ownDown) : back(),
  );
  return [...downs.slice(0, 2), ...up.map((card) => face(card, false)), ...downs.slice(2)];
}
