'use strict';
// What proto-loader makes of the bytes of a PlayResponse, given as hexadecimal words; printed as a JSON list.

const protos = process.argv[2];
const { load } = require('./contract');

const { responseDeserialize } = load(protos).table.v1.TableService.service.Play;
const decoded = process.argv.slice(3).map((word) => responseDeserialize(Buffer.from(word, 'hex')));
process.stdout.write(`${JSON.stringify(decoded)}\n`);
