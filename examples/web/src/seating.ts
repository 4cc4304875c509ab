// Chips: a seat and what to bring, or more of them. Asked in a dialog, since it is money.

import { ask, newId, why, type Api } from "./api";
import { byId } from "./dom";
import { money, parse, plain } from "./money";
import { refused } from "./words";
import type { TableConfig } from "../gen/stud/common/v1/ruleset_pb";
import { SeatOutcome } from "../gen/stud/table/v1/table_service_pb";

interface Question {
  title: string;
  currency: string;
  amount: bigint;
  hint: string;
  autoPost: boolean | undefined;
  answer(amount: bigint, autoPost: boolean): Promise<string>;
}

export function askForSeat(api: Api, config: TableConfig, seat: number): void {
  const { currency, tableId: table, bigBet } = config;
  const requestId = newId();
  const least = bigBet * 5n; // a beginning: what the least is, the table says where it is more
  void api.tables.listTables({ currency, pageSize: 1000 }).then(({ tables }) => {
    const line = tables.find((each) => each.table === table);
    const field = byId<HTMLInputElement>("amount");
    if (line && field.value === plain(least, currency)) field.value = plain(line.suggestedBuyIn, currency);
    if (line) {
      const most = line.maxBuyIn === undefined ? "" : ` to ${money(line.maxBuyIn, currency)}`;
      byId("hint").textContent = `${money(line.minBuyIn, currency)}${most || " or more"}`;
    }
  }, () => undefined);
  open({
    title: `Take seat ${seat}`,
    currency,
    amount: least,
    hint: "",
    autoPost: config.ruleset?.autoPostDefault ?? true,
    async answer(amount, autoPost) {
      await ask(() => api.wallet.openAccount({ currency, requestId: `${requestId}-a` }));
      const { outcome } = await ask(() =>
        api.tables.takeSeat({ table, seat, amount, autoPost, requestId: `${requestId}-${amount}` }),
      );
      return outcome === SeatOutcome.PENDING ? "Your chips are on their way." : "";
    },
  });
}

export function askToWait(api: Api, config: TableConfig): void {
  const { currency, tableId: table, bigBet } = config;
  const requestId = newId();
  open({
    title: "Wait for a seat",
    currency,
    amount: bigBet * 10n,
    hint: "What you mean to sit down with.",
    autoPost: undefined,
    async answer(amount) {
      await ask(() => api.wallet.openAccount({ currency, requestId: `${requestId}-a` }));
      await ask(() => api.tables.joinWaitingList({ table, amount, requestId: `${requestId}-${amount}` }));
      return "";
    },
  });
}

export function askForChips(api: Api, config: TableConfig): void {
  const { currency, tableId: table, bigBet } = config;
  const requestId = newId();
  open({
    title: "Add chips",
    currency,
    amount: bigBet * 5n,
    hint: "They come between two hands.",
    autoPost: undefined,
    async answer(amount) {
      await ask(() => api.tables.addChips({ table, amount, requestId: `${requestId}-${amount}` }));
      return "";
    },
  });
}

function open(question: Question): void {
  const dialog = byId<HTMLDialogElement>("chips");
  const form = byId<HTMLFormElement>("chips-form");
  const amount = byId<HTMLInputElement>("amount");
  const autoPost = byId<HTMLInputElement>("auto-post");
  const problem = byId("problem");
  const send = byId<HTMLButtonElement>("chips-ok");
  byId("chips-title").textContent = question.title;
  byId("hint").textContent = question.hint;
  byId("auto-post-label").hidden = question.autoPost === undefined;
  autoPost.checked = question.autoPost ?? false;
  amount.value = plain(question.amount, question.currency);
  problem.textContent = "";
  form.onsubmit = (event) => {
    event.preventDefault();
    const chosen = parse(amount.value, question.currency);
    if (!chosen) {
      problem.textContent = "Want an amount, such as 20 or 12.50.";
      return;
    }
    send.disabled = true;
    question
      .answer(chosen, autoPost.checked)
      .then(
        () => dialog.close(),
        (error: unknown) => (problem.textContent = refused(why(error), question.currency)),
      )
      .finally(() => (send.disabled = false));
  };
  byId("chips-cancel").onclick = () => dialog.close();
  dialog.showModal();
  amount.select();
}
