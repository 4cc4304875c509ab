// Calls to the edge: who asks, what is asked again, and why something was refused. The messages are generated.

import { Code, ConnectError, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { ErrorInfoSchema } from "../gen/google/rpc/error_details_pb";
import { TableService } from "../gen/stud/table/v1/table_service_pb";
import { WalletService } from "../gen/stud/wallet/v1/wallet_service_pb";

export const ATTEMPTS = 4;
export const PAUSE_MS = 400;

export interface Api {
  tables: Client<typeof TableService>;
  wallet: Client<typeof WalletService>;
  account: string;
}

// Over Connect; with ?protocol=grpc-web in the page's address over gRPC-Web.
export function open(token: string): Api {
  const bearer: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  const options = { baseUrl: location.origin, interceptors: [bearer], useBinaryFormat: true };
  const grpcWeb = new URLSearchParams(location.search).get("protocol") === "grpc-web";
  const transport = grpcWeb ? createGrpcWebTransport(options) : createConnectTransport(options);
  return {
    tables: createClient(TableService, transport),
    wallet: createClient(WalletService, transport),
    account: subjectOf(token),
  };
}

// The account that a token is for. Whether it is genuine the services check. Throws an Error that says what is wrong.
export function subjectOf(token: string): string {
  const part = token.trim().split(".")[1];
  try {
    const bytes = Uint8Array.from(atob(part!.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    const subject = (claims as { sub?: unknown }).sub;
    if (typeof subject === "string" && subject) return subject;
  } catch {
    // Said below.
  }
  throw new Error("That is no token: want three parts with dots between them.");
}

// By hand: `crypto.randomUUID` is there on pages of https and of this machine alone.
export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
export const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

// A write is asked again with the same request_id while the service cannot answer: it is done once.
export async function ask<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const refused = why(error);
      const passing = refused.code === Code.Unavailable || refused.reason === "RATE_LIMITED";
      if (!passing || attempt === ATTEMPTS) throw error;
      await sleep(Number(refused.metadata.retry_after_ms ?? PAUSE_MS * attempt));
    }
  }
}

export interface Refusal {
  code: Code;
  reason: string;
  text: string;
  metadata: Record<string, string>;
}

export function why(error: unknown): Refusal {
  const said = ConnectError.from(error);
  const info = said.findDetails(ErrorInfoSchema)[0];
  return { code: said.code, reason: info?.reason ?? "", text: said.rawMessage, metadata: info?.metadata ?? {} };
}
