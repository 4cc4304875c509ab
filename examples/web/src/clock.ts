// A bar that runs out. What is left is a deadline of the server less the server's own clock, as it came with the update.

import { el } from "./dom";

const EVERY_MS = 200;
const HURRY_MS = 5_000;

export class Clock {
  readonly place = el("div", { class: "clock", role: "timer", "aria-label": "time left", hidden: true });
  private readonly bar = el("div", { class: "bar" });
  private readonly text = el("span", { class: "seconds" });
  private endsAt = 0;
  private whole = 1;
  private deadline = 0n;
  private timer = 0;

  constructor() {
    this.place.append(this.bar, this.text);
  }

  // `sentAt`: the server's clock when the update was sent. A deadline of 0 is none. `whole`: milliseconds of a full bar.
  set(deadline: bigint, sentAt: bigint, whole: number): void {
    if (deadline === this.deadline) return;
    this.deadline = deadline;
    clearInterval(this.timer);
    this.place.hidden = !deadline;
    if (!deadline) return;
    const left = Number(deadline - sentAt);
    this.endsAt = performance.now() + left;
    this.whole = Math.max(whole, left, 1);
    this.timer = window.setInterval(() => this.tick(), EVERY_MS);
    this.tick();
  }

  stop(): void {
    this.set(0n, 0n, 0);
  }

  private tick(): void {
    const left = Math.max(0, this.endsAt - performance.now());
    this.bar.style.transform = `scaleX(${Math.min(1, left / this.whole).toFixed(4)})`;
    const seconds = `${Math.ceil(left / 1000)} s`;
    if (this.text.textContent !== seconds) this.text.textContent = seconds;
    this.place.classList.toggle("hurry", left < HURRY_MS);
  }
}
