'use strict';
// Does the first call after a sleep of the whole event loop succeed? `sleep.js PROTOS ENDPOINT TOKEN IDLE_MS SLEEP_MS PINGS`
// is quiet for IDLE_MS first, which moves the sleep against the server's pings; PINGS = 1 lets the client ping as well.

const { CHANNEL, grpc, load, unary } = require('./contract');

async function main([protos, endpoint, token, idle, sleep, pings]) {
  const options = Number(pings) ? { ...CHANNEL, 'grpc.keepalive_time_ms': 10_000 } : {};
  const client = new (load(protos).table.v1.TableService)(endpoint, grpc.credentials.createInsecure(), options);
  await unary(client, 'ListTables', {}, token);
  await new Promise((resolve) => setTimeout(resolve, Number(idle)));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(sleep));
  return unary(client, 'ListTables', {}, token).then(
    () => 'served',
    (error) => error.message,
  );
}

main(process.argv.slice(2)).then((result) => {
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exit(0);
});
