// What the player may do now: buttons, each with a key. A turn and a prompt are answered once.

import { ask, newId, why, type Api } from "./api";
import { byId, draw, el, keyOf, type Child } from "./dom";
import { notice, say } from "./notice";
import { askForChips, askToWait } from "./seating";
import { money } from "./money";
import { offered, refused, sized } from "./words";
import { type Option, PromptKind, Verb } from "../gen/stud/common/v1/seat_pb";
import { type PrivateView, type PromptView, type TableView, TopUpState } from "../gen/stud/table/v1/table_service_pb";

const KEYS: Partial<Record<Verb, string>> = {
  [Verb.FOLD]: "f",
  [Verb.CHECK]: "c",
  [Verb.CALL]: "c",
  [Verb.BRING_IN]: "b",
};
// For what is wagered: the first, and the other size where there are two.
const WAGERS = ["r", "t"];

export class Actions {
  private view: TableView | undefined;
  private mine: PrivateView | undefined;
  private readonly answered = new Set<bigint>();
  private readonly keys = new Map<string, () => void>();
  private readonly listen = (event: KeyboardEvent): void => this.press(event);

  constructor(
    private readonly api: Api,
    private readonly table: string,
  ) {
    for (const id of ["actions", "ahead", "seat-actions"]) draw(byId(id), "", () => []);
    document.addEventListener("keydown", this.listen);
  }

  close(): void {
    document.removeEventListener("keydown", this.listen);
  }

  // Buttons do nothing while nobody hears them.
  connected(is: boolean): void {
    byId("bar").inert = !is;
  }

  show(view: TableView, mine: PrivateView | undefined): void {
    this.view = view;
    this.mine = mine;
    this.redraw();
  }

  private redraw(): void {
    const { view, mine } = this;
    this.keys.clear();
    if (!view) return;
    const { currency } = view.config!;
    const prompt = mine?.prompts.find((each) => !this.answered.has(each.promptId));
    const turn = mine?.turnId && !this.answered.has(mine.turnId) ? mine.options : [];
    const chips = turn.length ? (view.seats.find((seat) => seat.seat === mine?.seat)?.timeChips ?? 0) : 0;
    const buttons = prompt ? this.prompt(prompt, currency) : turn.length ? this.turn(mine!, turn, currency, chips) : [];
    const waits = turn.length > 0 || prompt !== undefined;
    draw(byId("actions"), keyOf(prompt, waits && mine?.turnId, turn, chips), () => buttons);
    byId("bar").classList.toggle("waits", waits);
    this.ahead(view, mine, currency);
    this.seat(view, mine);
  }

  private button(label: string, key: string, kind: string, act: () => void): HTMLElement {
    const once = (): void => {
      // The same step may be asked for twice before the next update: by a key and by a finger.
      if (made.disabled) return;
      act();
    };
    const made = el(
      "button",
      { class: kind, "data-key": key, "aria-keyshortcuts": key, click: once },
      label,
      el("kbd", { "aria-hidden": "true" }, key.toUpperCase()),
    );
    this.keys.set(key, once);
    return made;
  }

  private turn(mine: PrivateView, options: Option[], currency: string, chips: number): Child[] {
    let wagers = 0;
    const words = options.map((option) => offered(option, currency));
    say(`Your turn: ${words.join(", ")}`);
    const time = { table: this.table, turnId: mine.turnId };
    const more = this.button(`More time (${chips})`, "x", "quiet", () => {
      const requestId = newId();
      this.send(() => this.api.tables.useTimeChip({ ...time, requestId }));
    });
    if (!chips) this.keys.delete("x");
    const acts = options.map((option) => {
      const key = KEYS[option.verb] ?? WAGERS[wagers++] ?? `${wagers}`;
      const kind = option.verb === Verb.FOLD ? "quiet" : KEYS[option.verb] ? "plain" : "strong";
      const label = [offered(option, currency), wagers > 1 ? sized(option.size) : ""].filter(Boolean).join(" ");
      const request = { table: this.table, turnId: mine.turnId, verb: option.verb, to: option.to, size: option.size };
      return this.button(label, key, kind, () =>
        this.answer(mine.turnId, (requestId) => this.api.tables.act({ ...request, requestId })),
      );
    });
    return chips ? [...acts, more] : acts;
  }

  private prompt(prompt: PromptView, currency: string): Child[] {
    const { promptId } = prompt;
    const about = { table: this.table, promptId };
    if (prompt.kind === PromptKind.UNSPECIFIED) {
      say(`Post the ante of ${money(prompt.amount, currency)}?`);
      const post = (decline: boolean) => (): void =>
        this.answer(promptId, (requestId) => this.api.tables.postAnte({ ...about, decline, requestId }));
      return [
        this.button("Sit out", "o", "quiet", post(true)),
        this.button(`Post ${money(prompt.amount, currency)}`, "p", "strong", post(false)),
      ];
    }
    say("Show your cards, or muck?");
    const choose = (show: boolean) => (): void =>
      this.answer(promptId, (requestId) => this.api.tables.chooseShow({ ...about, show, requestId }));
    return [this.button("Muck", "m", "quiet", choose(false)), this.button("Show", "s", "strong", choose(true))];
  }

