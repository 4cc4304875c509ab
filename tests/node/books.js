'use strict';
// What a client can know of the money at a table from what it is shown, held against itself at every step.

const assert = require('node:assert/strict');

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const BETWEEN_HANDS = 'HAND_PHASE_UNSPECIFIED';

// All chips that the view shows.
const chips = (view) => view.pot_total + sum(view.seats.map((seat) => seat.stack + seat.pending));

// What one commit may add to or take from the chips at a table: who sits down or is paid out, top-ups, rake.
function moved(before, update) {
  const left = before.seats.filter(
    (seat) => seat.sitting_no && update.view.seats[seat.seat - 1].sitting_no !== seat.sitting_no,
  );
  const events = sum(
    update.events.map((event) => {
      if (event.player_seated) return event.player_seated.stack;
      if (event.top_up_pending) return event.top_up_pending.amount;
      if (event.pot_awarded) return -event.pot_awarded.rake;
      return 0;
    }),
  );
  return events - sum(left.map((seat) => seat.stack + seat.pending));
}

function checkLastHand(hand) {
  const where = `hand ${hand.hand_no}`;
  const paid = sum(hand.seats.map((seat) => seat.paid));
  assert.equal(sum(hand.seats.map((seat) => seat.won)) + hand.rake, paid, `${where}: what is won is what was paid`);
  if (hand.voided) return;
  assert.equal(sum(hand.pots.map((pot) => pot.amount)), paid, `${where}: the pots hold what was paid`);
  assert.equal(sum(hand.pots.map((pot) => pot.rake)), hand.rake, `${where}: rake`);
  for (const pot of hand.pots) {
    assert.equal(sum(pot.shares.map((share) => share.amount)) + pot.rake, pot.amount, `${where}: pot ${pot.pot_no}`);
  }
  for (const seat of hand.seats) {
    const shares = hand.pots.flatMap((pot) => pot.shares).filter((share) => share.seat === seat.seat);
    assert.equal(sum(shares.map((share) => share.amount)), seat.won, `${where}: seat ${seat.seat}`);
    assert.ok(seat.shown.length === 0 || seat.shown.length === seat.down_count, `${where}: all cards or none`);
    assert.ok(!seat.rank || seat.shown.length, `${where}: a rank without cards`);
  }
}

// One account's books: what he brought, and what each hand brought him.
class Books {
  constructor(account, deposit) {
    this.account = account;
    this.deposit = deposit;
    this.broughtIn = 0;
    this.result = 0;
    this.rake = 0;
    this.hands = 0;
    this.showdowns = 0;
    this.topUps = new Map();
  }

  get stack() {
    return this.broughtIn + sum([...this.topUps.values()]) + this.result;
  }

  get balance() {
    return this.deposit + this.result;
  }

  // Every hand is booked once, however often it is shown, and none is missed.
  note(update) {
    const hand = update.view.last_hand;
    if (hand && hand.hand_no > this.hands) {
      assert.equal(hand.hand_no, this.hands + 1, `${this.account} missed a hand`);
      checkLastHand(hand);
      this.hands = hand.hand_no;
      this.rake += hand.rake;
      this.showdowns += hand.seats.filter((seat) => seat.rank).length > 1 ? 1 : 0;
      const mine = hand.seats.find((seat) => seat.account === this.account);
      if (mine) this.result += mine.won - mine.paid;
    }
    if (update.current && update.mine && update.mine.seat) this.hold(update);
  }

  hold(update) {
    const topUp = update.mine.last_top_up;
    if (topUp && ['TOP_UP_STATE_PENDING', 'TOP_UP_STATE_ADDED'].includes(topUp.state)) {
      this.topUps.set(topUp.top_up_no, topUp.amount);
    }
    const seat = update.view.seats[update.mine.seat - 1];
    if (update.view.phase !== BETWEEN_HANDS || !['SEAT_STATUS_SEATED', 'SEAT_STATUS_LEAVING'].includes(seat.status)) return;
    assert.equal(seat.stack + seat.pending, this.stack, `${this.account} at ${update.version}: stack and books`);
  }
}

module.exports = { BETWEEN_HANDS, Books, chips, moved };
