'use strict';
// Eight players at one table for so many hands, told by a JSON file (the only argument); what came of it is printed as JSON.
//
// {protos, endpoints: {table, wallet}, tokens: {operator, cashier, spectator, players: {NAME: token}}, table, rules: {preset, …},
//  currency, small_bet, buy_in, deposit, hands, seed}

const assert = require('node:assert/strict');
const fs = require('node:fs');
const { CHANNEL, grpc, load, metadata, unary } = require('./contract');
const { BETWEEN_HANDS } = require('./books');
const { Player } = require('./player');
const { Spectator } = require('./viewer');

const GIVE_UP_MS = 150_000;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function connect({ protos, endpoints }) {
  const stud = load(protos);
  const plain = grpc.credentials.createInsecure();
  return {
    tables: new stud.table.v1.TableService(endpoints.table, plain, CHANNEL),
    wallet: new stud.wallet.v1.WalletService(endpoints.wallet, plain, CHANNEL),
  };
}

async function open(plan, { tables, wallet }, views) {
  const { currency, deposit, table, tokens } = plan;
  const opening = { table, name: table, currency, small_bet: plan.small_bet, hand_pause_ms: 0, ...plan.rules };
  await unary(tables, 'CreateTable', { ...opening, request_id: `open ${table}` }, tokens.operator);
  const players = Object.entries(tokens.players).map(([name, token], index) => {
    const preferences = { auto_post: index % 2 === 0, muck_losing: index % 3 > 0 }; // else he is asked
    const accepts = index % 4 > 1; // half of them ask for all that there is
    return new Player({ name, token, table, views, tables, deposit, preferences, accepts, seed: plan.seed * 100 + index });
  });
  for (const { name, token } of players) {
    await unary(wallet, 'OpenAccount', { currency, request_id: `open ${name}` }, token);
    const request = { currency, account: name, amount: deposit, reference: 'welcome', request_id: `deposit ${name}` };
    await unary(wallet, 'Deposit', request, tokens.cashier);
  }
  return players;
}

// Everybody leaves after the last hand: some by themselves, the rest when the table is closed.
async function close(plan, { tables }, players, over) {
  await over;
  const leavers = players.filter((_, index) => index % 2);
  for (const player of leavers) player.leave();
  // Closing the table sends off whoever has not left yet: his own leave would come too late.
  while (leavers.some((player) => player.waitsFor('leave_seat'))) await new Promise((done) => setTimeout(done, 10));
  const request = { table: plan.table, request_id: `close ${plan.table}` };
  await unary(tables, 'CloseTable', request, plan.tokens.operator);
  for (const player of players) player.leaving = true;
}

// Resolves when the last hand has been verified; drains the table while it is played.
function lastHand(plan, { tables }, spectator) {
  let drained = null;
  return new Promise((resolve, reject) => {
    spectator.onUpdate = ({ view }) => {
      // Not before its antes are in: until then it may still come to nothing.
      if (!drained && view.hand_no >= plan.hands && view.street > 0) {
        const request = { table: plan.table, request_id: `drain ${plan.table}` };
        drained = unary(tables, 'DrainTable', request, plan.tokens.operator).catch(reject);
      }
      if (drained && view.phase === BETWEEN_HANDS && view.verified_hand >= plan.hands) resolve();
    };
  });
}

// The wallet pays out what the books say, and keeps nothing back.
async function settle(plan, { wallet }, { name, token, books }) {
  for (;;) {
    const account = await unary(wallet, 'GetAccount', { currency: plan.currency }, token);
    if (!account.escrows.length) {
      assert.equal(account.balance, books.balance, `${name}: account and books`);
      return account.balance;
    }
    await wait(50);
  }
}

function told(plan, players, balances, spectator) {
  const counts = {};
  for (const player of players) {
    const more = { cuts: player.cuts, replayed: player.replayed, topUps: player.books.topUps.size, ...player.counted };
    for (const [name, count] of Object.entries({ ...player.counts, ...more })) counts[name] = (counts[name] || 0) + count;
  }
  const [{ books }] = players;
  assert.deepEqual(players.map((player) => [player.books.hands, player.books.rake]), players.map(() => [books.hands, books.rake]));
  const { showdowns, hands, rake } = books;
  return { table: plan.table, hands, rake, showdowns, balances, counts, versions: spectator.last.version };
}

async function main(plan) {
  const clients = connect(plan);
  const views = new Map();
  const players = await open(plan, clients, views);
  const spectator = new Spectator('spectator', plan.table, views, plan.seed % 2 === 0);
  const over = lastHand(plan, clients, spectator);
  spectator.watch(clients.tables, metadata(plan.tokens.spectator));
  for (const player of players) player.play();
  await Promise.all(players.map((player, index) => player.sit(index + 1, plan.buy_in)));
  const stuck = setTimeout(() => {
    const state = players.map((player) => [player.name, player.last && player.last.version, [...player.sent.values()]]);
    const { config, seats, last_hand: _, ...view } = spectator.last.view;
    throw new Error(`nothing more happens at ${config.table_id}: ${JSON.stringify([view, state, seats])}`);
  }, GIVE_UP_MS);
  await close(plan, clients, players, over);
  await Promise.all([spectator.closed, ...players.map((player) => player.closed)]);
  const balances = {};
  for (const player of players) balances[player.name] = await settle(plan, clients, player);
  clearTimeout(stuck);
  return told(plan, players, balances, spectator);
}

main(JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))).then(
  (result) => {
    process.stdout.write(`${JSON.stringify(result)}\n`);
    process.exit(0);
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
