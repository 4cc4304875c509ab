'use strict';
// A player: answers turns and prompts at once, sometimes ahead of his turn, and loses his connection now and then.

const assert = require('node:assert/strict');
const { metadata, unary } = require('./contract');
const { Books } = require('./books');
const { Viewer } = require('./viewer');

// How often what is done: most give up at once, and who stays in wants to see the end.
const EARLY = { VERB_FOLD: 8, VERB_CALL: 4, VERB_BRING_IN: 6, VERB_OPEN: 1, VERB_COMPLETE: 1 };
const LATE = { VERB_FOLD: 1, VERB_CHECK: 6, VERB_CALL: 9, VERB_BET: 3, VERB_RAISE: 1 };

// What is refused only because the table had moved on when the command arrived.
const RACES = {
  set_pre_action: ['STALE_TURN', 'PRE_ACTION_NOT_ALLOWED', 'ILLEGAL_ACTION'],
  clear_pre_action: ['PRE_ACTION_NOT_ALLOWED'],
};

// A small generator of pseudo-random numbers in [0, 1), so that choices can be had again (mulberry32).
function randomness(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

class Player extends Viewer {
  constructor({ name, token, table, views, tables, deposit, seed, preferences, accepts }) {
    super(name, table, views, accepts);
    this.tables = tables;
    this.token = token;
    this.preferences = preferences;
    this.books = new Books(name, deposit);
    this.random = randomness(seed);
    this.sent = new Map();
    this.answered = new Set();
    this.considered = '';
    this.numbers = 0;
    this.untilCut = this.between(30, 150);
    this.counts = { acts: 0, armed: 0, cleared: 0, taken: 0, antes: 0, shows: 0, again: 0 };
    this.leaving = false;
  }

  between(least, most) {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  async sit(seat, amount) {
    const request = { table: this.table, seat, amount, ...this.preferences, request_id: `${this.name} sits` };
    const sitting = await unary(this.tables, 'TakeSeat', request, this.token);
    assert.deepEqual([sitting.outcome, sitting.seat], ['SEAT_OUTCOME_SEATED', seat]);
    this.books.broughtIn += amount;
    assert.deepEqual(await unary(this.tables, 'TakeSeat', request, this.token), sitting, 'asking twice');
  }

  play() {
    const stream = this.tables.Play(metadata(this.token));
    stream.write({ subscribe: this.subscription() });
    this.follow(stream);
  }

  interrupt() {
    this.untilCut = this.between(30, 150);
    this.cut();
    for (const [id, command] of this.sent) {
      if (command.kind in RACES) this.sent.delete(id); // a choice ahead ends with the stream, or the view shows it
    }
    setTimeout(() => this.play(), [0, 5, 40, 250][this.between(0, 3)]);
  }

  take(message) {
    assert.notEqual(message.update === null, message.result === null, `${this.name}: an update or a result`);
    if (message.result) return this.hear(message.result);
    const { update } = message;
    const wasCurrent = this.current;
    this.update(update);
    this.books.note(update);
    this.untilCut -= 1;
    if (this.untilCut < 0 && !this.leaving) return this.interrupt();
    if (!update.current) return undefined;
    if (!wasCurrent) this.sendAgain();
    return this.look(update);
  }

  // Without a connection, or before its first full view, it waits for that: then all that is open is sent.
  send(kind, body, id = `${this.name} ${(this.numbers += 1)}`) {
    this.sent.set(id, { kind, body });
    if (this.stream && this.current) this.stream.write({ [kind]: { table: this.table, ...body, request_id: id } });
  }

  // What was not answered before the cut is asked again under its own id, and done once.
  sendAgain() {
    for (const [id, { kind, body }] of [...this.sent]) {
      this.counts.again += 1;
      this.send(kind, body, id);
    }
  }

  hear(result) {
    const command = this.sent.get(result.request_id);
    assert.ok(command, `${this.name}: an answer to nothing: ${JSON.stringify(result)}`);
    this.sent.delete(result.request_id);
    if (result.version) {
      assert.ok(!this.current || this.last.version >= result.version, `${this.name}: ${command.kind} before its update`);
      if (command.kind === 'set_pre_action') this.counts.armed += 1;
      if (command.kind === 'clear_pre_action') this.counts.cleared += 1;
    } else {
      const refused = `${this.name} at ${this.last.version}: ${command.kind} ${JSON.stringify(command.body)} refused: ${result.reason} ${result.text}`;
      assert.ok((RACES[command.kind] || []).includes(result.reason), refused);
      const { verb, size } = command.body;
      assert.ok(!result.legal.some((option) => option.verb === verb && option.size === size), refused);
    }
    if (this.current) this.look(this.last);
  }

  waitsFor(...kinds) {
    return [...this.sent.values()].some((command) => kinds.includes(command.kind));
  }

  look({ view, mine, version }) {
    const seated = view.seats.some((seat) => seat.account === this.name);
    assert.equal(Boolean(mine && mine.seat), seated, `${this.name} at ${version}: his own part`);
    if (!seated) return;
    this.checkMine(view, mine, version);
    if (this.leaving || this.waitsFor('set_pre_action', 'clear_pre_action')) return;
    for (const prompt of mine.prompts) this.answer(prompt);
    if (mine.turn_id) this.act(view, mine);
    else this.ahead(view, mine);
    this.refill(view.seats[mine.seat - 1], mine);
  }

  checkMine(view, mine, version) {
    const where = `${this.name} at ${version}`;
    const seat = view.seats[mine.seat - 1];
    assert.deepEqual([seat.account, seat.sitting_no], [this.name, mine.sitting_no], where);
    assert.equal(mine.down.length, seat.down_count, `${where}: his cards`);
    assert.ok(!mine.down.includes('CARD_UNSPECIFIED'), `${where}: his cards`);
    const onTurn = view.turn !== null && view.turn.seat === mine.seat;
    assert.equal(mine.turn_id, onTurn && !mine.pre_action ? view.turn.turn_id : 0, `${where}: turn`);
    assert.equal(mine.options.length > 0, mine.turn_id > 0, `${where}: options`);
    if (onTurn) assert.equal(mine.pre_options.length, 0, `${where}: nothing to choose ahead on his turn`);
    if (onTurn && mine.pre_action) this.counts.taken += 1;
  }

  once(key) {
    if (this.answered.has(key)) return false;
    this.answered.add(key);
    return true;
  }

  answer({ prompt_id: id, kind }) {
    if (!this.once(`prompt ${id}`)) return;
    const ante = kind === 'PROMPT_KIND_UNSPECIFIED';
    this.counts[ante ? 'antes' : 'shows'] += 1;
    if (ante) this.send('post_ante', { prompt_id: id });
    else this.send('choose_show', { prompt_id: id, show: this.random() < 0.5 });
  }

  act(view, { turn_id: turn, options }) {
    if (!this.once(`turn ${turn}`)) return;
    this.counts.acts += 1;
    const { verb, to, size } = this.choose(options, view.street);
    this.send('act', { turn_id: turn, verb, to, size });
  }

  choose(options, street) {
    const weights = options.map((option) => (street === 3 ? EARLY : LATE)[option.verb] || 1);
    let left = this.random() * weights.reduce((a, b) => a + b);
    return options.find((_, index) => (left -= weights[index]) < 0);
  }

  ahead(view, { pre_options: options, pre_action: chosen, price }) {
    const key = `${view.hand_no} ${view.street} ${price} ${Boolean(chosen)}`;
    if (key === this.considered) return;
    this.considered = key;
    if (chosen && this.random() < 0.1) this.send('clear_pre_action', { hand_no: view.hand_no });
    if (chosen || !options.length || this.random() < 0.6) return;
    const { verb, size } = this.choose(options, view.street);
    this.send('set_pre_action', { hand_no: view.hand_no, street: view.street, price, verb, size });
  }

  // Who has lost everything buys in again, and sits in when the chips are there.
  refill(seat, { last_top_up: topUp }) {
    if (seat.status !== 'SEAT_STATUS_SEATED' || this.waitsFor('add_chips', 'sit_in')) return;
    const asked = topUp && ['TOP_UP_STATE_REQUESTED', 'TOP_UP_STATE_PENDING'].includes(topUp.state);
    if (seat.sitting_out && seat.stack > 0) this.send('sit_in', {});
    else if (seat.sitting_out && !asked && seat.pending === 0) this.send('add_chips', { amount: this.books.broughtIn });
  }

  leave() {
    this.leaving = true;
    this.send('leave_seat', {});
  }
}

module.exports = { Player };
