// Calls methods that are known only through the servers' own reflection, and asks for their health.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { Health, HealthCheckResponse_ServingStatus } from "./gen/grpc/health/v1/health_pb.js";
import { ServerReflection } from "./gen/grpc/reflection/v1alpha/reflection_pb.js";
import { historyTransport, rankerTransport } from "./services.js";

const servers = [
  { transport: rankerTransport, services: ["ranktrail.ranker.v1.RankerService"] },
  {
    transport: historyTransport,
    services: ["ranktrail.evaluation.v1.EvaluationService", "ranktrail.history.v1.HistoryService"],
  },
];

/** Asks reflection one thing. */
async function ask(transport, request) {
  const reflection = createClient(ServerReflection, transport);
  for await (const { messageResponse } of reflection.serverReflectionInfo(once({ messageRequest: request }))) {
    assert.notEqual(messageResponse.case, "errorResponse", messageResponse.value.errorMessage);
    return messageResponse.value;
  }
}

async function* once(value) {
  yield value;
}

/** Returns the file that defines a service and all that it imports, imports first. */
async function filesOf(transport, service) {
  const files = new Map();
  const add = async (request) => {
    const { fileDescriptorProto } = await ask(transport, request);
    for (const file of fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))) {
      if (files.has(file.name)) continue;
      for (const name of file.dependency) await add({ case: "fileByFilename", value: name });
      files.set(file.name, file);
    }
  };
  await add({ case: "fileContainingSymbol", value: service });
  return [...files.values()];
}

for (const { transport, services } of servers) {
  test(`${services} are listed, and called by what reflection says of them`, async () => {
    const { service: listed } = await ask(transport, { case: "listServices", value: "" });
    const names = listed.map(({ name }) => name);
    for (const name of services) {
      assert.ok(names.includes(name));
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: await filesOf(transport, name) }));
      const described = registry.getService(name);
      const method = described.method.getRuntime ?? described.method.listEvaluationCases;
      const answer = await createClient(described, transport)[method.localName]({});
      if (method.localName === "getRuntime") assert.equal(answer.contractVersion, "v1.0");
      else assert.ok(Array.isArray(answer.evaluationCases));
    }
  });

  test(`${services} are healthy`, async () => {
    const health = createClient(Health, transport);
    for (const service of ["", ...services]) {
      const { status } = await health.check({ service });
      assert.equal(status, HealthCheckResponse_ServingStatus.SERVING);
    }
  });
}
