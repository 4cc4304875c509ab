// A table: what everybody sees, what the player sees alone, and who follows it. What is done there is in actions.ts.

import { Actions } from "./actions";
import { why, type Api } from "./api";
import { face, hand } from "./cards";
import { Clock } from "./clock";
import { byId, draw, el, keyOf, type Child } from "./dom";
import { followTable, follow } from "./follow";
import { money, signed } from "./money";
import { say } from "./notice";
import { askForSeat } from "./seating";
import { done, refused, state } from "./words";
import type { Card } from "../gen/stud/common/v1/card_pb";
import {
  HandPhase,
  type LastHand,
  type LastHandSeat,
  type PrivateView,
  type SeatView,
  SeatStatus,
  TableLife,
  type TableUpdate,
  type TableView,
} from "../gen/stud/table/v1/table_service_pb";

const HISTORY = 20;

export class Table {
  private readonly clock = new Clock();
  private readonly actions: Actions;
  private readonly ends: (() => void)[] = [];
  private update: TableUpdate | undefined;
  private counted = 0n;
  // The player's own cards are theirs to see when the hand is over, too.
  private remembered: { hand: bigint; down: Card[] } = { hand: 0n, down: [] };
  private watched = "";
  private missing = false;

  constructor(
    private readonly api: Api,
    table: string,
    private readonly loggedOut: (text: string) => void,
  ) {
    this.actions = new Actions(api, table);
    byId("clock").replaceChildren(this.clock.place);
    byId("history").replaceChildren();
    for (const id of ["board", "seats", "result"]) draw(byId(id), "", () => []);
    byId("balance").textContent = "";
    this.ends.push(
      followTable(api, table, {
        take: (update) => this.take(update),
        connected: (is) => {
          byId("offline").hidden = is;
          this.actions.connected(is);
        },
        over: (error) => (error ? this.loggedOut(refused(why(error), "")) : this.clock.stop()),
      }),
    );
  }

  close(): void {
    this.ends.forEach((end) => end());
    this.actions.close();
    this.clock.stop();
    document.title = "stud";
  }

  private take(update: TableUpdate): void {
    const { view, mine } = update;
    if (!view?.config) return;
    const before = this.update?.view;
    this.update = update;
    const { currency, name, tableId, smallBet, bigBet } = view.config;
    this.watchBalance(currency, mine?.sittingNo ?? 0n);
    byId("title").textContent = `${name || tableId} ${money(smallBet, currency)}/${money(bigBet, currency)}`;
    byId("table").dataset.hand = `${view.handNo}`;
    byId("table").dataset.life = TableLife[view.life];
    this.drawBoard(view);
    this.drawSeats(view, mine);
    this.drawResult(view, mine);
    this.tell(before, view);
    if (!update.current) return;
    this.actions.show(view, mine);
    if (mine?.down.length) this.remembered = { hand: view.handNo, down: mine.down };
    const deadline = view.turn?.deadlineMs || (mine?.prompts.length ? view.promptDeadlineMs : 0n);
    const rules = view.config.ruleset;
    const whole = view.turn ? rules?.actionClockMs : view.phase === HandPhase.ANTES ? rules?.anteClockMs : rules?.showClockMs;
    this.clock.set(deadline, update.sentAtMs, whole ?? 0);
    this.clock.place.classList.toggle("own", Boolean(mine?.turnId || mine?.prompts.length));
    document.title = mine?.turnId || mine?.prompts.length ? "● your turn – stud" : "stud";
  }

  // Once; and again with the first seat where there was no account before, since that opens it.
  private watchBalance(currency: string, sittingNo: bigint): void {
    const wanted = this.missing ? `${currency} ${sittingNo}` : currency;
    if (this.watched === wanted || (this.missing && !sittingNo)) return;
    this.watched = wanted;
    const place = byId("balance");
    this.ends.push(
      follow((signal) => this.api.wallet.watchAccount({ currency }, { signal }), {
        take({ account }) {
          if (!account) return;
          place.textContent = `Balance ${money(account.balance, currency)}`;
          place.dataset.balance = `${account.balance}`;
          place.dataset.escrows = `${account.escrows.length}`;
        },
        connected: () => undefined,
        over: () => (this.missing = true),
      }),
    );
  }

  private drawBoard(view: TableView): void {
    const { currency } = view.config!;
    const pots = view.pots.filter((pot) => pot.amount);
    draw(byId("board"), keyOf(view.potTotal, pots, view.community, state(view)), () => [
      el("div", { class: "state" }, state(view)),
      view.potTotal > 0n && el("div", { class: "pot", "data-pot": `${view.potTotal}` }, `Pot ${money(view.potTotal, currency)}`),
      pots.length > 1 &&
        el(
          "div",
          { class: "pots" },
          pots.map((pot, no) => `${no ? `side ${no}` : "main"} ${money(pot.amount, currency)}`).join(" · "),
        ),
      view.community > 0 &&
        el("div", { class: "community" }, el("span", {}, "for everybody"), face(view.community, false)),
    ]);
  }

