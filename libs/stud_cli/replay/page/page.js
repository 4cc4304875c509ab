"use strict";
// Draws what lies in the page's data block. Text goes in as text, never as markup; nothing is fetched or kept.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const {hands, steps, cards: NAMES} = data;
  const SUITS = {c: ["♣", "clubs"], d: ["♦", "diamonds"], h: ["♥", "hearts"], s: ["♠", "spades"]};
  const RANKS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", T: "ten",
    J: "jack", Q: "queen", K: "king", A: "ace"};
  const SHORT = {"third street": "3rd", "fourth street": "4th", "fifth street": "5th", "sixth street": "6th",
    "the river": "river", "the end": "end"};
  const $ = (id) => document.getElementById(id);
  const make = (tag, name, text) => {
    const node = document.createElement(tag);
    if (name) node.className = name;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const money = (amount) => {
    const cents = String(Math.abs(amount) % 100).padStart(2, "0");
    const whole = String(Math.floor(Math.abs(amount) / 100)).replace(/\B(?=(\d{3})+$)/g, ",");
    return (amount < 0 ? "-" : "") + whole + "." + cents;
  };
  const clock = (ms) => new Date(ms).toISOString().slice(11, 19);
  const day = (ms) => new Date(ms).toISOString().slice(0, 10);

  let at = 0;
  let hand = -1;
  let timer = 0;

  const handOf = (step) => {
    let low = 0;
    let high = hands.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (hands[middle].first <= step) low = middle; else high = middle - 1;
    }
    return low;
  };
  const endOf = (number) => number + 1 < hands.length ? hands[number + 1].first : steps.length;

  const card = (code, isDown) => {
    if (code < 0) {
      const back = make("span", "card back");
      back.setAttribute("role", "img");
      back.setAttribute("aria-label", "a hidden card");
      return back;
    }
    const [rank, suit] = NAMES[code];
    const face = make("span", "card " + suit + (isDown ? " down" : ""));
    face.setAttribute("role", "img");
    face.setAttribute("aria-label", `${RANKS[rank]} of ${SUITS[suit][1]}${isDown ? ", face down" : ""}`);
    face.append(make("span", "rank", rank === "T" ? "10" : rank));
    const sign = make("span", "suit", SUITS[suit][0]);
    sign.append(make("span", "letter", suit));
    face.append(sign);
    return face;
  };

  const seatOf = (number, seat, step) => {
    const box = make("div", `seat at${number}`);
    box.setAttribute("role", "group");
    if (!seat) {
      box.dataset.empty = "1";
      box.setAttribute("aria-label", `seat ${number}, empty`);
      box.append(make("span", "", `seat ${number}`));
      return box;
    }
    const isTurn = step.turn === number;
    box.dataset.turn = isTurn ? "1" : "0";
    box.dataset.out = seat.out ? "1" : "0";
    box.setAttribute("aria-label", `seat ${number}, ${seat.who}`);
    const name = make("div", "name");
    name.title = `seat ${number}: ${seat.who}`;
    const no = make("span", "no", String(number));
    no.setAttribute("aria-hidden", "true");
    name.append(no);
    if (step.button === number) {
      const dealer = make("span", "dealer", "D");
      dealer.setAttribute("role", "img");
      dealer.setAttribute("aria-label", "dealer button");
      name.append(dealer, " ");
    }
    name.append(seat.who);
    const note = make("div", "note");
    if (isTurn) note.append(make("b", "", "to act"), seat.note ? ", " : "");
    note.append(seat.note || "");
    const row = make("div", "cards");
    for (const [code, isDown] of seat.cards || []) row.append(card(code, isDown));
    const end = make("div", "end");
    end.append(make("div", "bet", seat.bet ? `bet ${money(seat.bet)}` : ""), note);
    box.append(name, make("div", "stack", money(seat.stack)), row, end);
    return box;
  };

  const drawTable = (step) => {
    const felt = $("felt");
    felt.replaceChildren();
    const middle = make("div", "middle");
    middle.append(make("span", "street", step.street || "before the first hand"));
    const paid = step.street === "the end" && !step.pot && hands[hand].pot;
    middle.append(make("span", "pot", paid ? `pot ${money(paid)} paid` : `pot ${money(step.pot || 0)}`));
    if (step.common !== undefined) {
      const common = make("span", "common", "common card ");
      common.append(card(step.common, false));
      middle.append(common);
    }
    if (step.pots && step.pots.length > 1) {
      const each = step.pots.map((amount, number) => `${number ? "side" : "main"} ${money(amount)}`);
      middle.append(make("span", "pots", each.join(" · ")));
    }
    if (step.stands) middle.append(make("span", "pots", step.stands));
    felt.append(middle);
    for (let number = 1; number <= data.seats; number += 1) felt.append(seatOf(number, step.seats[number], step));
  };

  const drawLists = () => {
    const {first} = hands[hand];
    const end = endOf(hand);
    $("scrub").max = String(end - first - 1);
    const streets = $("streets");
    streets.replaceChildren();
    const list = $("story");
    list.replaceChildren();
    let part = null;
    for (let number = first; number < end; number += 1) {
      const {street, at: when} = steps[number];
      if (street && street !== part) {
        part = street;
        list.append(make("li", "part", street));
        const jump = make("button", "", SHORT[street] || street);
        jump.title = street;
        jump.type = "button";
        jump.dataset.step = String(number);
        jump.addEventListener("click", () => { stop(); show(number); });
        streets.append(jump);
      }
      const line = make("li");
      const go = make("button");
      go.type = "button";
      go.dataset.step = String(number);
      go.append(make("span", "", words(steps[number])), make("span", "clock", clock(when)));
      go.addEventListener("click", () => { stop(); show(number); });
      line.append(go);
      list.append(line);
    }
    for (const section of document.querySelectorAll(".written section")) {
      section.toggleAttribute("data-shown", section.dataset.hand === String(hand));
    }
    for (const go of $("hands").querySelectorAll("button")) {
      if (go.dataset.hand === String(hand)) go.setAttribute("aria-current", "true");
      else go.removeAttribute("aria-current");
    }
    bring($("hands").querySelector("[aria-current]"), $("hands"));
    $("hand-title").textContent = hands[hand].title;
  };

  // Scrolls a list, never the page.
  const bring = (node, list) => {
    if (!node) return;
    const top = node.offsetTop - list.offsetTop;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + node.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top + node.offsetHeight - list.clientHeight;
    }
  };

  const told = (line, kind) => {
    const node = make("span", kind === "next" ? "line next" : "line", line.what);
    if (line.why) node.append(" ", make("span", "why", line.why));
    return node;
  };
  const words = (step) => step.say.map((line) => line.what).join("; ");

  const show = (number) => {
    at = Math.max(0, Math.min(steps.length - 1, number));
    const now = handOf(at);
    if (now !== hand) {
      hand = now;
      drawLists();
    }
    const step = steps[at];
    const {first} = hands[hand];
    drawTable(step);
    $("say").replaceChildren(...step.say.map(told), ...(step.next ? [told(step.next, "next")] : []));
    $("said").scrollTop = 0;
    $("when").textContent = `${day(step.at)} ${clock(step.at)} UTC`;
    $("ver").textContent = ` · version ${step.v}`;
    const scrub = $("scrub");
    scrub.value = String(at - first);
    scrub.setAttribute("aria-valuetext", `step ${at - first + 1} of ${endOf(hand) - first}: ${words(step)}`);
    $("where").textContent = `step ${at - first + 1} of ${endOf(hand) - first}`;
    $("back").disabled = at === 0;
    $("on").disabled = at === steps.length - 1;
    $("hand-back").disabled = hand === 0 && at === first;
    $("hand-on").disabled = hand === hands.length - 1;
    let current = null;
    for (const go of $("story").querySelectorAll("button")) {
      if (go.dataset.step === String(at)) {
        go.setAttribute("aria-current", "step");
        current = go;
      } else go.removeAttribute("aria-current");
    }
    bring(current, $("story"));
    let street = null;
    for (const go of $("streets").children) {
      if (Number(go.dataset.step) <= at) street = go;
      go.setAttribute("aria-current", "false");
    }
    if (street) street.setAttribute("aria-current", "true");
  };

  const face = (word, path) => {
    $("play-word").textContent = word;
    $("play").querySelector("path").setAttribute("d", path);
  };
  const stop = () => {
    clearTimeout(timer);
    timer = 0;
    face("Play", "M8 5v14l11-7z");
    $("play").setAttribute("aria-pressed", "false");
  };
  const tick = () => {
    if (at >= steps.length - 1) { stop(); return; }
    const wait = hands.some((other) => other.first === at + 1) ? 2400 : 1200;
    timer = setTimeout(() => { show(at + 1); tick(); }, wait / Number($("speed").value));
  };
  const toggle = () => {
    if (timer) { stop(); return; }
    if (at >= steps.length - 1) show(0);
    face("Pause", "M7 5h4v14H7zM13 5h4v14h-4z");
    $("play").setAttribute("aria-pressed", "true");
    tick();
  };
  const move = (by) => { stop(); show(at + by); };
  const moveHand = (by) => {
    stop();
    if (by < 0 && at > hands[hand].first) show(hands[hand].first);
    else if (hands[hand + by]) show(hands[hand + by].first);
  };

  hands.forEach((one, number) => {
    const line = make("li");
    const go = make("button");
    go.type = "button";
    go.dataset.hand = String(number);
    go.append(make("span", "", one.name), make("span", "", day(one.at) + " " + clock(one.at)));
    go.append(make("span", "pot", one.pot ? money(one.pot) : ""), make("span", "how", one.how));
    go.addEventListener("click", () => { stop(); show(one.first); });
    line.append(go);
    $("hands").append(line);
  });
  $("play").addEventListener("click", toggle);
  $("back").addEventListener("click", () => move(-1));
  $("on").addEventListener("click", () => move(1));
  $("hand-back").addEventListener("click", () => moveHand(-1));
  $("hand-on").addEventListener("click", () => moveHand(1));
  $("scrub").addEventListener("input", (event) => { stop(); show(hands[hand].first + Number(event.target.value)); });
  $("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const tag = event.target.tagName;
    if (tag === "SELECT" || (tag === "INPUT" && event.key.startsWith("Arrow"))) return;
    const keys = {ArrowLeft: () => move(-1), ArrowRight: () => move(1), PageUp: () => moveHand(-1),
      PageDown: () => moveHand(1), Home: () => move(hands[hand].first - at), End: () => move(endOf(hand) - 1 - at)};
    const isButton = tag === "BUTTON" || tag === "SUMMARY";
    if (event.key === " " && !isButton) keys[" "] = toggle;
    if (event.key === "p") keys.p = toggle;
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  show(data.start);
  document.documentElement.dataset.ready = "1"; // until here the hands stand there as text
})();
