// The page: a token, then the lobby or a table. Which of them stands in the address, so a reload comes back to it.

import { open, subjectOf, type Api } from "./api";
import { byId } from "./dom";
import { showLobby } from "./lobby";
import { Table } from "./table";

// For this tab and until it is closed; nowhere else, since whoever has it plays as its account.
const TOKEN = "stud.token";

let api: Api | undefined;
let end: () => void = () => undefined;

function show(view: "login" | "lobby" | "table"): void {
  for (const each of ["login", "lobby", "table"]) byId(each).hidden = each !== view;
  byId("back").hidden = view !== "table";
  byId("log-out").hidden = view === "login";
  byId("offline").hidden = true;
  byId("title").textContent = view === "login" ? "Seven-card stud" : "Lobby";
  byId("account").textContent = api?.account ?? "";
}

function logOut(text = ""): void {
  end();
  end = () => undefined;
  api = undefined;
  sessionStorage.removeItem(TOKEN);
  show("login");
  byId("login-problem").textContent = text;
  byId("token").focus();
}

function route(): void {
  end();
  end = () => undefined;
  if (!api) return show("login");
  const table = new URLSearchParams(location.hash.slice(1)).get("table");
  show(table ? "table" : "lobby");
  if (table) {
    const shown = new Table(api, table, logOut);
    end = () => shown.close();
  } else {
    end = showLobby(api, logOut);
  }
}

function logIn(token: string): void {
  try {
    subjectOf(token);
  } catch (error) {
    byId("login-problem").textContent = (error as Error).message;
    return;
  }
  sessionStorage.setItem(TOKEN, token.trim());
  byId<HTMLTextAreaElement>("token").value = "";
  byId("login-problem").textContent = "";
  api = open(token.trim());
  route();
}

byId<HTMLFormElement>("login-form").addEventListener("submit", (event) => {
  event.preventDefault();
  logIn(byId<HTMLTextAreaElement>("token").value);
});
byId("log-out").addEventListener("click", () => logOut());
window.addEventListener("hashchange", route);

const kept = sessionStorage.getItem(TOKEN);
if (kept) logIn(kept);
else show("login");
