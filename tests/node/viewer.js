'use strict';
// One stream of updates, read strictly: whatever the documents promise of it is asserted. It can be cut and resumed.

const assert = require('node:assert/strict');
const { errorInfo, grpc } = require('./contract');
const { chips, moved } = require('./books');
const { ACCEPTS, Plain } = require('./plain');

class Viewer {
  // `views` is shared by everybody at the table: all must be shown the same at the same version.
  // With `accepts` it asks for all that the contract has beyond its first version.
  constructor(name, table, views, accepts = false) {
    this.name = name;
    this.accepts = accepts;
    this.counted = { batches: 0, inline: 0 };
    this.table = table;
    this.views = views;
    this.last = null;
    this.current = false;
    this.cuts = 0;
    this.replayed = 0;
    this.closed = new Promise((resolve) => {
      this.onClosed = resolve;
    });
  }

  subscription() {
    const { last } = this;
    const asked = this.accepts ? { table: this.table, accepts: ACCEPTS } : { table: this.table };
    return last ? { ...asked, after_version: last.version, head_hash: last.head_hash } : asked;
  }

  // Listens to a stream that has just been opened.
  follow(stream) {
    this.stream = stream;
    this.current = false;
    this.resumed = this.last !== null;
    this.subscribedAt = Date.now();
    this.sentAt = 0;
    const plain = new Plain();
    stream.on('data', (message) => {
      assert.ok(this.accepts || !message.batch, `${this.name}: a batch that was not asked for`);
      for (const one of this.accepts ? plain.told(message) : [message]) if (stream === this.stream) this.take(one);
      this.counted.batches += plain.batches;
      this.counted.inline += plain.inline;
      plain.batches = plain.inline = 0;
    });
    stream.on('end', () => stream === this.stream && this.onClosed());
    stream.on('error', (error) => {
      if (stream !== this.stream) return assert.equal(error.code, grpc.status.CANCELLED);
      throw new Error(`${this.name}: the stream ended with ${error.code} ${error.details} ${JSON.stringify(errorInfo(error))}`);
    });
  }

  cut() {
    const { stream } = this;
    this.stream = null;
    this.cuts += 1;
    stream.cancel();
  }

  update(update) {
    const { last } = this;
    const where = `${this.name} at ${update.version}`;
    assert.ok(update.view && update.view.config && update.view.config.ruleset, `${where}: no view`);
    assert.equal(update.table, this.table, where);
    assert.equal(update.view.config.table_id, this.table, where);
    assert.equal(update.view.seats.length, update.view.config.ruleset.seats, `${where}: every seat`);
    assert.equal(update.head_hash.length, 32, where);
    this.checkOrder(update, where);
    this.checkTimes(update, where);
    if (last && !update.reset) {
      assert.equal(chips(update.view) - chips(last.view), moved(last.view, update), `${where}: chips`);
    }
    this.compare(update, where);
    this.last = update;
    this.current = update.current;
    this.replayed += update.current ? 0 : 1;
  }

  checkOrder(update, where) {
    const { last } = this;
    if (update.reset) {
      assert.ok(update.current, `${where}: a full view is of the present`);
      assert.equal(update.events.length, 0, `${where}: a full view has no events`);
      assert.ok(!last || update.version >= last.version, `${where}: back from ${last && last.version}`);
    } else {
      assert.ok(last, `${where}: the first update is a full view`);
      assert.equal(update.version, last.version + 1, where);
    }
    if (this.current) assert.ok(update.current, `${where}: no longer current`);
    else assert.equal(update.current, update.reset, `${where}: the present begins with a full view`);
    if (!update.current) {
      assert.ok(this.resumed, `${where}: sent again to somebody new`);
      assert.equal(update.mine, null, `${where}: what was mine then is gone`);
    }
  }

  // Server and client share a clock here.
  checkTimes(update, where) {
    assert.ok(update.sent_at_ms >= this.subscribedAt, `${where}: sent ${this.subscribedAt - update.sent_at_ms} ms too early`);
    assert.ok(update.sent_at_ms >= this.sentAt && update.sent_at_ms <= Date.now(), `${where}: sent at`);
    this.sentAt = update.sent_at_ms;
  }

  compare(update, where) {
    const shown = JSON.stringify(update.view);
    const known = this.views.get(update.version);
    if (known === undefined) this.views.set(update.version, shown);
    else assert.equal(shown, known, `${where}: another view than others have`);
  }
}

// Sees what everybody sees and is never cut off.
class Spectator extends Viewer {
  watch(client, headers) {
    this.follow(client.Watch({ subscribe: this.subscription() }, headers));
  }

  take(message) {
    this.update(message.update);
    assert.equal(message.update.mine, null, `${this.name}: nothing here is his`);
    this.onUpdate(message.update);
  }
}

module.exports = { Spectator, Viewer };
