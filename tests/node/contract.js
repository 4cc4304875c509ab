'use strict';
// The contract as common JavaScript clients get it: read from `protos/` at start by the unpatched proto-loader.
// No generated code, nothing of the Python project.

const assert = require('node:assert/strict');
const grpc = require('@grpc/grpc-js');
const { recognizedOptions } = require('@grpc/grpc-js/build/src/channel-options');
const loader = require('@grpc/proto-loader');
const protobuf = require('protobufjs');

// longs: every int64 of the contract (money up to 10^15, versions, milliseconds) is exact as a JavaScript number.
// defaults: a field that is absent on the wire is 0, '' or [], and a message that is absent is null.
const LOADING = { keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true };

// Nothing but what front-end.md advises: ping a quiet connection, be back within a second.
const CHANNEL = {
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.enable_http_proxy': 0,
};
// A name that the library does not know is ignored without a word.
for (const name of Object.keys(CHANNEL)) assert.ok(recognizedOptions[name], name);

// google.rpc.Status and ErrorInfo, as far as refusals use them; a front-end has them from googleapis.
const DETAILS = protobuf.parse(
  `
  syntax = "proto3";
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
  `,
  { keepCase: true },
).root;

function load(protos) {
  const files = ['stud/table/v1/table_service.proto', 'stud/wallet/v1/wallet_service.proto'];
  return grpc.loadPackageDefinition(loader.loadSync(files, { ...LOADING, includeDirs: [protos] })).stud;
}

function metadata(token) {
  const headers = new grpc.Metadata();
  headers.set('authorization', `Bearer ${token}`);
  return headers;
}

// The ErrorInfo of a refusal; null = the status came from gRPC itself.
function errorInfo(error) {
  const [bytes] = error.metadata ? error.metadata.get('grpc-status-details-bin') : [];
  if (!bytes) return null;
  const status = DETAILS.lookupType('Status').decode(bytes);
  const any = status.details.find((detail) => detail.type_url.endsWith('/google.rpc.ErrorInfo'));
  return any ? DETAILS.lookupType('ErrorInfo').toObject(DETAILS.lookupType('ErrorInfo').decode(any.value)) : null;
}

function unary(client, method, request, token) {
  return new Promise((resolve, reject) => {
    const done = (error, answer) => {
      if (!error) return resolve(answer);
      const info = errorInfo(error);
      return reject(Object.assign(new Error(`${method}: ${info ? info.reason : `bare ${error.code}`} ${error.details}`), {
        reason: info && info.reason,
        code: error.code,
      }));
    };
    client[method](request, metadata(token), { deadline: Date.now() + 30_000 }, done);
  });
}

module.exports = { CHANNEL, LOADING, errorInfo, grpc, load, metadata, unary };
