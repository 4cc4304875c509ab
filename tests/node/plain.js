'use strict';
// What a stream says to a client that accepts everything, as the first version of the contract says it.

const ACCEPTS = ['CAPABILITY_RESULT_INLINE', 'CAPABILITY_BATCH', 'CAPABILITY_MINE_DELTA'];

class Plain {
  constructor() {
    this.mine = null;
    this.batches = 0;
    this.inline = 0;
  }

  // Updates and results in order, each update with its viewer's own part.
  *told(message) {
    if (message.batch) this.batches += 1;
    for (const { update, result } of message.batch ? message.batch.responses : [message]) {
      if (result) {
        yield { update: null, result };
        continue;
      }
      if (update.current) this.complete(update);
      yield { update, result: null };
      if (update.result) {
        this.inline += 1;
        yield { update: null, result: update.result };
      }
    }
  }

  complete(update) {
    if (!update.mine) update.mine = update.reset ? null : this.mine;
    else if (!update.mine.sitting_no) update.mine = null;
    this.mine = update.mine;
  }
}

module.exports = { ACCEPTS, Plain };
