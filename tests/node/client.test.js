// Commits a memory, asks it, finds the Run in history, pins it, judges it and reads the report, over the real services.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import {
  EvaluationJudgment_Source,
  EvaluationService,
} from "./gen/ranktrail/evaluation/v1/evaluation_service_pb.js";
import { HistoryService, RetrievalRun_State } from "./gen/ranktrail/history/v1/history_service_pb.js";
import {
  CommitHeader_Mode,
  CommitMemoryRequestSchema,
  RankerService,
} from "./gen/ranktrail/ranker/v1/ranker_service_pb.js";
import { Layer } from "./gen/ranktrail/trace/v1/trace_pb.js";
import { historyTransport, rankerTransport, refusal } from "./services.js";

const ranker = createClient(RankerService, rankerTransport);
const history = createClient(HistoryService, historyTransport);
const evaluation = createClient(EvaluationService, historyTransport);
const projectId = "node";
const pages = { "pump.md": "# Pump\n\nThe pump drains the tank.\n", "valve.md": "# Valve\n\nThe valve fills it: 東京 🚲.\n" };

async function* commit() {
  const frame = (value) => create(CommitMemoryRequestSchema, { frame: value });
  yield frame({ case: "header", value: { projectId, layer: Layer.PROJECT, mode: CommitHeader_Mode.PATCH } });
  for (const [path, text] of Object.entries(pages)) {
    const body = Buffer.from(text);
    const digest = createHash("sha256").update(body).digest("hex");
    yield frame({ case: "resource", value: { resourceId: path, path, digest, sizeBytes: BigInt(body.length) } });
    yield frame({ case: "body", value: body });
  }
  yield frame({ case: "end", value: { resourceCount: BigInt(Object.keys(pages).length) } });
}

/** Returns a Run once history has it whole. */
async function recordedRun(runId) {
  const watching = new AbortController();
  const request = { projectId, afterChangeSequence: 0n };
  try {
    for await (const { run } of history.watchRetrievalRuns(request, { signal: watching.signal })) {
      if (run?.runId === runId && run.state !== RetrievalRun_State.RUNNING) return run;
    }
  } finally {
    watching.abort();
  }
  throw new Error("the watch ended");
}

let reply;

before(async () => {
  await ranker.commitMemory(commit());
  const phases = [];
  for await (const { phase } of ranker.ensureIndex({ projectId })) phases.push(phase);
  assert.equal(phases.at(-1), "ready");
  reply = await ranker.activateMemory({ projectId, query: "what drains the tank" });
});

test("a reply holds whole units", () => {
  assert.equal(reply.fragments[0].path, "pump.md");
  assert.equal(reply.fragments[0].content, pages["pump.md"]);
});

test("Runs are listed, and a case is judged", async () => {
  const run = await recordedRun(reply.runId);
  assert.equal(run.state, RetrievalRun_State.SUCCEEDED);
  const { runs } = await history.listRetrievalRuns({ projectId });
  assert.deepEqual(runs.map((one) => one.runId), [reply.runId]);

  const { evaluationCase } = await evaluation.createEvaluationCase({ runId: reply.runId, category: "node" });
  const judgment = { resourceId: "pump.md", relevance: 3, source: EvaluationJudgment_Source.HUMAN };
  const judged = {
    caseId: evaluationCase.caseId,
    expectedJudgmentVersion: evaluationCase.judgmentVersion,
    author: "ada",
    requestId: "1",
    judgments: [judgment],
  };
  assert.equal((await evaluation.replaceEvaluationJudgments(judged)).judgmentVersion, 2n);
  assert.equal((await evaluation.replaceEvaluationJudgments(judged)).judgmentVersion, 2n, "tried again");

  const whole = await history.getRetrievalRun({ runId: reply.runId });
  assert.equal(whole.judgments[0].relevance, 3);
  const recall = whole.report.variants[0].measures.find(({ measure }) => measure === "R@20");
  assert.equal(recall.mean, 1);

  const stale = { ...judged, requestId: "2" };
  const { reason, domain, metadata } = await refusal(() => evaluation.replaceEvaluationJudgments(stale));
  assert.deepEqual([reason, domain], ["EVALUATION_JUDGMENT_CONFLICT", "ranktrail"]);
  assert.deepEqual([metadata.expected, metadata.current, metadata.author], ["1", "2", "ada"]);
});

test("an absent rank stays absent", async () => {
  const { candidates } = await history.getRetrievalRun({ runId: reply.runId });
  for (const candidate of candidates) assert.equal(candidate.exactRank, undefined);
});

test("an export comes in frames and is one document", async () => {
  const parts = [];
  for await (const { content } of evaluation.exportEvaluationSet({ projectId })) parts.push(content);
  const fixture = JSON.parse(Buffer.concat(parts).toString("utf8"));
  assert.equal(fixture.cases.length, 1);
});

test("a refused call names the field", async () => {
  const { reason, metadata } = await refusal(() => ranker.activateMemory({ projectId, query: " " }));
  assert.deepEqual([reason, metadata.field], ["FIELD_INVALID", "query"]);
});