  private drawSeats(view: TableView, mine: PrivateView | undefined): void {
    const last = view.phase === HandPhase.UNSPECIFIED ? view.lastHand : undefined;
    const places = byId("seats");
    while (places.children.length < view.seats.length) {
      places.append(el("li", { class: "seat", "data-seat": places.children.length + 1 }));
    }
    view.seats.forEach((seat, index) => {
      const place = places.children[index] as HTMLElement;
      const own = mine?.sittingNo && mine.seat === seat.seat ? mine : undefined;
      const was = last?.seats.find((each) => each.seat === seat.seat && each.sittingNo === seat.sittingNo);
      const turn = view.turn?.seat === seat.seat;
      place.className = [
        "seat",
        seat.account ? "" : "free",
        own ? "own" : "",
        turn ? "turn" : "",
        (was ? !was.live : seat.dealtIn && !seat.live) ? "folded" : "",
        seat.sittingOut ? "out" : "",
        was?.won ? "won" : "",
      ].join(" ");
      place.ariaCurrent = turn ? "true" : "false";
      place.ariaLabel = `seat ${seat.seat}${own ? ", yours" : ""}`;
      const seen = keyOf(seat, own?.down, own?.handInWords, was, view.button, Boolean(mine?.sittingNo), mine?.waiting, view.life);
      draw(place, seen, () => this.seat(view, seat, own, was, !mine?.sittingNo));
    });
  }

  private seat(
    view: TableView,
    seat: SeatView,
    own: PrivateView | undefined,
    was: LastHandSeat | undefined,
    maySit: boolean,
  ): Child[] {
    const config = view.config!;
    if (!seat.account) {
      // One that is kept for whoever waits longest is theirs alone.
      const kept = seat.offeredUntilMs > 0n && this.update?.mine?.waiting?.seat !== seat.seat;
      const open = maySit && view.life === TableLife.OPEN && !kept;
      return [
        open
          ? el(
              "button",
              {
                class: "sit",
                "data-key": `sit-${seat.seat}`,
                "aria-label": `Take seat ${seat.seat}`,
                click: () => askForSeat(this.api, config, seat.seat),
              },
              `Take seat ${seat.seat}`,
            )
          : el("span", { class: "vacant" }, `Seat ${seat.seat}`),
      ];
    }
    const { currency } = config;
    const mucked = own && was && this.remembered.hand === view.lastHand?.handNo ? this.remembered.down : [];
    const known = own?.down.length ? own.down : seat.shown.length ? seat.shown : was?.shown.length ? was.shown : mucked;
    const up = seat.dealtIn || !was ? seat.up : was.up;
    const downs = seat.dealtIn || !was ? seat.downCount : was.shown.length || was.live ? was.downCount : 0;
    const words = own?.handInWords || seat.handInWords || was?.handInWords || "";
    return [
      el(
        "div",
        { class: "who" },
        el("span", { class: "name" }, seat.name || seat.account),
        view.button === seat.seat && el("span", { class: "button", title: "dealer button" }, "D"),
        el("span", { class: "stack", "data-stack": `${seat.stack}` }, money(seat.stack, currency)),
      ),
      el("div", { class: "cards" }, ...(downs || up.length ? hand(up, downs, known, Boolean(own)) : [])),
      el(
        "div",
        { class: "below" },
        el("span", { class: "action" }, this.doing(seat, was, currency)),
        seat.bet > 0n && seat.bet !== seat.lastAction?.to && el("span", { class: "bet" }, money(seat.bet, currency)),
        words !== "" && el("span", { class: "words" }, words),
      ),
    ];
  }

  private doing(seat: SeatView, was: LastHandSeat | undefined, currency: string): string {
    if (seat.status === SeatStatus.RESERVED) return "chips on their way";
    if (seat.status === SeatStatus.LEAVING) return "leaves";
    if (was?.won) return `wins ${money(was.won, currency)}`;
    if (seat.sittingOut) return seat.pending ? `+${money(seat.pending, currency)} to come` : "sits out";
    if (seat.lastAction && seat.dealtIn) return done(seat.lastAction, currency);
    return seat.allIn ? "all-in" : "";
  }

  // How the last hand ended, and what came of it for the player; each hand once.
  private drawResult(view: TableView, mine: PrivateView | undefined): void {
    const last = view.lastHand;
    const { currency } = view.config!;
    draw(byId("result"), keyOf(last), () => (last ? [el("p", {}, ended(last, currency))] : []));
    const own = last?.seats.find((seat) => seat.sittingNo === mine?.sittingNo && mine.sittingNo);
    if (!last || !own || last.handNo <= this.counted) return;
    this.counted = last.handNo;
    const net = own.won - own.paid;
    byId("history").prepend(
      el(
        "li",
        { "data-hand": `${last.handNo}`, "data-net": `${net}` },
        el("span", {}, `Hand ${last.handNo}`),
        el("span", { class: net > 0n ? "plus" : "minus" }, signed(net, currency)),
      ),
    );
    while (byId("history").children.length > HISTORY) byId("history").lastElementChild?.remove();
  }

  // What somebody who does not see the table hears of it.
  private tell(before: TableView | undefined, view: TableView): void {
    if (!before) return;
    const { currency } = view.config!;
    const heard = view.seats.flatMap((seat, index) => {
      const was = before.seats[index]?.lastAction;
      const is = seat.lastAction;
      const news = is && keyOf(is) !== keyOf(was);
      return news ? [`${seat.name || seat.account} ${done(is, currency)}`] : [];
    });
    if (view.lastHand && view.lastHand.handNo !== before.lastHand?.handNo) heard.push(ended(view.lastHand, currency));
    if (heard.length) say(heard.join(". "));
  }
}

function ended(last: LastHand, currency: string): string {
  if (last.voided) return `Hand ${last.handNo} is void: every chip went back.`;
  const winners = last.seats.filter((seat) => seat.won > 0n);
  return winners
    .map((seat) => `${seat.name || seat.account} wins ${money(seat.won, currency)}${seat.handInWords ? ` with ${seat.handInWords}` : ""}`)
    .join(", ");
}

