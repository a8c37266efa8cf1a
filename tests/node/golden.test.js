// The golden messages, read and written by an implementation that shares no code with Python's.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createRegistry, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { sizeDelimitedPeek } from "@bufbuild/protobuf/wire";

const here = dirname(fileURLToPath(import.meta.url));
const golden = join(here, "..", "golden", "messages");
const index = JSON.parse(readFileSync(join(golden, "index.json"), "utf8"));
const registry = createRegistry(...(await generatedFiles()));

async function generatedFiles() {
  const root = join(here, "gen", "ranktrail");
  const names = readdirSync(root, { recursive: true }).filter((name) => name.endsWith("_pb.js"));
  const modules = await Promise.all(names.map((name) => import(pathToFileURL(join(root, name)))));
  return modules.flatMap((module) => Object.values(module)).filter((value) => value?.kind === "file");
}

/** Returns the bytes of each message of a file, in order. */
function delimited(bytes) {
  const messages = [];
  for (let at = 0; at < bytes.length; ) {
    const { size, offset } = sizeDelimitedPeek(bytes.subarray(at));
    messages.push(bytes.subarray(at + offset, at + offset + size));
    at += offset + size;
  }
  return messages;
}

/** Removes what JSON cannot say: unknown fields, in every message. */
function known(schema, message) {
  delete message.$unknown;
  const reflected = reflect(schema, message);
  for (const field of schema.fields) {
    if (field.fieldKind === "message" && reflected.isSet(field)) known(field.message, reflected.get(field).message);
    if (field.listKind === "message") for (const item of reflected.get(field)) known(field.message, item.message);
  }
  return message;
}

/** Returns a JSON value whose doubles are numbers, however they are spelled. */
function plain(json) {
  return JSON.parse(JSON.stringify(json), (_, value) => (Object.is(value, -0) ? 0 : value));
}

for (const [type, names] of Object.entries(index)) {
  const schema = registry.getMessage(type);
  const read = (suffix) => readFileSync(join(golden, type + suffix));

  test(`${type}: binary is decoded and encoded again byte for byte`, () => {
    const messages = delimited(read(".binpb"));
    assert.equal(messages.length, names.length);
    messages.forEach((bytes, at) => {
      assert.deepEqual(Buffer.from(toBinary(schema, fromBinary(schema, bytes))), bytes, names[at]);
    });
  });

  test(`${type}: JSON says the same`, () => {
    const lines = read(".jsonl").toString("utf8").trimEnd().split("\n").map(JSON.parse);
    delimited(read(".binpb")).forEach((bytes, at) => {
      const message = known(schema, fromBinary(schema, bytes));
      const parsed = fromJson(schema, lines[at], { registry });
      assert.deepEqual(toBinary(schema, parsed), toBinary(schema, message), names[at]);
      assert.deepEqual(plain(toJson(schema, message, { registry })), plain(lines[at]), names[at]);
    });
  });
}