  private ahead(view: TableView, mine: PrivateView | undefined, currency: string): void {
    const options = mine?.preOptions ?? [];
    const chosen = mine?.preAction;
    draw(byId("ahead"), keyOf(options, chosen, mine?.price, view.handNo, view.street), () =>
      options.map((option) => {
        const is = chosen?.verb === option.verb && (!chosen.size || chosen.size === option.size);
        const label = option.verb === Verb.FOLD ? "Check / fold" : offered(option, currency);
        return el(
          "button",
          {
            class: "toggle",
            "aria-pressed": is ? "true" : "false",
            "data-key": `ahead-${option.verb}-${option.size}`,
            click: () => this.choose(view, mine!, option, is),
          },
          label,
        );
      }),
    );
    byId("ahead-group").hidden = !options.length;
  }

  private choose(view: TableView, mine: PrivateView, option: Option, is: boolean): void {
    const about = { table: this.table, requestId: newId(), handNo: view.handNo };
    const { street } = view;
    const { price } = mine;
    const { verb, size } = option;
    this.send(() =>
      is
        ? this.api.tables.clearPreAction(about)
        : this.api.tables.setPreAction({ ...about, street, price, verb, size }),
    );
  }

  private seat(view: TableView, mine: PrivateView | undefined): void {
    const own = mine?.sittingNo ? view.seats.find((seat) => seat.seat === mine.seat) : undefined;
    const config = view.config!;
    const topUp = mine?.lastTopUp?.state === TopUpState.REFUSED ? mine.lastTopUp : undefined;
    const about = { table: this.table };
    const simply = (label: string, key: string, call: (requestId: string) => Promise<unknown>): Child =>
      el("button", { class: "small", "data-key": key, click: () => this.send(() => call(requestId)) }, label);
    const requestId = newId();
    draw(byId("seat-actions"), keyOf(own?.sittingOut, own?.sittingNo, own?.status, mine?.autoPost, mine?.muckLosing, topUp, mine?.waiting, own ? 0 : view.seats), () =>
      !(own && mine)
        ? this.waiting(view, mine)
        : [
            own.sittingOut
              ? simply("I am back", "in", (requestId) => this.api.tables.sitIn({ ...about, requestId }))
              : simply("Sit out", "out", (requestId) => this.api.tables.sitOut({ ...about, requestId })),
            el("button", { class: "small", "data-key": "chips", click: () => askForChips(this.api, config) }, "Add chips"),
            simply("Leave", "leave", (requestId) => this.api.tables.leaveSeat({ ...about, requestId })),
            this.preference("Post antes", "autoPost", mine.autoPost),
            this.preference("Muck losers", "muckLosing", mine.muckLosing),
            topUp && el("span", { class: "detail" }, `No chips: ${refused({ code: 0 as never, text: "", reason: topUp.reason, metadata: {} }, config.currency)}`),
          ],
    );
  }

  // Where every seat is taken one may wait, if the house has a list.
  private waiting(view: TableView, mine: PrivateView | undefined): Child[] {
    const config = view.config!;
    const place = mine?.waiting;
    if (place) {
      const leave = (): void =>
        this.send(() => this.api.tables.leaveWaitingList({ table: this.table, requestId: newId() }));
      const text = place.seat ? `Seat ${place.seat} is kept for you: take it.` : `You are number ${place.position} on the list.`;
      return [
        el("span", { class: "detail" }, text),
        el("button", { class: "small", "data-key": "no-wait", click: leave }, "Stop waiting"),
      ];
    }
    if (!config.ruleset?.waitingList || view.seats.some((seat) => !seat.account && !seat.offeredUntilMs)) return [];
    const wait = (): void => askToWait(this.api, config);
    return [el("button", { class: "small", "data-key": "wait", click: wait }, "Wait for a seat")];
  }

  private preference(label: string, name: "autoPost" | "muckLosing", is: boolean): Child {
    const change = (): void =>
      this.send(() => this.api.tables.setPreferences({ table: this.table, [name]: !is, requestId: newId() }));
    return el(
      "label",
      { class: "check" },
      el("input", { type: "checkbox", checked: is, "data-key": name, change }),
      label,
    );
  }

  // An answer is given once; where it did not come about, the buttons come back.
  private answer(id: bigint, call: (requestId: string) => Promise<unknown>): void {
    if (this.answered.has(id)) return;
    this.answered.add(id);
    this.redraw();
    const requestId = newId();
    this.send(
      () => call(requestId),
      () => {
        this.answered.delete(id);
        this.redraw();
      },
    );
  }

  private send(call: () => Promise<unknown>, failed: () => void = () => undefined): void {
    ask(call).catch((error: unknown) => {
      notice(refused(why(error), this.view?.config?.currency ?? "EUR"));
      failed();
    });
  }

  private press(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const writes = target.closest("input, textarea, select, dialog");
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || writes || byId("bar").inert) return;
    const act = this.keys.get(event.key.toLowerCase());
    if (!act) return;
    event.preventDefault();
    act();
  }
}
