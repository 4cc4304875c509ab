// The lobby: every table as it is now, and where one has a seat.

import { why, type Api } from "./api";
import { byId, draw, el, keyOf, type Child } from "./dom";
import { follow } from "./follow";
import { money } from "./money";
import { notice } from "./notice";
import { refused } from "./words";
import { type MySitting, type TableSummary } from "../gen/stud/table/v1/table_service_pb";

export const linkTo = (table: string): string => `#table=${encodeURIComponent(table)}`;

const RULESETS: Record<string, string> = { playnow: "PlayNow", william_hill: "William Hill" };

// Shows the lobby until the function that it returns is called.
export function showLobby(api: Api, loggedOut: (text: string) => void): () => void {
  const tables = new Map<string, TableSummary>();
  const mine = new Map<string, MySitting>();
  const keyOfSitting = (sitting: { table: string; sittingNo: bigint }): string => keyOf(sitting.table, sitting.sittingNo);
  let current = false;

  function redraw(): void {
    const lines = [...tables.values()].sort((a, b) => b.seated - a.seated || (a.table < b.table ? -1 : 1));
    const places = [...mine.values()].sort((a, b) => (a.table < b.table ? -1 : 1));
    draw(byId("sittings"), keyOf(places), () => places.map(sitting));
    byId("mine").hidden = !places.length;
    draw(byId("tables"), keyOf(current, lines), () => (lines.length ? lines.map(line) : [empty(current)]));
  }

  const over = (error?: unknown): void => {
    if (error) loggedOut(refused(why(error), ""));
  };
  const connected = (is: boolean): void => {
    byId("offline").hidden = is;
  };
  const ends = [
    follow((signal) => api.tables.watchLobby({}, { signal }), {
      take(message) {
        // A stream that is opened again begins with all tables; what is gone by then is gone here too.
        if (!message.current && current) {
          tables.clear();
          current = false;
        }
        for (const table of message.tables) tables.set(table.table, table);
        for (const table of message.removed) tables.delete(table);
        current = message.current;
        redraw();
      },
      connected,
      over,
    }),
    follow((signal) => api.tables.watchMe({}, { signal }), {
      take(message) {
        if (message.reset) mine.clear();
        for (const is of message.sittings) mine.set(keyOfSitting(is), is);
        for (const was of message.over) mine.delete(keyOfSitting(was));
        for (const { text } of message.messages) notice(text);
        redraw();
      },
      connected,
      over,
    }),
  ];
  redraw();
  return () => ends.forEach((end) => end());
}

const empty = (current: boolean): HTMLElement =>
  el("li", { class: "empty" }, current ? "No table is open: an operator opens one." : "Looking for tables …");

function sitting(is: MySitting): HTMLElement {
  const turn = is.turn !== undefined || is.prompts.length > 0;
  return el(
    "li",
    {},
    el(
      "a",
      { class: `line${turn ? " call" : ""}`, href: linkTo(is.table), "data-key": is.table },
      el("span", { class: "name" }, is.tableName || is.table),
      el("span", { class: "detail" }, turn ? "it is your turn" : is.sittingOut ? "sitting out" : "seated"),
      el("span", { class: "number" }, money(is.stack, is.currency)),
    ),
  );
}

function line(table: TableSummary): HTMLElement {
  const figures: Child = table.figures && `average pot ${money(table.figures.averagePot, table.currency)}`;
  const free = table.seats - table.seated;
  return el(
    "li",
    {},
    el(
      "a",
      { class: "line", href: linkTo(table.table), "data-key": table.table, "data-table": table.table },
      el("span", { class: "name" }, table.name || table.table),
      el(
        "span",
        { class: "detail" },
        [RULESETS[table.ruleset] ?? table.ruleset, figures, table.paused && "paused"].filter(Boolean).join(" · "),
      ),
      el("span", { class: "number" }, `${money(table.smallBet, table.currency)}/${money(table.bigBet, table.currency)}`),
      el(
        "span",
        { class: "seats", "aria-label": `${table.seated} of ${table.seats} seats taken` },
        ...Array.from({ length: table.seats }, (_, seat) => el("i", { class: seat < table.seated ? "taken" : "" })),
        el("b", {}, free ? `${free} free` : "full"),
      ),
    ),
  );
}
