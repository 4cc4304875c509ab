// What the page says of what the services name. What is new to it is said as it came.

import { type Refusal } from "./api";
import { money } from "./money";
import { type Option, Size, Verb } from "../gen/stud/common/v1/seat_pb";
import { HandPhase, type SeatAction, type TableView, TableLife } from "../gen/stud/table/v1/table_service_pb";

const VERBS: Partial<Record<Verb, string>> = {
  [Verb.FOLD]: "Fold",
  [Verb.CHECK]: "Check",
  [Verb.CALL]: "Call",
  [Verb.BRING_IN]: "Bring in",
  [Verb.OPEN]: "Open",
  [Verb.COMPLETE]: "Complete",
  [Verb.BET]: "Bet",
  [Verb.RAISE]: "Raise",
};
const DONE: Partial<Record<Verb, string>> = {
  [Verb.FOLD]: "folds",
  [Verb.CHECK]: "checks",
  [Verb.CALL]: "calls",
  [Verb.BRING_IN]: "brings in",
  [Verb.OPEN]: "opens",
  [Verb.COMPLETE]: "completes",
  [Verb.BET]: "bets",
  [Verb.RAISE]: "raises",
};
const TO_A_TOTAL = new Set([Verb.RAISE, Verb.COMPLETE]);

// "Raise to €12": what a button says. Ahead of a turn "Check" may be what folding comes to.
export function offered(option: Option, currency: string): string {
  const word = VERBS[option.verb] ?? "Act";
  if (!option.amount) return word;
  const amount = TO_A_TOTAL.has(option.verb) ? `to ${money(option.to, currency)}` : money(option.amount, currency);
  return `${word} ${amount}${option.allIn ? ", all-in" : ""}`;
}

// "raises to €12": what a seat did last.
export function done(action: SeatAction, currency: string): string {
  const word = DONE[action.verb] ?? "acts";
  if (!action.amount) return word;
  const amount = TO_A_TOTAL.has(action.verb) ? `to ${money(action.to, currency)}` : money(action.amount, currency);
  return `${word} ${amount}${action.allIn ? ", all-in" : ""}`;
}

export const sized = (size: Size): string => (size === Size.LOW ? "low" : size === Size.HIGH ? "high" : "");

const WAITING: Record<string, string> = {
  TOO_FEW_PLAYERS: "Waiting for players",
  VERIFYING: "The referee checks the hand",
  DECK_NOT_READY: "The dealer shuffles",
  DISPUTED: "The last hand is being looked into",
  PAUSED: "The table is paused",
  DRAINING: "No new hand begins",
  CLOSING: "The table closes",
  CLOSED: "The table is closed",
};
const PHASES: Partial<Record<HandPhase, string>> = {
  [HandPhase.ANTES]: "Antes",
  [HandPhase.DEALING]: "Dealing",
  [HandPhase.SHOW_PROMPTS]: "Show or muck",
};
const STREETS: Record<number, string> = { 3: "Third", 4: "Fourth", 5: "Fifth", 6: "Sixth", 7: "Seventh" };

// What the table does now.
export function state(view: TableView): string {
  if (view.life === TableLife.CLOSED) return WAITING.CLOSED!;
  if (view.paused) return /^[A-Z_]+$/.test(view.paused) ? "The table stands for a moment" : `Paused: ${view.paused}`;
  if (view.phase === HandPhase.BETTING) return `${STREETS[view.street] ?? view.street} street`;
  return PHASES[view.phase] ?? WAITING[view.waitingFor] ?? (view.waitingFor || "Next hand");
}

const REASONS: Record<string, string> = {
  TOKEN_EXPIRED: "Your token has run out: log in with a fresh one.",
  UNAUTHENTICATED: "That token is no good here.",
  ROLE_NOT_ALLOWED: "That token is not a player's.",
  RATE_LIMITED: "Too fast: wait a moment.",
  SEAT_TAKEN: "Somebody else has taken that seat.",
  TABLE_FULL: "The table is full.",
  ALREADY_SEATED: "You have a seat at this table.",
  STALE_TURN: "That turn is over.",
  DEADLINE_PASSED: "The clock had run out.",
  UNKNOWN_TABLE: "There is no such table.",
};

// Why something was refused, with what would have been right.
export function refused(refusal: Refusal, currency: string): string {
  const { min, max, balance } = refusal.metadata;
  if (refusal.reason === "BUY_IN_TOO_SMALL" && min) return `At least ${money(BigInt(min), currency)}.`;
  if (refusal.reason === "BUY_IN_TOO_LARGE" && max) return `At most ${money(BigInt(max), currency)}.`;
  if (refusal.reason === "INSUFFICIENT_FUNDS" && balance)
    return `Your balance is ${money(BigInt(balance), currency)}: ask the cashier.`;
  return REASONS[refusal.reason] ?? (refusal.text || "That did not work: try again.");
}
