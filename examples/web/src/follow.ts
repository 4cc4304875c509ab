// A stream that goes on: it is opened again where it breaks, from where it was, until it is over or nobody wants it.

import { Code } from "@connectrpc/connect";
import { sleep, why, type Api } from "./api";
import type { TableUpdate } from "../gen/stud/table/v1/table_service_pb";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
// What is over for good: asking again would say the same.
const FINAL = new Set([Code.Unauthenticated, Code.PermissionDenied, Code.NotFound, Code.InvalidArgument]);

export interface Watcher<T> {
  take(message: T): void;
  // Whether messages come; false while the stream is being opened again.
  connected(is: boolean): void;
  // Over: an error that asking again would not mend, or nothing.
  over(error?: unknown): void;
}

// Opens a stream again and again. `open` is given the signal that ends it. Returns what ends it for good.
export function follow<T>(open: (signal: AbortSignal) => AsyncIterable<T>, watcher: Watcher<T>): () => void {
  const stop = new AbortController();
  void run();
  return () => stop.abort();

  async function run(): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    while (!stop.signal.aborted) {
      try {
        for await (const message of open(stop.signal)) {
          if (stop.signal.aborted) return;
          pause = FIRST_PAUSE_MS;
          watcher.connected(true);
          watcher.take(message);
        }
        return watcher.over();
      } catch (error) {
        if (stop.signal.aborted) return;
        if (FINAL.has(why(error).code)) return watcher.over(error);
      }
      watcher.connected(false);
      await sleep(pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
  }
}

// A table's updates. What was missed is not animated: each update is the whole table, so the last one is enough.
export function followTable(api: Api, table: string, watcher: Watcher<TableUpdate>): () => void {
  let seen: TableUpdate | undefined;
  return follow<TableUpdate>(
    async function* (signal) {
      const resume = seen && { afterVersion: seen.version, headHash: seen.headHash };
      for await (const { update } of api.tables.watch({ subscribe: { table, ...resume } }, { signal })) {
        if (!update) continue;
        seen = update;
        yield update;
      }
    },
    watcher,
  );
}
